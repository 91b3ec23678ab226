import { afterEach, describe, expect, it } from "vitest";
import type { WatchGap } from "../../../aggregator/core/watch-history.ts";
import type { NodeReport } from "../../../common/storage/node-report.ts";
import { Harness, type HarnessOptions } from "./harness.ts";
import {
  claimWith,
  mountedStatus,
  mountedVolumeOf,
  NOON,
  nodeWith,
  podWith,
  reportWith,
  statusWith,
  unmountRecordOf,
  volumeWith,
} from "./world.ts";

/**
 * The aggregator was away from one to eleven minutes past noon, and comes back then. All times are minutes past noon; the nodes came up
 * a day before.
 */
const MIN = 60_000;
const BOOT = NOON - 1_440 * MIN;
const GAP = gapOf(1, 11);
const IDLE = statusWith({ unused: true, reason: "Unmounted", message: "as it was" });

function gapOf(from: number | undefined, to: number, fields: Partial<WatchGap> = {}): WatchGap {
  const fromMs = from === undefined ? undefined : NOON + from * MIN;
  return { fromMs, toMs: NOON + to * MIN, leasesAt: "500", openNodes: undefined, ...fields };
}

/** Milliseconds on the boot clock. */
function at(minute: number, boot = BOOT): number {
  return NOON + minute * MIN - boot;
}

let harnesses: Harness[] = [];
afterEach(async () => {
  await Promise.all(harnesses.map((harness) => harness.stop()));
  harnesses = [];
});

interface Scene extends HarnessOptions {
  readonly gaps?: readonly WatchGap[];
  /** Of n1; newer than anything before the gap unless told. */
  readonly leaseVersion?: string;
}

/** An aggregator that has just come back. */
async function back({ gaps = [GAP], leaseVersion = "501", ...options }: Scene = {}): Promise<Harness> {
  const base = { claims: [claimWith({ status: IDLE })], volumes: [volumeWith()], nodes: [nodeWith("n1")] };
  const harness = new Harness({ ...base, livingKubelets: ["n1"], ...options });
  harnesses.push(harness);
  harness.gaps = gaps;
  harness.leaseVersions.set("n1", leaseVersion);
  await harness.clock.advance(11 * MIN);
  return await harness.start();
}

/** The agent of a node reads and reports now. It did not watch in `blind`, and before its first read of the boot. */
async function tell(
  harness: Harness,
  agentGaps: readonly (readonly [from: number, to: number])[],
  fields: Partial<NodeReport> & { readonly boot?: number } = {},
): Promise<void> {
  const { boot = BOOT, ...rest } = fields;
  const endedAt = harness.clock.wallMs() - boot;
  const spans = [{ to: 1_000 }, ...agentGaps.map(([from, to]) => ({ from: at(from, boot), to: at(to, boot) }))];
  const { podsResourceVersion = "900" } = rest;
  const read = { beganAt: endedAt, endedAt };
  const observedSince = spans.at(-1)?.to ?? 0;
  await harness.report(
    reportWith({ read, sentAt: endedAt, agentGaps: spans, observedSince, ...rest, podsResourceVersion }),
  );
}

async function wait(harness: Harness, minutes: number): Promise<void> {
  await harness.advance(minutes * MIN);
}

/** The time of the claim in minutes past noon. */
function sinceOf({ stored }: Harness): number {
  return ((stored.get("shop/data")?.status?.sinceMs ?? 0) - NOON) / MIN;
}

