import { describe, expect, it } from "vitest";
import { AGENT_SETTINGS } from "../../../agent/config.ts";
import type { ClaimState, PublishedCondition } from "../../e2e/scenarios/claim-states.ts";
import {
  type Expected,
  type Truth,
  UNMOUNTED,
  UNMOUNTED_UNSCANNED,
  type UserEnd,
} from "../../e2e/scenarios/scenario.ts";
import { judge, PUBLISHED_LIMIT_MS, type Verdict } from "../../e2e/scenarios/verdict.ts";
import { PROMISES, type PromiseName } from "../../judge/docket.ts";
import { NO_STARVATION, type Starvation } from "../../rig/process/starvation.ts";
import { gone, idle, inUse, kubernetes, mooring, publishedEnd, statusesOf, TRUTH, unused, WEB } from "./published.ts";

const NEVER: Expected = { reason: "NeverObservedInUse", evidence: "none" };
const ANY: Expected = { reason: "Unmounted", evidence: "any" };

const named: PublishedCondition = { status: "False", reason: "PodUsingPVC", sinceMs: 3_000 };
function noPods(sinceMs: number): PublishedCondition {
  return { status: "True", reason: "NoPodsUsingPVC", sinceMs };
}

/** A second user, on another node, that ended earlier. */
const EARLIER: UserEnd = {
  ...{ afterMs: 7_000, byMs: 7_010, node: "node-2", pod: "default/job", podUid: "uid-2", beganMs: 2_900 },
  isShown: true,
};
const TWO: Truth = { ...TRUTH, users: [EARLIER, WEB] };
/** A volume that is mounted nowhere. */
const HOST_PATH: Truth = { ...TRUTH, users: [{ ...WEB, isShown: false }] };
const NO_POD = { node: undefined, pod: undefined, podUid: undefined };

function used(beganMs: number): Truth {
  return { ...TRUTH, users: [{ ...WEB, beganMs }] };
}

/** The broken promises, and the deviations from the scenario. */
function found({ faults }: Verdict): readonly string[] {
  const names = Object.entries(PROMISES);
  return faults.map((fault) => names.find(([, words]) => fault.startsWith(`${words}: `))?.[0] ?? fault);
}

interface Row {
  readonly name: string;
  readonly states: readonly ClaimState[];
  readonly truth?: Truth | "none";
  readonly expected?: Expected;
}

function judgeRow({ states, truth = TRUTH, expected = UNMOUNTED }: Row): Verdict {
  return judge({ expected, truth: truth === "none" ? undefined : truth, states, starvation: NO_STARVATION });
}

