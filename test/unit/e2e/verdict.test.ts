import { describe, expect, it } from "vitest";
import { AGENT_SETTINGS } from "../../../agent/config.ts";
import type { ClaimState, ClaimWords, PublishedCondition } from "../../e2e/scenarios/claim-states.ts";
import type { Expected, Truth } from "../../e2e/scenarios/scenario.ts";
import { judge, SAID_LIMIT_MS } from "../../e2e/scenarios/verdict.ts";
import { NO_STARVATION, type Starvation } from "../../rig/process/starvation.ts";

const UNMOUNTED: Expected = { status: "True", reason: "Unmounted", evidence: "any" };
const MOUNT_TABLE: Expected = { status: "True", reason: "Unmounted", evidence: "mount-table" };
/** The last use ended 10.000 to 10.010 s after the epoch. */
const TRUTH: Truth = { afterMs: 10_000, byMs: 10_010, users: [] };

function condition(status: string, reason: string, sinceMs: number): PublishedCondition {
  return { status, reason, sinceMs };
}

const idle = condition("True", "NeverObservedInUse", 1_000);
const inUse = condition("False", "Mounted", 3_000);
const unused = (sinceMs: number): PublishedCondition => condition("True", "Unmounted", sinceMs);
const used = condition("False", "PodUsingPVC", 3_000);
const noPods = (sinceMs: number): PublishedCondition => condition("True", "NoPodsUsingPVC", sinceMs);

/** What Mooring said, and from when on. */
function mooring(...said: readonly (readonly [seenMs: number, condition: PublishedCondition])[]): ClaimState[] {
  return said.map(([seenMs, one]) => ({ seenMs, words: { mooring: one, kubernetes: undefined, lastUse: undefined } }));
}

function kubernetes(...said: readonly (readonly [seenMs: number, condition: PublishedCondition])[]): ClaimState[] {
  const end = unused(11_000);
  return said.map(([seenMs, one]) => ({ seenMs, words: { mooring: end, kubernetes: one, lastUse: undefined } }));
}

function gone(seenMs: number): ClaimState {
  return { seenMs, words: "gone" };
}