describe("a claim that was idle when the aggregator went away", () => {
  it.each([
    { name: "stays so where the agent watched", agentGaps: [], since: 0 },
    { name: "stays so where the agent was away before", agentGaps: [[-30, 0.99]], since: 0 },
    { name: "counts as used while the agent was away as well", agentGaps: [[3, 5]], since: 5 },
    {
      name: "counts as used as often as both were away",
      agentGaps: [
        [2, 3],
        [8, 9],
      ],
      since: 9,
    },
    { name: "counts as used until the agent was back, if it was away for longer", agentGaps: [[8, 11.5]], since: 11.5 },
  ] as const)("$name", async ({ agentGaps, since }) => {
    const harness = await back();
    await wait(harness, 1);

    await tell(harness, agentGaps);
    await wait(harness, 60);

    expect(sinceOf(harness)).toBe(since);
    expect(harness.writes).toHaveLength(since === 0 ? 0 : 1);
    expect(harness.gaps).toEqual([]);
  });

  it("is moved no more than once, however many nodes were blind", async () => {
    const harness = await back({ nodes: [nodeWith("n1"), nodeWith("n2"), nodeWith("n3")] });
    for (const [node, until] of [
      ["n1", 5],
      ["n2", 7],
      ["n3", 6],
    ] as const) {
      await wait(harness, 0.25);
      await tell(harness, [[3, until]], { node });
    }
    await wait(harness, 60);

    expect(harness.writes).toMatchObject([{ sinceMs: NOON + 7 * MIN, blindGap: { fromMs: NOON + 3 * MIN } }]);
  });

  it("counts as used until its node was booted where that was in the gap, and until its agent read first", async () => {
    const harness = await back();
    await harness.putNode(nodeWith("n1", "boot-2"));
    const boot = NOON + 5 * MIN;

    await tell(harness, [], { boot, bootId: "boot-2" });
    await wait(harness, 60);

    expect(sinceOf(harness)).toBe(Math.ceil(5 * 60 + 1) / 60);
  });

  it("stays so where its node was out of the way all the time", async () => {
    const harness = await back({ leaseVersion: "500" });
    await wait(harness, 20);

    await tell(harness, [[0, 30]]);
    await wait(harness, 60);

    expect(harness.writes).toEqual([]);
    expect(harness.gaps).toEqual([]);
  });

  it("stays so when its volume cannot be mounted where nobody watched", async () => {
    const requirement = { key: "zone", operator: "In", values: ["a"] };
    const nodeAffinity = JSON.stringify({ nodeSelectorTerms: [{ matchExpressions: [requirement] }] });
    const nodes = [
      { ...nodeWith("n1"), labels: { zone: "b" } },
      { ...nodeWith("n2"), labels: { zone: "a" } },
    ];
    const harness = await back({ nodes, volumes: [volumeWith({ nodeAffinity })] });

    await tell(harness, [[3, 5]]);
    await tell(harness, [], { node: "n2" });
    await wait(harness, 60);

    expect(harness.writes).toEqual([]);
  });

  it("and first seen after it counts from when the nodes have scanned", async () => {
    const harness = await back({ claims: [] });
    await harness.advance(1_000);
    await harness.putClaim(claimWith({ createdAtMs: harness.clock.wallMs() }));
    await wait(harness, 1);

    await tell(harness, [[8, 11.5]]);
    await wait(harness, 60);

    expect(sinceOf(harness)).toBe(12 + 1 / 60);
  });

  it("stays so when it is not the aggregator that was away: agents may come and go", async () => {
    const harness = await back({ gaps: [] });

    await tell(harness, [
      [0, 3],
      [3, 9],
      [10, 11],
    ]);
    await wait(harness, 60);

    expect(harness.writes).toEqual([]);
  });
});

describe("a volume that shows no mount", () => {
  it("counts as used as long as the aggregator was away, whatever the agent says", async () => {
    const harness = await back({ volumes: [volumeWith({ isHostPath: true })] });

    await tell(harness, []);
    await wait(harness, 60);

    expect(harness.writes).toMatchObject([{ reason: "NoPodUsing", sinceMs: GAP.toMs }]);
  });

  it("counts as used, too, when its node was deleted meanwhile", async () => {
    const harness = await back({ volumes: [volumeWith({ isHostPath: true })], nodes: [] });
    await wait(harness, 60);

    expect(harness.writes).toMatchObject([{ sinceMs: GAP.toMs }]);
    expect(harness.gaps).toEqual([]);
  });
});