describe("judge", () => {
  it.each<Row>([
    { name: "a time at the end", states: mooring([3_100, inUse], [10_200, unused(11_000)]) },
    {
      name: "a claim that was unused before its use",
      states: mooring([1_100, idle], [3_100, inUse], [10_200, unused(11_000)]),
    },
    { name: "the latest allowed time", states: mooring([3_100, inUse], [10_600, unused(11_510)]) },
    {
      name: "a time soon after an outage",
      truth: { ...TRUTH, outageUntilMs: 40_000 },
      states: mooring([3_100, inUse], [40_600, unused(41_000)]),
    },
    {
      name: "a time that moves later with better evidence",
      states: mooring([3_100, inUse], [10_105, unused(10_100)], [10_200, unused(11_000)]),
    },
    { name: "a claim that was never in use", truth: "none", expected: NEVER, states: mooring([1_100, idle]) },
    {
      name: "a claim that is gone with its use",
      expected: "gone",
      states: [...mooring([3_100, inUse]), gone(10_300)],
    },
    {
      name: "a claim that was unused for a moment of its use",
      states: mooring([1_100, idle], [4_500, inUse], [10_200, unused(11_000)]),
    },
    {
      name: "a use that ended before any process could report it",
      truth: used(8_600),
      expected: UNMOUNTED_UNSCANNED,
      states: mooring([1_100, idle], [10_200, unused(11_000, { lastUse: publishedEnd({ uncertaintyMs: undefined }) })]),
    },
    { name: "the last of two users", truth: TWO, states: mooring([3_100, inUse], [10_200, unused(11_000)]) },
    {
      name: "the one of two that ended within the uncertainty of the other",
      truth: { ...TRUTH, users: [{ ...EARLIER, afterMs: 9_950, byMs: 9_960 }, WEB] },
      states: mooring([3_100, inUse], [10_200, unused(11_000, { lastUse: publishedEnd(namesOf(EARLIER)) })]),
    },
    {
      name: "an end without a pod, where no scan showed it",
      expected: UNMOUNTED_UNSCANNED,
      states: mooring(
        [3_100, inUse],
        [10_200, unused(11_000, { lastUse: publishedEnd({ ...NO_POD, uncertaintyMs: undefined }) })],
      ),
    },
    {
      name: "an end that is known from the pod's status",
      truth: HOST_PATH,
      expected: { reason: "NoPodUsing", evidence: "pod-status" },
      states: mooring(
        [3_100, inUse],
        [10_200, noPod(publishedEnd({ evidence: "pod-status", uncertaintyMs: undefined }))],
      ),
    },
    {
      name: "a pod that only named the claim",
      truth: HOST_PATH,
      expected: { reason: "NoPodUsing", evidence: "none" },
      states: mooring([3_100, inUse], [10_200, noPod(undefined)]),
    },
    {
      name: "no last use where it may have gone unobserved",
      expected: ANY,
      states: mooring([3_100, inUse], [10_200, unused(11_000, { lastUse: undefined })]),
    },
  ])("finds nothing in $name", (row) => {
    expect(judgeRow(row).faults).toEqual([]);
  });

  it.each<Row & { readonly faults: readonly (PromiseName | (string & {}))[] }>([
    {
      name: "a time before the end",
      states: mooring([3_100, inUse], [10_200, unused(9_000)]),
      faults: ["never-longer", "never-longer"],
    },
    {
      name: "a time before the end that was put right later",
      states: mooring([3_100, inUse], [10_100, unused(9_000)], [10_200, unused(11_000)]),
      faults: ["never-longer"],
    },
    {
      name: "a word before the end, though its time is later",
      states: mooring([3_100, inUse], [9_900, unused(11_000)]),
      faults: ["never-unused-while-mounted", "never-unused-while-mounted"],
    },
    {
      name: "a word before the end that was taken back",
      states: mooring([3_100, inUse], [8_000, unused(8_000)], [8_100, inUse], [10_200, unused(11_000)]),
      faults: ["never-unused-while-mounted", "never-earlier", "never-unused-while-mounted"],
    },
    {
      name: "a status before the end of a use that was never published",
      states: mooring([9_000, unused(9_000, { lastUse: undefined })], [10_200, unused(11_000)]),
      faults: ["never-unused-while-mounted", "never-unused-while-mounted"],
    },
    {
      name: "a word before the end in a claim that is gone with its use",
      expected: "gone",
      states: [...mooring([3_100, inUse], [9_500, unused(10_000)]), gone(10_300)],
      faults: ["never-unused-while-mounted", "never-unused-while-mounted"],
    },
    {
      name: "a status while one of two pods uses it",
      truth: TWO,
      states: mooring(
        [3_000, inUse],
        [7_200, unused(8_000, { lastUse: ofEarlier() })],
        [7_300, inUse],
        [10_200, unused(11_000)],
      ),
      faults: ["never-unused-while-mounted", "never-earlier", "never-unused-while-mounted"],
    },
    { name: "a time that is too late", states: mooring([3_100, inUse], [12_000, unused(11_511)]), faults: ["exact"] },
    {
      name: "a time too late after an outage",
      truth: { ...TRUTH, outageUntilMs: 40_000 },
      states: mooring([3_100, inUse], [40_600, unused(41_501)]),
      faults: ["exact"],
    },
    {
      name: "a time that moves back",
      states: mooring([3_100, inUse], [10_200, unused(11_000)], [10_300, unused(10_500)]),
      faults: ["never-earlier"],
    },
    {
      name: "a time from before the claim's creation",
      truth: "none",
      expected: NEVER,
      states: mooring([1_100, { ...idle, sinceMs: 999 }]),
      faults: ["anew", "anew"],
    },
    {
      name: "another reason",
      states: mooring([3_100, inUse], [10_200, unused(11_000, { reason: "NoPodUsing" })]),
      faults: ["NoPodUsing is not Unmounted"],
    },
    { name: "a claim that still counts as used", states: mooring([3_100, inUse]), faults: ["exact"] },
    { name: "silence", states: [], faults: ["exact", "nothing was published"] },
    {
      name: "no status of a claim that is gone with its use",
      expected: "gone",
      states: [{ seenMs: 1_100, statuses: statusesOf({}) }, gone(10_300)],
      faults: ["nothing was published"],
    },
    {
      name: "a claim that is unused long after its use began",
      states: mooring([1_100, idle], [4_501, inUse], [10_200, unused(11_000)]),
      faults: ["never-unused-while-mounted"],
    },
    {
      name: "a claim that is unused throughout its use",
      states: mooring([1_100, idle], [10_200, unused(11_000)]),
      faults: ["never-unused-while-mounted"],
    },
    {
      name: "a claim that is gone",
      states: [...mooring([3_100, inUse], [10_200, unused(11_000)]), gone(10_300)],
      faults: ["the claim is gone"],
    },
    {
      name: "a claim that should be gone",
      expected: "gone",
      states: mooring([3_100, inUse], [10_200, unused(11_000)]),
      faults: ["the claim is still there"],
    },
  ])("finds fault with $name", ({ faults, ...row }) => {
    expect(found(judgeRow(row))).toEqual(faults);
  });

  it.each<
    Omit<Row, "states"> & {
      readonly lastUse: Parameters<typeof publishedEnd>[0] | "none";
      readonly faults: readonly string[];
    }
  >([
    {
      name: "none",
      lastUse: "none",
      faults: ["last-user", "last-user", "the last use is known by none, not by mount-table"],
    },
    {
      name: "one that never existed",
      truth: "none",
      expected: NEVER,
      lastUse: {},
      faults: ["last-user", "exact", "Unmounted is not NeverObservedInUse"],
    },
    {
      name: "one of a pod that only named the claim",
      truth: HOST_PATH,
      expected: { reason: "Unmounted", evidence: "none" },
      lastUse: { evidence: "pod-status", uncertaintyMs: undefined },
      faults: ["the last use is known by pod-status, not by none"],
    },
    {
      name: "one by another evidence",
      lastUse: { evidence: "pod-status" },
      faults: ["the last use is known by pod-status, not by mount-table"],
    },
    { name: "one whose mount was not scanned", lastUse: { uncertaintyMs: undefined }, faults: ["uncertainty"] },
    { name: "one whose mount no scan can show", expected: UNMOUNTED_UNSCANNED, lastUse: {}, faults: ["uncertainty"] },
    {
      name: "one without a pod whose mount no scan can show",
      expected: UNMOUNTED_UNSCANNED,
      lastUse: NO_POD,
      faults: ["uncertainty"],
    },
    {
      name: "an end before the true one",
      lastUse: { endedByMs: 9_999 },
      faults: ["uncertainty", "last-user"],
    },
    { name: "an interval after the true one", lastUse: { uncertaintyMs: 87 }, faults: ["uncertainty"] },
    {
      name: "an interval that is another user's",
      truth: TWO,
      lastUse: namesOf(EARLIER),
      faults: ["uncertainty"],
    },
    { name: "the last user but one", truth: TWO, lastUse: ofEarlier(), faults: ["last-user", "last-user"] },
    { name: "another node", lastUse: { node: "node-2" }, faults: ["last-user"] },
    { name: "another pod of the node", lastUse: { pod: "default/job" }, faults: ["last-user"] },
    { name: "a pod that did not use it", lastUse: { podUid: "uid-3" }, faults: ["last-user", "last-user"] },
    {
      name: "another node where nothing else is known",
      lastUse: { ...NO_POD, node: "node-3" },
      faults: ["last-user", "last-user"],
    },
    { name: "no pod although the mount was scanned", lastUse: { podUid: undefined }, faults: ["last-user"] },
  ])("finds fault with a last use: $name", ({ lastUse, faults, ...row }) => {
    const use = lastUse === "none" ? undefined : publishedEnd(lastUse);
    const states = mooring([3_000, inUse], [10_200, unused(11_000, { lastUse: use })]);

    expect(found(judgeRow({ ...row, states }))).toEqual(faults);
  });

  it("counts how often each promise was judged, and the excuses", () => {
    const late = { ...TRUTH, users: [{ ...WEB, beganMs: 8_000 }] };

    const states = mooring([1_100, idle], [8_100, inUse], [9_400, unused(9_400)]);
    const { chances } = judgeRow({ name: "", truth: late, states });

    expect(chances["never-longer"]?.excused).toEqual({ "began just before the write": 1 });
    expect(chances["never-earlier"]?.judged).toBe(3);
  });

  it.each<{ name: string; states: ClaimState[]; errorMs: number | undefined }>([
    { name: "later by this much", states: kubernetes([3_100, named], [11_100, noPods(11_000)]), errorMs: 990 },
    { name: "earlier by this much", states: kubernetes([3_100, named], [9_800, noPods(9_000)]), errorMs: -1_000 },
    { name: "as exact as the resolution", states: kubernetes([3_100, named], [10_100, noPods(10_005)]), errorMs: 0 },
    { name: "no end", states: kubernetes([3_100, named]), errorMs: undefined },
  ])("calls a time $name", (row) => {
    expect(judgeRow(row).final.kubernetes?.errorMs).toBe(row.errorMs);
  });

  it.each<{ name: string; states: ClaimState[]; at: number | undefined }>([
    { name: "not before the use", states: kubernetes([1_100, noPods(1_000)], [3_100, named]), at: undefined },
    { name: "during the use", states: kubernetes([3_100, named], [9_800, noPods(9_000)]), at: 9_800 },
    {
      name: "during the use and taken back",
      states: kubernetes([3_100, named], [7_000, noPods(7_000)], [7_500, named], [9_800, noPods(9_000)]),
      at: 7_000,
    },
    { name: "not after it", states: kubernetes([3_100, named], [10_020, noPods(10_000)]), at: undefined },
    { name: "never", states: mooring([10_100, unused(11_000)]), at: undefined },
  ])("knows when Kubernetes called a claim wrongly unused: $name", (row) => {
    expect(judgeRow(row).wronglyUnusedAt.kubernetes).toBe(row.at);
  });

  it("has no figure for Kubernetes without its condition", () => {
    const { final } = judgeRow({ name: "", states: mooring([10_100, unused(11_000)]) });

    expect(final.kubernetes).toBeUndefined();
  });
});

