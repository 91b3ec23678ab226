import { describe, expect, it } from "vitest";
import type { Published } from "../../judge/published.ts";
import type { Case, Scene } from "../../judge/record.ts";
import { EXACT_MS, judgeEnds, judgeMeanwhile, judgeRest } from "../../judge/rest.ts";
import { at, caseOf, inUse, judged, lastUse, ongoing, unused, useOf } from "./cases.ts";

const IDLE: Scene = {
  mounts: [],
  references: [],
  stagedOn: [],
  last: at(20_000),
  mayBeLateMs: EXACT_MS,
  isLastNamed: true,
};
const MOUNTED: Scene = { ...IDLE, mounts: ["shop/web has it mounted on n1"] };
const NAMED: Scene = { ...IDLE, references: ["shop/web refers to it"] };
const INTERRUPTED: Scene = { ...NAMED, isInterrupted: true };

interface Row {
  readonly name: string;
  readonly claim?: Partial<Case>;
  readonly now?: Published | undefined;
  readonly scene?: Scene;
  readonly found: readonly string[];
}

const DISPUTED = { dispute: "unmounted under a running pod" };

const FORGED = { atMs: 100, sinceMs: 19_000, unmountRecord: undefined };

const STATES: readonly Row[] = [
  { name: "unused, and is", now: unused(), found: [] },
  { name: "unused, and is mounted", now: unused(), scene: MOUNTED, found: ["exact"] },
  { name: "unused, and is named", now: unused(), scene: NAMED, found: ["exact"] },
  { name: "mounted, and is", claim: { uses: [ongoing()] }, now: inUse(), scene: MOUNTED, found: [] },
  { name: "mounted, and is only named", now: inUse(), scene: NAMED, found: ["exact"] },
  { name: "mounted, and is named by a pod that a reboot interrupted", now: inUse(), scene: INTERRUPTED, found: [] },
  {
    name: "unused, and is named by a pod that a reboot interrupted",
    now: unused(),
    scene: INTERRUPTED,
    found: ["exact"],
  },
  { name: "mounted, and is unused", now: inUse(), found: ["exact"] },
  { name: "nothing", now: undefined, found: ["exact"] },
  { name: "not staged, and is", now: unused(), scene: { ...IDLE, stagedOn: ["n1"] }, found: ["exact"] },
  { name: "staged, and is not", now: unused({ staged: "on n1" }), found: ["exact"] },
  {
    name: "mounted, and is unused: another client wrote that for a node without an agent",
    claim: { forged: [{ ...FORGED, mountedOn: ["n2"] }] },
    now: inUse({ mountedOn: ["n2"] }),
    scene: { ...IDLE, withoutAgent: ["n2"] },
    found: ["excused: another client wrote the node"],
  },
  {
    name: "mounted, and is unused: another client wrote that for a node with an agent",
    claim: { forged: [{ ...FORGED, mountedOn: ["n2"] }] },
    now: inUse({ mountedOn: ["n2"] }),
    scene: { ...IDLE, withoutAgent: ["n3"] },
    found: ["exact"],
  },
  {
    name: "mounted on a node without an agent, and is unused: no other client wrote that",
    claim: { forged: [FORGED] },
    now: inUse({ mountedOn: ["n2"] }),
    scene: { ...IDLE, withoutAgent: ["n2"] },
    found: ["exact"],
  },
  {
    name: "unused where the end is open to interpretation",
    claim: DISPUTED,
    now: unused(),
    scene: { ...MOUNTED, mayBeLateMs: undefined },
    found: ["excused: unmounted under a running pod"],
  },
];