describe("a node that cannot tell what was used on it", () => {
  it("on which no agent belongs counts as long as the aggregator was away", async () => {
    const harness = await back({ nodes: [{ ...nodeWith("n1"), os: "windows" }] });
    await wait(harness, 1);

    expect(harness.writes).toMatchObject([{ reason: "NoPodUsing", sinceMs: GAP.toMs }]);
  });

  it("that has no agent any more counts as soon as that is known", async () => {
    const harness = await back();
    await wait(harness, 9);
    const before = harness.writes.length;
    await wait(harness, 2);

    expect(before).toBe(0);
    expect(harness.writes).toMatchObject([{ sinceMs: GAP.toMs }]);
    expect(harness.gaps).toEqual([]);
  });

  it("that is deleted after the gap counts for the gap", async () => {
    const harness = await back();
    await harness.removeNode("n1");
    await wait(harness, 10);

    expect(harness.writes).toMatchObject([{ sinceMs: GAP.toMs }]);
    expect(harness.gaps).toEqual([]);
  });

  it("that is out of service counts for the gap", async () => {
    const harness = await back({ nodes: [{ ...nodeWith("n1"), isOutOfService: true, isReady: false }] });
    await wait(harness, 10);

    expect(harness.writes).toMatchObject([{ sinceMs: GAP.toMs }]);
  });

  it("that was deleted in the gap counts when it is back with what its agent remembers", async () => {
    const harness = await back({ nodes: [] });
    await wait(harness, 20);
    await harness.putNode({ ...nodeWith("n1"), createdAtMs: NOON + 31 * MIN });

    await tell(harness, [[5, 30.5]]);
    await wait(harness, 60);

    expect(harness.writes).toMatchObject([{ sinceMs: NOON + 30.5 * MIN }]);
  });

  it("that was made after the gap does not count", async () => {
    const harness = await back({ nodes: [{ ...nodeWith("n1"), createdAtMs: GAP.toMs }] });
    await wait(harness, 60);

    expect(harness.writes).toEqual([]);
    expect(harness.gaps).toEqual([]);
  });
});

describe("a Stale node", () => {
  async function silent(options: Scene = {}): Promise<Harness> {
    const harness = await back(options);
    await harness.putPod(podWith({ uid: "agent", claims: [], isAgent: true }));
    return harness;
  }

  it("may still come for ten minutes, then it counts for the time of the gap", async () => {
    const harness = await silent();
    await wait(harness, 9.9);
    const before = harness.writes.length;
    await wait(harness, 60);

    expect(before).toBe(0);
    expect(harness.writes).toMatchObject([{ sinceMs: GAP.toMs }]);
    expect(harness.gaps).toMatchObject([{ openNodes: ["n1"] }]);
  });

  it.each([
    { name: "and was blind for longer counts until it was back", agentGaps: [[5, 40]], since: 40 },
    { name: "and was blind in the gap has nothing to add", agentGaps: [[5, 9]], since: 11 },
    { name: "and watched all the time has nothing to add", agentGaps: [], since: 11 },
  ] as const)("that comes back later $name", async ({ agentGaps, since }) => {
    const harness = await silent();
    await wait(harness, 35);

    await tell(harness, agentGaps);
    await wait(harness, 60);

    expect(sinceOf(harness)).toBe(since);
    expect(harness.gaps).toEqual([]);
  });

  it("that comes back in time and has watched moves nothing", async () => {
    const harness = await silent();
    await wait(harness, 9);

    await tell(harness, []);
    await wait(harness, 60);

    expect(harness.writes).toEqual([]);
  });

  it("that comes back to another leader is asked by that one", async () => {
    const harness = await silent({ nodes: [nodeWith("n1"), nodeWith("n2")] });
    await tell(harness, [], { node: "n2" });
    await wait(harness, 20);
    await harness.restart();
    await wait(harness, 2);

    // Of n2 nothing is asked again, although a new boot of it knows nothing of the gap.
    await harness.putNode(nodeWith("n2", "boot-2"));
    await tell(harness, [], { node: "n2", bootId: "boot-2", boot: NOON + 30 * MIN });
    await tell(harness, [[5, 32]]);
    await wait(harness, 60);

    expect(harness.writes.map(({ sinceMs }) => (sinceMs - NOON) / MIN)).toEqual([11, 32]);
    expect(harness.gaps).toEqual([]);
  });

  it("that has not told of one gap when the next one comes is asked for both", async () => {
    const harness = await silent();
    await wait(harness, 5);
    harness.gaps = [...harness.gaps, gapOf(14, 16)];
    await wait(harness, 2);

    await tell(harness, [
      [10, 10.5],
      [12, 15],
    ]);
    await wait(harness, 60);

    expect(harness.writes).toMatchObject([
      { sinceMs: NOON + 15 * MIN, blindGap: { fromMs: NOON + 10 * MIN, toMs: NOON + 15 * MIN } },
    ]);
    expect(harness.gaps).toEqual([]);
  });

  it("holds up nobody else's claims", async () => {
    const claims = [claimWith({ status: mountedStatus(["n2"]) })];
    const harness = await silent({ claims, nodes: [nodeWith("n1"), nodeWith("n2")] });
    await wait(harness, 2);

    await tell(harness, [], {
      node: "n2",
      unmountRecords: [unmountRecordOf("pod-1", { after: at(12.5), by: at(12.75) })],
    });

    expect(harness.writes.at(-1)).toMatchObject({ unused: true, reason: "Unmounted", sinceMs: NOON + 12.75 * MIN });
  });
});