describe("judge, on a machine that was too busy", () => {
  /** From 9.000 s on the processes lacked a share of the time. */
  const starved =
    (share: number): Starvation =>
    (fromMs, toMs) =>
      share * Math.max(0, toMs - Math.max(fromMs, 9_000));
  const unscanned = publishedEnd({ uncertaintyMs: undefined, endedByMs: 11_000 });

  it.each<{
    name: string;
    share: number;
    sinceMs?: number;
    truth?: Truth;
    lastUse?: ReturnType<typeof publishedEnd>;
    faults: readonly string[];
  }>([
    { name: "nothing in a time that is late by that share", share: 0.5, sinceMs: 13_000, faults: [] },
    { name: "a time that is later than that", share: 0.5, sinceMs: 14_010, faults: ["exact"] },
    {
      name: "nothing in a time that is late by that share of Mooring's wait, too",
      share: 0.5,
      truth: { ...TRUTH, waitsMs: 1_500 },
      sinceMs: 16_010,
      faults: [],
    },
    {
      name: "a time that is later than that share and the wait",
      share: 0.5,
      truth: { ...TRUTH, waitsMs: 1_500 },
      sinceMs: 16_020,
      faults: ["exact"],
    },
    {
      name: "a time before the end, whatever the machine did",
      share: 1,
      sinceMs: 9_900,
      faults: ["never-longer", "never-longer"],
    },
    {
      name: "nothing in a mount that no scan had time to show",
      share: 0.6,
      truth: used(9_000),
      lastUse: unscanned,
      faults: [],
    },
    {
      name: "a mount that was not scanned, though there was time",
      share: 0.4,
      truth: used(9_000),
      lastUse: unscanned,
      faults: ["uncertainty"],
    },
    {
      name: "a mount that was not scanned, though it had existed for long before",
      share: 1,
      truth: used(5_000),
      lastUse: unscanned,
      faults: ["uncertainty"],
    },
  ])("finds $name", ({ share, sinceMs = 11_000, truth = TRUTH, lastUse = publishedEnd(), faults }) => {
    const states = mooring([3_100, inUse], [14_200, unused(sinceMs, { lastUse })]);

    expect(found(judge({ expected: UNMOUNTED, truth, states, starvation: starved(share) }))).toEqual(faults);
  });
});

