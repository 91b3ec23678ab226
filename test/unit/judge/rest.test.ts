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

const FORGED = { atMs: 100, sinceMs: 19_000, release: undefined };

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
    name: "mounted, and is unused: somebody else wrote that, of a node without an agent",
    claim: { forged: [{ ...FORGED, mountedOn: ["n2"] }] },
    now: inUse({ mountedOn: ["n2"] }),
    scene: { ...IDLE, agentless: ["n2"] },
    found: ["excused: the node is somebody else's"],
  },
  {
    name: "mounted, and is unused: somebody else wrote that, of a node that can tell",
    claim: { forged: [{ ...FORGED, mountedOn: ["n2"] }] },
    now: inUse({ mountedOn: ["n2"] }),
    scene: { ...IDLE, agentless: ["n3"] },
    found: ["exact"],
  },
  {
    name: "mounted on a node without an agent, and is unused: nobody else wrote that",
    claim: { forged: [FORGED] },
    now: inUse({ mountedOn: ["n2"] }),
    scene: { ...IDLE, agentless: ["n2"] },
    found: ["exact"],
  },
  {
    name: "unused where that is a matter of opinion",
    claim: DISPUTED,
    now: unused(),
    scene: { ...MOUNTED, mayBeLateMs: undefined },
    found: ["excused: unmounted under a running pod"],
  },
];

const TIMES: readonly Row[] = [
  { name: "too late", now: unused({ sinceMs: 23_001 }), found: ["exact"] },
  { name: "later than it may be", now: unused(), scene: { ...IDLE, mayBeLateMs: 999 }, found: ["exact"] },
  { name: "late amid faults", now: unused({ sinceMs: 90_000 }), scene: { ...IDLE, mayBeLateMs: undefined }, found: [] },
  { name: "too early", now: unused({ sinceMs: 19_000 }), found: ["never-longer"] },
  { name: "from before the claim was made", claim: { made: at(22_000), uses: [] }, now: unused(), found: ["anew"] },
  {
    name: "too early, as somebody else has written since",
    claim: { forged: [{ atMs: 20_000, sinceMs: 19_000, release: undefined }] },
    now: unused({ sinceMs: 19_000 }),
    found: ["excused: the time is somebody else's"],
  },
  {
    name: "used until before the claim was made",
    claim: { uses: [] },
    now: unused({ lastUse: lastUse({ releasedAtMs: -1 }) }),
    scene: { ...IDLE, mayBeLateMs: undefined },
    found: ["anew"],
  },
  {
    name: "too early for a use that nobody could see",
    claim: { uses: [useOf({ unseen: "nobody could see it" })] },
    now: unused({ sinceMs: 19_000 }),
    found: ["excused: nobody could see it"],
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
    name: "another one whose end is known well",
    claim: { uses: [LONG_AGO, useOf()] },
    now: unused({ lastUse: lastUse({ podUid: "old", releasedAtMs: 21_000, uncertaintyMs: 500 }) }),
    found: ["last-user"],
  },
  {
    name: "nobody, and an end is told",
    now: unused({ lastUse: lastUse({ podUid: undefined }) }),
    found: ["last-user"],
  },
  {
    name: "nobody, and the end is told of a use whose disk was lost",
    claim: { uses: [LONG_AGO, useOf({ forgotten: "lost with the disk" })] },
    now: unused({ lastUse: lastUse({ podUid: undefined }) }),
    found: ["excused: lost with the disk"],
  },
  { name: "nobody", now: unused({ lastUse: undefined }), found: ["last-user", "last-user"] },
  {
    name: "an earlier end, of a use whose disk was lost",
    claim: { uses: [useOf({ forgotten: "lost with the disk" })] },
    now: unused({ lastUse: lastUse({ releasedAtMs: 12_000 }) }),
    found: ["excused: lost with the disk"],
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

describe("amid faults", () => {
  it.each([
    { name: "a use that all can see keeps its claim", use: ongoing(), found: ["never-unused-while-mounted"] },
    { name: "one that nobody could see yet does not", use: ongoing({ isKnown: false }), found: [] },
    { name: "one that is over does not", use: useOf(), found: [] },
    {
      name: "one of a node that is given up does not",
      use: ongoing({ excuse: "given up" }),
      found: ["excused: given up"],
    },
  ])("$name", ({ use, found }) => {
    expect(judged((docket) => judgeMeanwhile(docket, caseOf({ uses: [use] }), unused()))).toEqual(found);
  });

  it("a use that all can see is called unused by somebody else's words, until there was time to put them right", () => {
    const said = [true, false].map((isJustForged) =>
      judged((docket) => judgeMeanwhile(docket, caseOf({ uses: [ongoing()], isJustForged }), unused())),
    );

    expect(said).toEqual([["excused: somebody else has just written it"], ["never-unused-while-mounted"]]);
  });

  it("an end that had been told is not forgotten", () => {
    const now = unused({ lastUse: lastUse({ releasedAtMs: 12_000 }) });

    expect(judged((docket) => judgeEnds(docket, caseOf(), now))).toEqual(["last-user"]);
  });
});