const TIMES: readonly Row[] = [
  { name: "too late", now: unused({ sinceMs: 23_001 }), found: ["exact"] },
  { name: "later than allowed", now: unused(), scene: { ...IDLE, mayBeLateMs: 999 }, found: ["exact"] },
  { name: "late amid faults", now: unused({ sinceMs: 90_000 }), scene: { ...IDLE, mayBeLateMs: undefined }, found: [] },
  { name: "too early", now: unused({ sinceMs: 19_000 }), found: ["never-longer"] },
  { name: "from before the claim's creation", claim: { made: at(22_000), uses: [] }, now: unused(), found: ["anew"] },
  {
    name: "too early, where another client has written since",
    claim: { forged: [{ atMs: 20_000, sinceMs: 19_000, unmountRecord: undefined }] },
    now: unused({ sinceMs: 19_000 }),
    found: ["excused: another client wrote the time"],
  },
  {
    name: "used until before the claim's creation",
    claim: { uses: [] },
    now: unused({ lastUse: lastUse({ endedByMs: -1 }) }),
    scene: { ...IDLE, mayBeLateMs: undefined },
    found: ["anew"],
  },
  {
    name: "too early for an unobserved use",
    claim: { uses: [useOf({ unobserved: "unobserved: no agent and no replica saw it" })] },
    now: unused({ sinceMs: 19_000 }),
    found: ["excused: unobserved: no agent and no replica saw it"],
  },
];

const LONG_AGO = useOf({ podUid: "old", beganMs: 2_000, endMs: 8_000 });

const USERS: readonly Row[] = [
  {
    name: "another one",
    claim: { uses: [LONG_AGO, useOf()] },
    now: unused({ lastUse: lastUse({ podUid: "old" }) }),
    found: [],
  },
  {
    name: "another one whose end is well known",
    claim: { uses: [LONG_AGO, useOf()] },
    now: unused({ lastUse: lastUse({ podUid: "old", endedByMs: 21_000, uncertaintyMs: 500 }) }),
    found: ["last-user"],
  },
  {
    name: "no pod, and an end was reported",
    now: unused({ lastUse: lastUse({ podUid: undefined }) }),
    found: ["last-user"],
  },
  {
    name: "no pod, and the end of a use whose disk was lost was reported",
    claim: { uses: [LONG_AGO, useOf({ unnamed: "the node's journal was lost" })] },
    now: unused({ lastUse: lastUse({ podUid: undefined }) }),
    found: ["excused: the node's journal was lost"],
  },
  { name: "no use", now: unused({ lastUse: undefined }), found: ["last-user", "last-user"] },
  {
    name: "an earlier end, of a use whose disk was lost",
    claim: { uses: [useOf({ unnamed: "the node's journal was lost" })] },
    now: unused({ lastUse: lastUse({ endedByMs: 12_000 }) }),
    found: ["excused: the node's journal was lost"],
  },
];

describe.each([
  { what: "called", rows: STATES },
  { what: "dated", rows: TIMES },
  { what: "said to have been used last by", rows: USERS },
])("a claim at rest that is $what", ({ rows }) => {
  it.each(rows)("$name", ({ claim, now, scene = IDLE, found }) => {
    expect(judged((docket) => judgeRest(docket, caseOf(claim), { now, scene }))).toEqual(found);
  });
});

describe("during faults", () => {
  it.each([
    { name: "an observed use keeps its claim in use", use: ongoing(), found: ["never-unused-while-mounted"] },
    { name: "a use that no process could observe yet does not", use: ongoing({ isKnown: false }), found: [] },
    { name: "a use that is over does not", use: useOf(), found: [] },
    {
      name: "a use on a node that was declared gone does not",
      use: ongoing({ excuse: "node declared gone" }),
      found: ["excused: node declared gone"],
    },
  ])("$name", ({ use, found }) => {
    expect(judged((docket) => judgeMeanwhile(docket, caseOf({ uses: [use] }), unused()))).toEqual(found);
  });

  it("a claim with an observed use is unused by another client's write, until Mooring had time to repair it", () => {
    const said = [true, false].map((isJustForged) =>
      judged((docket) => judgeMeanwhile(docket, caseOf({ uses: [ongoing()], isJustForged }), unused())),
    );

    expect(said).toEqual([["excused: another client has just written the status"], ["never-unused-while-mounted"]]);
  });

  it("a reported end is not forgotten", () => {
    const now = unused({ lastUse: lastUse({ endedByMs: 12_000 }) });

    expect(judged((docket) => judgeEnds(docket, caseOf(), now))).toEqual(["last-user"]);
  });
});
