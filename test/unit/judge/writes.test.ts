import { describe, expect, it } from "vitest";
import type { Published } from "../../judge/published.ts";
import type { Case } from "../../judge/record.ts";
import { judgeWrite } from "../../judge/writes.ts";
import { at, caseOf, inUse, judged, lastUse, ongoing, unused, useOf } from "./cases.ts";

interface Row {
  readonly name: string;
  readonly claim?: Partial<Case>;
  readonly now?: Published;
  readonly before?: Published | undefined;
  readonly own?: Published | undefined;
  readonly found: readonly string[];
}

const EARLY = unused({ sinceMs: 19_000, lastUse: lastUse({ endedByMs: 20_100 }) });

const TIMES: readonly Row[] = [
  { name: "right", found: [] },
  { name: "before the end of a use", now: EARLY, found: ["never-longer"] },
  { name: "while a use goes on", claim: { uses: [useOf(), ongoing()] }, found: ["never-unused-while-mounted"] },
  { name: "before a use begins", claim: { uses: [useOf(), ongoing({ beganMs: 25_001 })] }, found: [] },
  {
    name: "just after a use begins",
    claim: { uses: [useOf(), ongoing({ beganMs: 22_500 })] },
    found: ["excused: began just before the write"],
  },
  {
    name: "just after a use begins, over a status written since",
    claim: { uses: [useOf(), ongoing({ beganMs: 22_500 })] },
    before: inUse(),
    found: ["never-unused-while-mounted"],
  },
  {
    name: "three seconds after a use begins",
    claim: { uses: [useOf(), ongoing({ beganMs: 22_000 })] },
    found: ["never-unused-while-mounted"],
  },
  {
    name: "before the end of a use, as another client has written before that",
    claim: { forged: [{ atMs: 100, sinceMs: 19_000, unmountRecord: undefined }] },
    now: EARLY,
    before: unused({ sinceMs: 19_000, reason: "Tidied" }),
    found: ["excused: another client wrote the time"],
  },
  {
    name: "before the end of a use, as another client wrote, and Mooring has removed since",
    claim: { forged: [{ atMs: 100, sinceMs: 19_000, unmountRecord: undefined }] },
    now: EARLY,
    before: inUse(),
    found: ["never-longer"],
  },
  {
    name: "before the end of a use, where only the volume is staged again",
    now: { ...EARLY, staged: "on n1" },
    before: EARLY,
    found: [],
  },
  {
    name: "before the end of a use, where the volume is staged again and its last use is named",
    now: { ...EARLY, staged: "on n1" },
    before: unused({ sinceMs: 19_000, lastUse: undefined }),
    found: ["never-longer"],
  },
  {
    name: "later than the stored one, while a use lasts",
    claim: { uses: [useOf(), ongoing()] },
    before: EARLY,
    found: [],
  },
  {
    name: "while a use lasts on a node that was declared gone",
    claim: { uses: [useOf(), ongoing({ excuse: "node declared gone" })] },
    found: ["excused: node declared gone"],
  },
  {
    name: "while two uses last, one of them with an excuse",
    claim: { uses: [useOf(), ongoing({ excuse: "node declared gone" }), ongoing()] },
    found: ["never-unused-while-mounted"],
  },
  {
    name: "after the pod's end, where no mount table is read",
    claim: { uses: [useOf({ endedMs: 20_400, ended: at(30_000), promisedEnd: at(20_400), isShown: false })] },
    now: unused({ lastUse: lastUse({ evidence: "pod-status" }) }),
    found: [],
  },
  {
    name: "for a time after the published end of a use that still lasts",
    claim: { uses: [useOf({ endMs: 25_200 })] },
    now: unused({ sinceMs: 26_000, lastUse: lastUse({ endedByMs: 25_300 }) }),
    found: ["never-unused-while-mounted"],
  },
  {
    name: "before the end of a use, as another client had written after it",
    claim: { forged: [{ atMs: 20_500, sinceMs: 19_000, unmountRecord: undefined }] },
    now: EARLY,
    found: ["excused: another client wrote the time"],
  },
  {
    name: "before the end of a use, as another client had written before it",
    claim: { forged: [{ atMs: 19_999, sinceMs: 19_000, unmountRecord: undefined }] },
    now: EARLY,
    found: ["never-longer"],
  },
  { name: "in use, whatever ended", claim: { uses: [ongoing()] }, now: inUse(), found: [] },
];

const CHANGES: readonly Row[] = [
  { name: "moves the time back", before: unused({ sinceMs: 22_000 }), found: ["never-earlier"] },
  {
    name: "moves a time back that was in the future",
    before: unused({ sinceMs: 30_001 }),
    found: ["excused: the stored time was in the future"],
  },
  {
    name: "moves a time back that another client had written",
    before: unused({ sinceMs: 22_000 }),
    own: unused({ sinceMs: 20_000 }),
    found: ["excused: another client wrote the time"],
  },
  {
    name: "moves its own time back below the one that another client had written",
    before: unused({ sinceMs: 23_000 }),
    own: unused({ sinceMs: 22_000 }),
    found: ["never-earlier"],
  },
  {
    name: "moves back the time of a status that is neither in use nor unused",
    before: { ...unused({ sinceMs: 22_000 }), isUnused: false },
    found: [],
  },
  {
    name: "moves back the time of a status with a reason that Mooring never writes, which a backup brought along",
    before: unused({ sinceMs: 22_000, reason: "Tidied" }),
    found: [],
  },
  { name: "moves the time on", before: unused({ sinceMs: 20_000 }), found: [] },
  { name: "changes nothing", before: unused(), found: ["one-write"] },
  {
    name: "counts from before the claim's creation",
    claim: { made: at(21_100), uses: [] },
    found: ["anew", "last-user"],
  },
];