describe("judge, of a use that a busy machine left no time to report", () => {
  const all: Starvation = (fromMs, toMs) => Math.max(0, toMs - fromMs);
  const judged = (said: typeof inUse) =>
    judge({ expected: "gone", truth: TRUTH, states: [...mooring([1_100, said]), gone(10_300)], starvation: all });

  it("excuses a claim that is unused, and counts the excuse", () => {
    const { faults, chances } = judged(idle);

    expect(faults).toEqual([]);
    expect(chances["never-unused-while-mounted"]).toEqual({ judged: 0, excused: { "the machine was too busy": 1 } });
  });

  it("judges a claim that is in use all the same", () => {
    expect(judged(inUse).chances["never-unused-while-mounted"]).toEqual({ judged: 1, excused: {} });
  });
});

describe("the wait for what is expected", () => {
  it("outlasts a new leader's longest wait for a node without changes: a heartbeat and a fifth", () => {
    const heartbeatMs = AGENT_SETTINGS.heartbeatMs.parse(AGENT_SETTINGS.heartbeatMs.fallback);

    expect(PUBLISHED_LIMIT_MS).toBeGreaterThan(1.2 * heartbeatMs + 10_000);
  });
});

function namesOf({ node, pod, podUid }: UserEnd): Pick<UserEnd, "node" | "pod" | "podUid"> {
  return { node, pod, podUid };
}

/** The end of the earlier use, from 6.900 to 7.100 s. */
function ofEarlier(): ReturnType<typeof publishedEnd> {
  return publishedEnd({ ...namesOf(EARLIER), unmountRecord: "r0", endedByMs: 7_100 });
}

function noPod(lastUse: ReturnType<typeof publishedEnd> | undefined): ReturnType<typeof unused> {
  return unused(11_000, { reason: "NoPodUsing", lastUse });
}