describe("a claim that was in use when the aggregator went away", () => {
  const unmountRecords = [unmountRecordOf("pod-1", { after: at(4), by: at(5) })];

  it("ended when its node says, to the second, though its pod vanished while nobody watched", async () => {
    const harness = await back({ claims: [claimWith({ status: mountedStatus(["n1"]) })] });

    await tell(harness, [], { unmountRecords });
    await wait(harness, 60);

    expect(harness.writes).toMatchObject([
      { reason: "Unmounted", sinceMs: NOON + 5 * MIN, lastUse: { pod: "shop/pod-1" } },
    ]);
  });

  it("may have been used on another node after that, where nobody watched", async () => {
    const nodes = [nodeWith("n1"), nodeWith("n2")];
    const harness = await back({ nodes, claims: [claimWith({ status: mountedStatus(["n1"]) })] });

    await tell(harness, [[6, 9]], { node: "n2" });
    await wait(harness, 1);
    await tell(harness, [], { unmountRecords });
    await wait(harness, 60);

    expect(sinceOf(harness)).toBe(9);
    expect(harness.stored.get("shop/data")?.status?.lastUse).toMatchObject({ node: "n1", pod: "shop/pod-1" });
  });

  it("named by a pod that vanished waits for every node that may have it mounted", async () => {
    const nodes = [nodeWith("n1"), nodeWith("n2")];
    const harness = await back({ nodes, claims: [claimWith({ status: statusWith() })] });
    await harness.putPod(podWith({ uid: "agent", claims: [], isAgent: true }));
    await tell(harness, [], { node: "n2" });
    await wait(harness, 60);
    const waiting = harness.writes.slice();

    await tell(harness, [], { mountedVolumes: [mountedVolumeOf("pod-1")] });
    await wait(harness, 1);

    expect(waiting).toMatchObject([{ unused: false, message: expect.stringContaining("n1") }]);
    expect(harness.stored.get("shop/data")?.status).toMatchObject({ reason: "Mounted", mountedOn: { nodes: ["n1"] } });
  });
});