const NO_POD = { pod: undefined, podUid: undefined };

const LAST_USES: readonly Row[] = [
  {
    name: "a pod that never used it, as another client has written",
    claim: { forged: [{ atMs: 20_600, sinceMs: 21_000, unmountRecord: "theirs" }] },
    now: unused({ lastUse: lastUse({ podUid: "other", unmountRecord: "theirs" }) }),
    found: ["excused: another client wrote the last use"],
  },
  { name: "a pod that never used it", now: unused({ lastUse: lastUse({ podUid: "other" }) }), found: ["last-user"] },
  { name: "a pod that used it elsewhere", now: unused({ lastUse: lastUse({ node: "n2" }) }), found: ["last-user"] },
  {
    name: "a pod that only named it, with evidence of a mount",
    claim: { namedBy: ["other"] },
    now: unused({ lastUse: lastUse({ podUid: "other" }) }),
    found: ["last-user"],
  },
  {
    name: "a pod that only named it, by its status",
    claim: { namedBy: ["other"] },
    now: unused({ lastUse: lastUse({ podUid: "other", evidence: "pod-status" }) }),
    found: [],
  },
  {
    name: "an end before the true one",
    now: unused({ lastUse: lastUse({ endedByMs: 19_900 }) }),
    found: ["uncertainty"],
  },
  { name: "too little uncertainty", now: unused({ lastUse: lastUse({ uncertaintyMs: 400 }) }), found: ["uncertainty"] },
  {
    name: "a use that goes on",
    claim: { uses: [ongoing()] },
    now: inUse({ lastUse: lastUse() }),
    found: ["uncertainty"],
  },
  { name: "no pod", now: unused({ lastUse: lastUse(NO_POD) }), found: [] },
  {
    name: "no pod, on a node without a use",
    now: unused({ lastUse: lastUse({ ...NO_POD, node: "n2" }) }),
    found: ["last-user"],
  },
  {
    name: "no pod, of a claim without any use",
    claim: { uses: [] },
    now: unused({ lastUse: lastUse({ ...NO_POD, node: undefined }) }),
    found: ["last-user"],
  },
  {
    name: "a pod under the name of another",
    now: unused({ lastUse: lastUse({ pod: "shop/db" }) }),
    found: ["last-user"],
  },
  {
    name: "a pod whose mount a scan had to show, without an uncertainty",
    claim: { uses: [useOf({ isScanned: true })] },
    now: unused({ lastUse: lastUse({ uncertaintyMs: undefined }) }),
    found: ["uncertainty"],
  },
  {
    name: "a pod whose mount no scan can show, with an uncertainty",
    claim: { uses: [useOf({ isScanned: false })] },
    found: ["uncertainty"],
  },
  {
    name: "no pod, where no scan can show a mount, with an uncertainty",
    claim: { uses: [useOf({ isScanned: false })] },
    now: unused({ lastUse: lastUse(NO_POD) }),
    found: ["uncertainty"],
  },
  {
    name: "a pod with a right uncertainty",
    claim: { uses: [useOf({ isScanned: true })] },
    found: [],
  },
  {
    name: "a pod whose mount no scan can show, without an uncertainty",
    claim: { uses: [useOf({ isScanned: false })] },
    now: unused({ lastUse: lastUse({ uncertaintyMs: undefined }) }),
    found: [],
  },
  {
    name: "a pod that is gone with a volume of its own under that name",
    claim: { lookalikes: ["other"] },
    now: unused({ lastUse: lastUse({ podUid: "other" }) }),
    found: ["excused: its pod used a claim or volume of the same name"],
  },
  {
    name: "no pod, on a node with an earlier pod that had a volume of its own under that name",
    claim: { lookalikesOn: ["n9"] },
    now: unused({ lastUse: lastUse({ podUid: undefined, pod: undefined, node: "n9" }) }),
    found: ["excused: its pod used a claim or volume of the same name"],
  },
];

describe.each([
  { what: "says of its time that it is", rows: TIMES },
  { what: "as a change", rows: CHANGES },
  { what: "names as the last user", rows: LAST_USES },
])("a write that $what", ({ rows }) => {
  it.each(rows)("$name", ({ claim, now = unused(), before, own, found }) => {
    const write = { now, before, own, knownBeforeMs: 22_500, sentMs: 25_000, knownUntilMs: 22_400, presentMs: 25_000 };

    const said = judged((docket) => judgeWrite(docket, caseOf(claim), write));

    expect(said).toEqual(found);
  });
});