describe("judge", () => {
  it.each<{ name: string; states: ClaimState[]; truth?: Truth | "none"; expected?: Expected }>([
    {
      name: "finds nothing in a time at the end",
      states: mooring([3_100, inUse], [10_200, unused(11_000)]),
    },
    {
      name: "finds nothing in a claim that was called unused before its use",
      states: mooring([1_100, idle], [3_100, inUse], [10_200, unused(11_000)]),
    },
    {
      name: "finds nothing in a time that is as late as may be",
      states: mooring([3_100, inUse], [10_600, unused(11_510)]),
    },
    {
      name: "finds nothing in a time soon after an outage",
      truth: { ...TRUTH, outageUntilMs: 40_000 },
      states: mooring([3_100, inUse], [40_600, unused(41_000)]),
    },
    {
      name: "finds nothing where a later end is learnt later",
      states: mooring([3_100, inUse], [10_005, unused(10_000)], [10_200, unused(11_000)]),
    },
    {
      name: "finds nothing in a claim that was never in use",
      truth: "none",
      expected: { status: "True", reason: "NeverObservedInUse", evidence: "none" },
      states: mooring([1_100, idle]),
    },
    {
      name: "finds nothing in a claim that is still in use",
      truth: "none",
      expected: { status: "False", reason: "Mounted", evidence: "none" },
      states: mooring([3_100, inUse]),
    },
    {
      name: "finds nothing in a claim that is gone with its use",
      expected: "gone",
      states: [...mooring([3_100, inUse]), gone(10_300)],
    },
    {
      name: "finds nothing in a claim that was called unused for a moment of its use",
      truth: { ...TRUTH, beganMs: 3_000 },
      states: mooring([1_100, idle], [4_500, inUse], [10_200, unused(11_000)]),
    },
    {
      name: "finds nothing in a use that was over before anybody could tell of it",
      truth: { ...TRUTH, beganMs: 8_600 },
      states: mooring([1_100, idle], [10_200, unused(11_000)]),
    },
  ])("$name", ({ states, truth = TRUTH, expected = UNMOUNTED }) => {
    const { faults } = judge({
      expected,
      truth: truth === "none" ? undefined : truth,
      states,
      starvation: NO_STARVATION,
    });

    expect(faults).toEqual([]);
  });

  it.each<{ name: string; states: ClaimState[]; truth?: Truth; expected?: Expected; faults: readonly string[] }>([
    {
      name: "a time before the end",
      states: mooring([3_100, inUse], [10_200, unused(9_000)]),
      faults: ["Unmounted was dated 1.000 s before the end"],
    },
    {
      name: "a time before the end that was put right later",
      states: mooring([3_100, inUse], [10_100, unused(9_000)], [10_200, unused(11_000)]),
      faults: ["Unmounted was dated 1.000 s before the end"],
    },
    {
      name: "a word before the end, though its time is later",
      states: mooring([3_100, inUse], [9_900, unused(11_000)]),
      faults: ["Unmounted was published 0.100 s before the end"],
    },
    {
      name: "a word before the end that was taken back",
      states: mooring([3_100, inUse], [8_000, unused(8_000)], [8_100, inUse], [10_200, unused(11_000)]),
      faults: ["Unmounted was published 2.000 s before the end", "Unmounted was dated 2.000 s before the end"],
    },
    {
      name: "a word before the end of a use that was never told of",
      states: mooring([9_000, unused(9_000)]),
      faults: ["Unmounted was published 1.000 s before the end", "Unmounted was dated 1.000 s before the end"],
    },
    {
      name: "a word before the end in a claim that is gone with its use",
      expected: "gone",
      states: [...mooring([3_100, inUse], [9_500, unused(10_000)]), gone(10_300)],
      faults: ["Unmounted was published 0.500 s before the end"],
    },
    {
      name: "a time that is too late",
      states: mooring([3_100, inUse], [12_000, unused(11_511)]),
      faults: ["Unmounted is dated 1.501 s after the end, 0.000 s of it for want of the machine"],
    },
    {
      name: "a time too late after an outage",
      truth: { ...TRUTH, outageUntilMs: 40_000 },
      states: mooring([3_100, inUse], [40_600, unused(41_501)]),
      faults: ["Unmounted is dated 1.501 s after the end, 0.000 s of it for want of the machine"],
    },
    {
      name: "another reason",
      states: mooring([3_100, inUse], [10_200, condition("True", "NoPodUsing", 11_000)]),
      faults: ["True NoPodUsing is not True Unmounted"],
    },
    {
      name: "a claim that still counts as used",
      states: mooring([3_100, inUse]),
      faults: ["False Mounted is not True Unmounted"],
    },
    { name: "silence", states: [], faults: ["nothing was published"] },
    {
      name: "silence on a claim that is gone with its use",
      expected: "gone",
      states: [{ seenMs: 1_100, words: { mooring: undefined, kubernetes: used, lastUse: undefined } }, gone(10_300)],
      faults: ["nothing was published"],
    },
    {
      name: "a claim that is called unused long after its use began",
      truth: { ...TRUTH, beganMs: 3_000 },
      states: mooring([1_100, idle], [4_501, inUse], [10_200, unused(11_000)]),
      faults: ["NeverObservedInUse stood for 0.001 s too long"],
    },
    {
      name: "a claim that is called unused throughout its use",
      truth: { ...TRUTH, beganMs: 3_000 },
      states: mooring([1_100, idle], [10_200, unused(11_000)]),
      faults: ["NeverObservedInUse stood for 5.500 s too long"],
    },
    {
      name: "an end without a last use",
      expected: MOUNT_TABLE,
      states: mooring([3_100, inUse], [10_200, unused(11_000)]),
      faults: ["no last use is told of"],
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
  ])("finds fault with $name", ({ states, truth = TRUTH, expected = UNMOUNTED, faults }) => {
    const verdict = judge({ expected, truth, states, starvation: NO_STARVATION });

    expect(verdict.faults).toEqual(faults);
  });

  it.each<{ name: string; states: ClaimState[]; errorMs: number | undefined }>([
    { name: "later by so much", states: kubernetes([3_100, used], [11_100, noPods(11_000)]), errorMs: 990 },
    { name: "earlier by so much", states: kubernetes([3_100, used], [9_800, noPods(9_000)]), errorMs: -1_000 },
    { name: "as exact as can be told", states: kubernetes([3_100, used], [10_100, noPods(10_005)]), errorMs: 0 },
    { name: "no end", states: kubernetes([3_100, used]), errorMs: undefined },
  ])("calls a time $name", ({ states, errorMs }) => {
    const { final } = judge({ expected: UNMOUNTED, truth: TRUTH, states, starvation: NO_STARVATION });

    expect(final.kubernetes?.errorMs).toBe(errorMs);
  });

  it.each<{ name: string; states: ClaimState[]; at: number | undefined }>([
    { name: "not before the use", states: kubernetes([1_100, noPods(1_000)], [3_100, used]), at: undefined },
    { name: "during the use", states: kubernetes([3_100, used], [9_800, noPods(9_000)]), at: 9_800 },
    {
      name: "during the use and taken back",
      states: kubernetes([3_100, used], [7_000, noPods(7_000)], [7_500, used], [9_800, noPods(9_000)]),
      at: 7_000,
    },
    { name: "not after it", states: kubernetes([3_100, used], [10_020, noPods(10_000)]), at: undefined },
    { name: "never", states: mooring([10_100, unused(11_000)]), at: undefined },
  ])("tells when Kubernetes called a claim wrongly unused: $name", ({ states, at }) => {
    const { wronglyUnusedAt } = judge({ expected: UNMOUNTED, truth: TRUTH, states, starvation: NO_STARVATION });

    expect(wronglyUnusedAt.kubernetes).toBe(at);
  });

  it("says nothing of Kubernetes where it said nothing", () => {
    const words: ClaimWords = { mooring: unused(11_000), kubernetes: undefined, lastUse: undefined };

    const { final } = judge({
      expected: UNMOUNTED,
      truth: TRUTH,
      states: [{ seenMs: 10_100, words }],
      starvation: NO_STARVATION,
    });

    expect(final.kubernetes).toBeUndefined();
  });
});

describe("judge, of a machine that had no time for its processes", () => {
  /** From 9.000 s on nothing ran for a share of the time. */
  const starved =
    (share: number): Starvation =>
    (fromMs, toMs) =>
      share * Math.max(0, toMs - Math.max(fromMs, 9_000));
  const unseen = JSON.stringify({ releasedAt: "1970-01-01T00:00:11Z", uncertaintyMs: null, evidence: "mount-table" });
  const user = { afterMs: 10_000, byMs: 10_010, node: "node-1", pod: "default/web", podUid: "uid-1" };
  const brief: Truth = { ...TRUTH, beganMs: 9_000, users: [user] };
  const seen: Expected = { ...MOUNT_TABLE, isSeen: true };

  it.each<{
    name: string;
    share: number;
    sinceMs?: number;
    truth?: Truth;
    lastUse?: string;
    faults: readonly string[];
  }>([
    { name: "nothing in a time that is as late as that made it", share: 0.5, sinceMs: 13_000, faults: [] },
    {
      name: "a time that is later than that",
      share: 0.5,
      sinceMs: 14_010,
      faults: ["Unmounted is dated 4.000 s after the end, 2.000 s of it for want of the machine"],
    },
    {
      name: "nothing in a time that is as late as that made it while Mooring had to wait",
      share: 0.5,
      truth: { ...TRUTH, waitsMs: 1_500 },
      sinceMs: 16_010,
      faults: [],
    },
    {
      name: "a time that is later than that and the wait",
      share: 0.5,
      truth: { ...TRUTH, waitsMs: 1_500 },
      sinceMs: 16_020,
      faults: ["Unmounted is dated 4.510 s after the end, 3.005 s of it for want of the machine"],
    },
    {
      name: "a time before the end, whatever the machine did",
      share: 1,
      sinceMs: 9_900,
      faults: ["Unmounted was dated 0.100 s before the end"],
    },
    {
      name: "nothing in a mount that no read had the time to show",
      share: 0.6,
      truth: brief,
      lastUse: unseen,
      faults: [],
    },
    {
      name: "a mount that was not seen, though there was time",
      share: 0.4,
      truth: brief,
      lastUse: unseen,
      faults: ["its mount was not seen"],
    },
    {
      name: "a mount that was not seen, though it was there for long before",
      share: 1,
      truth: { ...brief, beganMs: 5_000 },
      lastUse: unseen,
      faults: ["its mount was not seen"],
    },
  ])("finds $name", ({ share, sinceMs = 11_000, truth = TRUTH, lastUse, faults }) => {
    const words: ClaimWords = { mooring: unused(sinceMs), kubernetes: undefined, lastUse };
    const expected = lastUse === undefined ? UNMOUNTED : seen;
    const states = [...mooring([3_100, inUse]), { seenMs: 14_200, words }];

    expect(judge({ expected, truth, states, starvation: starved(share) }).faults.slice(0, 1)).toEqual(faults);
  });
});

describe("the wait for what is expected", () => {
  it("outlasts what a new leader may have to wait for a node with nothing to tell: a heartbeat and a fifth", () => {
    const heartbeatMs = AGENT_SETTINGS.heartbeat.parse(AGENT_SETTINGS.heartbeat.fallback);

    expect(SAID_LIMIT_MS).toBeGreaterThan(1.2 * heartbeatMs + 10_000);
  });
});