describe("a claim that was mounted when leaders changed and its node's agent was replaced", () => {
  const claims = [claimWith({ status: mountedStatus(["n1"]) })];
  const unmountRecords = [unmountRecordOf("pod-1", { after: at(4), by: at(5) })];

  it("ended when the agent's journal says, not when the agent was back", async () => {
    const harness = await back({ gaps: [], claims });

    await tell(harness, [[7, 7.5]], { unmountRecords });
    await wait(harness, 60);

    expect(harness.writes).toMatchObject([{ sinceMs: NOON + 5 * MIN, lastUse: { pod: "shop/pod-1" } }]);
  });

  it.each([
    { name: "was lost", agentGaps: [{ to: at(7.5) }] },
    { name: "was last written before", agentGaps: [{ to: 1_000 }, { from: at(-1), to: at(7.5) }] },
  ])("ended when that was noticed, nobody knows by whom, where the journal $name", async ({ agentGaps }) => {
    const harness = await back({ gaps: [], claims });

    await tell(harness, [], { agentGaps, observedSince: at(7.5) });
    await wait(harness, 60);

    expect(harness.writes).toMatchObject([{ reason: "NoPodUsing", lastUse: undefined }]);
    expect(harness.writes[0]?.sinceMs).toBeGreaterThanOrEqual(NOON + 7.5 * MIN);
  });
});

describe("a use that came and went while the aggregator was away", () => {
  it("is told by the agent that watched, to the second", async () => {
    const harness = await back();

    const nowMs = harness.clock.wallMs();
    const clockSamples = [
      { at: at(6), ms: NOON + 6 * MIN },
      { at: nowMs - BOOT, ms: nowMs },
    ];
    await tell(harness, [], { unmountRecords: [unmountRecordOf("pod-1", { after: at(6), by: at(7) })], clockSamples });
    await wait(harness, 60);

    expect(harness.writes).toMatchObject([
      { reason: "Unmounted", sinceMs: NOON + 7 * MIN, lastUse: { pod: "shop/pod-1", uncertaintyMs: MIN } },
    ]);
  });
});

describe("a use that came and went while the agent was away", () => {
  it("counts until the first read after its pod's end, which the aggregator saw", async () => {
    const harness = await back({ gaps: [] });
    await tell(harness, []);
    await harness.putPod(podWith({ resourceVersion: "950" }));
    await wait(harness, 3);
    await harness.removePod("pod-1", "960");
    await wait(harness, 1);

    await tell(harness, [[11.5, 14.5]], { podsResourceVersion: "960", instance: "run-2" });
    await wait(harness, 60);

    expect(harness.writes.at(-1)).toMatchObject({ reason: "Unmounted", sinceMs: NOON + 15 * MIN });
    expect(harness.writes.at(-1)).not.toHaveProperty("blindGap");
  });
});

describe("an aggregator of which nobody knows whether one was there before", () => {
  const gaps = [gapOf(undefined, 11)];

  it("moves no claim that it sees for the first time, though agents come later than itself", async () => {
    const harness = await back({ gaps, claims: [claimWith({ createdAtMs: NOON + 11 * MIN + 1 })] });
    await wait(harness, 1);

    await tell(harness, [[-1_440, 11.9]]);
    await wait(harness, 60);

    expect(harness.writes).toMatchObject([{ reason: "NeverObservedInUse", sinceMs: NOON + 12 * MIN }]);
  });

  it("moves a claim that was judged before where the agent did not watch since", async () => {
    const harness = await back({ gaps });
    await wait(harness, 1);

    await tell(harness, [[-20, 11.5]]);
    await wait(harness, 60);

    expect(harness.writes).toMatchObject([{ sinceMs: NOON + 11.5 * MIN, blindGap: { fromMs: NOON } }]);
  });

  it("moves none where the agent watched since the claim was judged", async () => {
    const harness = await back({ gaps });

    await tell(harness, [[-20, -1]]);
    await wait(harness, 60);

    expect(harness.writes).toEqual([]);
  });
});

describe("once all that nobody saw is written", () => {
  it("nothing is written any more, also not by the next leaders, and whatever agents go on to do", async () => {
    const harness = await back();
    await tell(harness, [[3, 5]]);
    await wait(harness, 60);
    const before = harness.writes.length;

    await harness.restart();
    await tell(
      harness,
      [
        [3, 5],
        [20, 70.5],
      ],
      { instance: "run-2" },
    );
    await wait(harness, 60);
    await harness.restart();
    await wait(harness, 60);

    expect(harness.writes).toHaveLength(before);
  });
});
