import { afterEach, describe, expect, it } from "vitest";
import { nextGap, type WatchGap } from "../../../aggregator/core/watch-history.ts";
import type { NodeReport } from "../../../common/storage/node-report.ts";
import type { Harness, HarnessOptions } from "./harness.ts";
import { idle, statusOf, stopHarnesses } from "./running.ts";
import {
  claimWith,
  mountedStatus,
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

function gapOf(from: number | undefined, to: number): WatchGap {
  const fromMs = from === undefined ? undefined : NOON + from * MIN;
  return { fromMs, toMs: NOON + to * MIN, leasesAt: "500", isForAll: true, open: new Map() };
}

/** Milliseconds on the boot clock. */
function at(minute: number, boot = BOOT): number {
  return NOON + minute * MIN - boot;
}

afterEach(stopHarnesses);

interface Scene extends HarnessOptions {
  readonly gap?: WatchGap | undefined;
  /** Of n1; newer than anything before the gap unless told. */
  readonly leaseVersion?: string;
}

/** An aggregator that has just come back. */
async function back({ leaseVersion = "501", ...options }: Scene = {}): Promise<Harness> {
  const harness = idle({ claims: [claimWith({ status: IDLE })], livingKubelets: ["n1"], ...options });
  harness.gap = "gap" in options ? options.gap : GAP;
  harness.leaseVersions.set("n1", leaseVersion);
  await harness.clock.advance(11 * MIN);
  return await harness.start();
}

/** The agent of a node reads and reports now. It did not watch in `agentGaps`, and before its first scan of the boot. */
async function tell(
  harness: Harness,
  agentGaps: readonly (readonly [from: number, to: number])[],
  fields: Partial<NodeReport> & { readonly boot?: number } = {},
): Promise<void> {
  const { boot = BOOT, ...rest } = fields;
  const endedAt = harness.clock.wallMs() - boot;
  const spans = [{ to: 1_000 }, ...agentGaps.map(([from, to]) => ({ from: at(from, boot), to: at(to, boot) }))];
  const { podsResourceVersion = "900" } = rest;
  const scan = { beganAt: endedAt, endedAt };
  const observedSince = spans.at(-1)?.to ?? 0;
  await harness.report(
    reportWith({ scan, sentAt: endedAt, agentGaps: spans, observedSince, ...rest, podsResourceVersion }),
  );
}

async function wait(harness: Harness, minutes: number): Promise<void> {
  await harness.advance(minutes * MIN);
}

/** The time of the claim in minutes past noon. */
function sinceOf(harness: Harness): number {
  return ((statusOf(harness)?.sinceMs ?? 0) - NOON) / MIN;
}

const HOST_PATH = [volumeWith({ isHostPath: true })];
const SINCE_EVER = gapOf(undefined, 11);
const MADE_SINCE = [claimWith({ createdAtMs: NOON + 11 * MIN + 1 })];

/** The volume can be mounted on n2 alone. */
const EXPRESSION = { key: "zone", operator: "In", values: ["b"] };
const ZONES = {
  nodes: ["a", "b"].map((zone, index) => ({ ...nodeWith(`n${index + 1}`), labels: { zone } })),
  volumes: [volumeWith({ nodeAffinity: JSON.stringify({ nodeSelectorTerms: [{ matchExpressions: [EXPRESSION] }] }) })],
};

interface Row {
  readonly name: string;
  readonly scene?: Scene;
  /** When the agent was away; it reports at twelve past noon, or not at all. */
  readonly agentGaps?: readonly (readonly [from: number, to: number])[];
  /** When the node was rebooted. */
  readonly boot?: number;
  /** Of the claim, in minutes past noon; zero: as it was. */
  readonly since: number;
}

const ROWS: readonly Row[] = [
  { name: "stays so where the agent watched", agentGaps: [], since: 0 },
  { name: "counts as used while the agent was away as well", agentGaps: [[3, 5]], since: 5 },
  {
    name: "stays so where its node was out of the way all the time",
    scene: { leaseVersion: "500" },
    agentGaps: [[0, 11.5]],
    since: 0,
  },
  {
    name: "counts as used until its node was booted where that was in the gap, and until its agent read first",
    agentGaps: [],
    boot: 5,
    since: 5 + 1 / 60,
  },
  {
    name: "counts as used as long as the aggregator was away where its volume shows no mount, whatever the agent says",
    scene: { volumes: HOST_PATH },
    agentGaps: [],
    since: 11,
  },
  {
    name: "is moved where none is known to have watched before, and the agent did not since",
    scene: { gap: SINCE_EVER },
    agentGaps: [[-20, 11.5]],
    since: 11.5,
  },
  {
    name: "is not moved when it is first seen after such a gap, though agents come later than the aggregator",
    scene: { gap: SINCE_EVER, claims: MADE_SINCE },
    agentGaps: [[-1_440, 11.9]],
    since: 12,
  },
];

describe("a claim that was idle when the aggregator went away", () => {
  it.each(ROWS)("$name", async ({ scene, agentGaps, boot, since }) => {
    const harness = await back(scene);
    await wait(harness, 1);

    const rebooted = boot === undefined ? {} : { boot: NOON + boot * MIN, bootId: "boot-2" };
    if (boot !== undefined) await harness.putNode(nodeWith("n1", "boot-2"));
    if (agentGaps !== undefined) await tell(harness, agentGaps, rebooted);
    await wait(harness, 60);

    expect(sinceOf(harness)).toBe(since);
    expect(harness.writes).toHaveLength(since === 0 ? 0 : 1);
    expect(harness.writes).not.toContainEqual(expect.objectContaining({ reason: "Unmounted" }));
    expect(harness.gap).toBeUndefined();
  });

  it("is moved no more than once, however many agents were away", async () => {
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

  it("stays so when its volume cannot be mounted where neither watched", async () => {
    const harness = await back(ZONES);

    await tell(harness, [[3, 5]]);
    await tell(harness, [], { node: "n2" });
    await wait(harness, 60);

    expect(harness.writes).toEqual([]);
  });
});

describe("a node that cannot tell what was used on it", () => {
  it("that was deleted in the gap counts when it is back with what its agent remembers", async () => {
    const harness = await back({ nodes: [] });
    await wait(harness, 20);
    await harness.putNode({ ...nodeWith("n1"), createdAtMs: NOON + 31 * MIN });

    await tell(harness, [[5, 30.5]]);
    await wait(harness, 60);

    expect(harness.writes).toMatchObject([{ sinceMs: NOON + 30.5 * MIN }]);
  });
});

describe("a Stale node", () => {
  async function silent(options: Scene = {}): Promise<Harness> {
    const harness = await back(options);
    await harness.putPod(podWith({ uid: "agent", claims: [], isAgent: true }));
    return harness;
  }

  it.each([
    { name: "and was away for longer counts until it was back", agentGaps: [[5, 40]], since: 40 },
    { name: "and was away in the gap has nothing to add", agentGaps: [[5, 9]], since: 11 },
    { name: "and watched all the time has nothing to add", agentGaps: [], since: 11 },
  ] as const)("that comes back later $name", async ({ agentGaps, since }) => {
    const harness = await silent();
    await wait(harness, 35);

    await tell(harness, agentGaps);
    await wait(harness, 60);

    expect(sinceOf(harness)).toBe(since);
    expect(harness.gap).toBeUndefined();
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
    expect(harness.gap).toBeUndefined();
  });

  it("that is away for a week dates no claim of another node anew when the next gap comes", async () => {
    const harness = await silent(ZONES);
    await tell(harness, [], { node: "n2" });
    await wait(harness, 30);
    await harness.restart();
    await wait(harness, 3);
    harness.gap = nextGap(harness.gap, gapOf(43.5, 44));
    await wait(harness, 1);

    // Its agent was replaced between the two gaps, while a replica watched.
    await tell(harness, [[42, 43]], { node: "n2" });
    await wait(harness, 60);

    expect(harness.writes).toEqual([]);
    expect([...(harness.gap?.open ?? [])]).toEqual([["n1", GAP.fromMs]]);
  });
});

describe("a claim that was in use when the aggregator went away", () => {
  const unmountRecords = [unmountRecordOf("pod-1", { after: at(4), by: at(5) })];

  it.each([
    { name: "where neither watched", away: [6, 9], since: 9 },
    { name: "until the agent there was back, where that was later than the aggregator", away: [1, 15], since: 15 },
  ] as const)("may have been used on another node after that, $name", async ({ away, since }) => {
    const nodes = [nodeWith("n1"), nodeWith("n2")];
    const harness = await back({ nodes, claims: [claimWith({ status: mountedStatus(["n1"]) })] });
    await wait(harness, 5);

    await tell(harness, [away], { node: "n2" });
    await tell(harness, [], { unmountRecords });
    await wait(harness, 60);

    expect(sinceOf(harness)).toBe(since);
    expect(statusOf(harness)?.lastUse).toMatchObject({ node: "n1", pod: "shop/pod-1" });
  });

  it("waits for a Stale node that may have it mounted, of which nothing was stored: ten minutes at most", async () => {
    const nodes = [nodeWith("n1"), nodeWith("n2")];
    const harness = await back({ nodes, claims: [claimWith({ status: mountedStatus(["n1"]) })] });
    await harness.putPod(podWith({ uid: "agent", node: "n2", claims: [], isAgent: true }));
    await tell(harness, [], { unmountRecords });
    await wait(harness, 5);
    const waiting = harness.writes.slice();

    await wait(harness, 10);

    expect(waiting).toMatchObject([{ unused: false, message: expect.stringContaining("n2") }]);
    expect(statusOf(harness)).toMatchObject({ unused: true, lastUse: { pod: "shop/pod-1" } });
    expect(sinceOf(harness)).toBe(11);
  });
});

describe("a claim that was mounted when leaders changed and its node's agent was replaced", () => {
  const claims = [claimWith({ status: mountedStatus(["n1"]) })];

  it.each([
    { name: "was lost", agentGaps: [{ to: at(7.5) }] },
    { name: "was last written before", agentGaps: [{ to: 1_000 }, { from: at(-1), to: at(7.5) }] },
  ])("ended when that was noticed, nobody knows by whom, where the journal $name", async ({ agentGaps }) => {
    const harness = await back({ gap: undefined, claims });

    await tell(harness, [], { agentGaps, observedSince: at(7.5) });
    await wait(harness, 60);

    expect(harness.writes).toMatchObject([{ reason: "NoPodUsing", lastUse: undefined }]);
    expect(harness.writes[0]?.sinceMs).toBeGreaterThanOrEqual(NOON + 7.5 * MIN);
  });
});

describe("once all that was not observed is written", () => {
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
