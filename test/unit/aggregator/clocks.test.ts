import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createKubeClient, type KubeClient } from "../../../common/kube/client.ts";
import type { ClockSample } from "../../../common/storage/node-report.ts";
import { createFakeConnection, createFakeTransport } from "../../fakes/transport.ts";
import { httpDate } from "../../simulation/engine/times.ts";
import { Harness } from "./harness.ts";
import { claimWith, mountedVolumeOf, NOON, nodeWith, reportWith, unmountRecordOf, volumeWith } from "./world.ts";

/**
 * One use of a claim, told through clocks that are wrong: the node's boot clock, the clocks of the aggregator's machine, and those of the
 * API servers. The wall clock of the node is nowhere: no message has it.
 */
interface Clocks {
  /** By how much a second of the node's boot clock is too long, within `nodeDriftPpm`. */
  readonly nodePpm: number;
  readonly nodeDriftPpm: number;
  /** The same of the aggregator's monotonic clock, within `ownDriftPpm`. */
  readonly ownPpm: number;
  readonly ownDriftPpm: number;
  /** How far the clocks of the API servers behind the one address are ahead; they answer in turn. Milliseconds. */
  readonly serversMs: readonly number[];
}

/** What happens between the end of the mount and the report that tells of it. Milliseconds. */
interface Way {
  readonly untilSentMs: number;
  readonly transitMs: number;
  /** The node's machine sleeps before it sends. */
  readonly nodeSleepMs: number;
  /** The aggregator's machine sleeps before the report comes, and nobody asks the API server after that. */
  readonly ownSleepMs: number;
  readonly jumpWallMs: number;
  /** The API server has not answered for so long when the mount ends. */
  readonly unansweredMs: number;
}

const EXACT: Clocks = { nodePpm: 0, nodeDriftPpm: 200, ownPpm: 0, ownDriftPpm: 200, serversMs: [0] };
const AT_ONCE: Way = {
  untilSentMs: 0,
  transitMs: 0,
  nodeSleepMs: 0,
  ownSleepMs: 0,
  jumpWallMs: 0,
  unansweredMs: 0,
};
/** A scan takes a millisecond, and the way to the API server and back two. */
const READ_MS = 1;
const HOUR = 3_600_000;

/** The world's own time, and every clock that is read in it. */
class Scene {
  readonly harness: Harness;
  readonly #client: KubeClient;
  readonly #clocks: Clocks;
  #trueMs = 0;
  #nodeMs = HOUR;
  #clockSamples: readonly ClockSample[] = [];

  constructor(clocks: Clocks) {
    const rate = { source: "monotonic", driftPpm: clocks.ownDriftPpm } as const;
    this.harness = new Harness({ claims: [claimWith()], volumes: [volumeWith()], nodes: [nodeWith("n1")] });
    this.#clocks = clocks;
    const server = (_: unknown, index: number) => {
      this.#move(1);
      const dateMs = Math.floor(this.serverMs(index) / 1_000) * 1_000;
      this.#move(1);
      return { body: "{}", headers: { date: httpDate(dateMs) } };
    };
    const connection = createFakeConnection(createFakeTransport(server));
    this.#client = createKubeClient(connection, { clock: { ...this.harness.clock, rate } });
  }

  /** What the API server that answers next shows, or the furthest ahead of them. */
  serverMs(index?: number): number {
    const { serversMs } = this.#clocks;
    const ahead = index === undefined ? Math.max(...serversMs) : (serversMs[index % serversMs.length] ?? 0);
    return NOON + this.#trueMs + ahead;
  }

  #move(ms: number): void {
    this.#trueMs += ms;
    this.#nodeMs += ms * (1 + this.#clocks.nodePpm * 1e-6);
    this.harness.clock.pass(this.#owned(ms));
  }

  /** Time as our clock counts it, in steps that add up exactly: what is left of a wait must not be too little to pass. */
  #owned(ms: number): number {
    return Math.round(ms * (1 + this.#clocks.ownPpm * 1e-6) * 1_024) / 1_024;
  }

  /** Time passes, on the node and here; one of the two machines may sleep meanwhile. */
  async pass(ms: number, asleep?: "node" | "own"): Promise<void> {
    this.#trueMs += ms;
    if (asleep !== "node") this.#nodeMs += ms * (1 + this.#clocks.nodePpm * 1e-6);
    if (asleep === "own") this.harness.clock.suspend(ms);
    else await this.harness.advance(this.#owned(ms));
    this.#setNow();
  }

  /** The API server answers a few times. */
  async ask(times = 4): Promise<void> {
    for (let count = 0; count < times; count += 1) {
      await this.#client.request({ method: "GET", path: "/version" }, new AbortController().signal);
      this.#move(500);
    }
    this.#setNow();
  }

  get #time() {
    return this.#client.serverTime() ?? { latestMs: Number.NaN, widthMs: Number.NaN };
  }

  #setNow(): void {
    this.harness.aheadMs = this.#time.latestMs - this.harness.clock.wallMs();
  }

  get nodeMs(): number {
    return this.#nodeMs;
  }

  /** The node's agent reads its mount table and tells of it; the message takes its time. */
  async tell(isMounted: boolean, way: Way, since?: number): Promise<void> {
    await this.pass(READ_MS);
    const endedAt = this.#nodeMs;
    await this.pass(way.untilSentMs);
    await this.pass(way.nodeSleepMs, "node");
    const released = isMounted ? [] : [unmountRecordOf("pod-1", { after: since ?? 0, by: endedAt })];
    const report = reportWith({
      scan: { beganAt: endedAt - READ_MS / 2, endedAt },
      sentAt: this.#nodeMs,
      generation: isMounted ? 1 : 2,
      driftPpm: this.#clocks.nodeDriftPpm,
      clockSamples: [...this.#clockSamples],
      mountedVolumes: isMounted ? [mountedVolumeOf("pod-1")] : [],
      unmountRecords: released,
    });
    await this.pass(way.transitMs);
    await this.pass(way.ownSleepMs, "own");
    this.harness.clock.jumpWall(way.jumpWallMs);
    this.#setNow();
    const { latestMs: atMs, widthMs } = this.#time;
    await this.harness.report(report, { atMs, widthMs });
    await this.pass(100);
    this.#clockSamples = [{ at: this.#nodeMs, ms: atMs - widthMs }];
  }
}

/** Mounts, unmounts, tells; answers what is published beside the truth, by the clock of the API server that is ahead. */
async function published(clocks: Partial<Clocks>, way: Partial<Way>) {
  const scene = new Scene({ ...EXACT, ...clocks });
  const full = { ...AT_ONCE, ...way };
  await scene.ask();
  await scene.harness.start();
  await scene.tell(true, AT_ONCE);
  const since = scene.nodeMs;
  await scene.pass(full.unansweredMs);
  const truthMs = scene.serverMs();
  await scene.tell(false, full, since);
  const status = scene.harness.stored.get("shop/data")?.status;
  await scene.harness.stop();
  if (status?.unused !== true || status.lastUse === undefined) throw new Error(`not unused: ${status?.message}`);
  const { releasedAtMs, uncertaintyMs = Number.NaN } = status.lastUse;
  return { lateMs: status.sinceMs - truthMs, truthMs, releasedAtMs, uncertaintyMs };
}

/** Whole seconds, and what four answers leave open of the API server's clock. */
const ROUNDED_MS = 2_010;

describe("the published time", () => {
  it.each([
    { name: "all clocks are right", serversMs: [0] },
    { name: "of two API servers one is three seconds ahead", serversMs: [0, 3_000] },
    { name: "of two API servers one is three seconds behind", serversMs: [0, -3_000] },
  ])("is not before the truth, and late by its rounding alone, where $name", async ({ serversMs }) => {
    const { lateMs, truthMs, releasedAtMs } = await published({ serversMs }, {});

    expect(lateMs).toBeGreaterThanOrEqual(0);
    expect(lateMs).toBeLessThanOrEqual(ROUNDED_MS);
    expect(releasedAtMs).toBeGreaterThanOrEqual(truthMs);
  });

  const within = (ppm: number): fc.Arbitrary<number> => fc.double({ min: -0.99 * ppm, max: 0.99 * ppm, noNaN: true });
  const rates = fc
    .constantFrom(200, 100_000)
    .chain((driftPpm) => fc.record({ driftPpm: fc.constant(driftPpm), ppm: within(driftPpm) }));
  const ways = fc.record({
    untilSentMs: fc.nat(2 * HOUR),
    transitMs: fc.nat(60_000),
    nodeSleepMs: fc.oneof(fc.constant(0), fc.nat(HOUR)),
    ownSleepMs: fc.oneof(fc.constant(0), fc.integer({ min: 1_000, max: HOUR })),
    jumpWallMs: fc.integer({ min: -1e11, max: 1e11 }),
    unansweredMs: fc.nat(2 * HOUR),
  });

  /** The same runs each time; for a hunt with new ones `MOORING_PROPERTY_RUNS` says how many. */
  const { MOORING_PROPERTY_RUNS: hunt } = process.env;
  const RUNS = hunt === undefined ? { numRuns: 25, seed: 5_541 } : { numRuns: Number(hunt) };

  it("is never before the truth, and later by no more than drift, sleep and transit, whatever clocks do within their bounds", async () => {
    await fc.assert(
      fc.asyncProperty(rates, rates, ways, async (node, own, way) => {
        const clocks = { nodePpm: node.ppm, nodeDriftPpm: node.driftPpm, ownPpm: own.ppm, ownDriftPpm: own.driftPpm };

        const { lateMs, truthMs, releasedAtMs, uncertaintyMs } = await published(clocks, way);

        const { untilSentMs, transitMs, nodeSleepMs, ownSleepMs, unansweredMs } = way;
        const missedMs = transitMs + nodeSleepMs + ownSleepMs;
        const nodeMs = untilSentMs * 2.1 * node.driftPpm * 1e-6;
        const ownMs = (unansweredMs + untilSentMs + missedMs) * 2.4 * (own.driftPpm + 500) * 1e-6;
        expect(lateMs).toBeGreaterThanOrEqual(0);
        expect(lateMs).toBeLessThanOrEqual(ROUNDED_MS + 1_000 + missedMs + nodeMs + ownMs);
        // The width that is told holds the truth, however long the way was and the node slept.
        expect(releasedAtMs - uncertaintyMs).toBeLessThanOrEqual(truthMs);
      }),
      RUNS,
    );
  });
});
