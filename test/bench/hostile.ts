import { PerformanceObserver } from "node:perf_hooks";
import { reportRoute } from "../../aggregator/sources/report-server.ts";
import { createSystemClock } from "../../common/runtime/clock.ts";
import { listen } from "../../common/runtime/http-server.ts";
import { redact } from "../../common/runtime/redact.ts";
import type { Steps } from "../../common/runtime/steps.ts";
import { createYield } from "../../common/runtime/yield.ts";
import { MAX_REPORT_ENTRIES, MAX_REPORT_UNMOUNT_RECORDS } from "../../common/storage/node-report.ts";
import type { Printer } from "../demo/print.ts";
import { createFakeLogger } from "../fakes/logger.ts";
import {
  claimWith,
  mountedVolumeOf,
  nodeWith,
  reportWith,
  unmountRecordOf,
  volumeWith,
} from "../unit/aggregator/world.ts";
import { FakeCluster } from "./fake-cluster.ts";
import { lead } from "./leader-session.ts";
import { percentile } from "./statistics.ts";

const clock = createSystemClock();

/** Mounts of an ordinary node, and the number of reports of each node before the measurement. */
const USUAL_MOUNTS = 60;
const FLEET_ROUNDS = 100;

/** Unmount records of this many pods, of one claim or of as many volumes. */
function endsOf(count: number, { round = 0, isOneClaim = true } = {}): string {
  const unmountRecords = Array.from({ length: count }, (_, index) => {
    const pod = `pod-${round}-${index}`;
    const name = isOneClaim ? "pv-1" : `pv-${round}-${index}`;
    return { ...unmountRecordOf(pod, { after: 10, by: 20 + index / 1_000 }), volume: { by: "name", name } as const };
  });
  const scan = { beganAt: 1_000 + round, endedAt: 1_000 + round };
  return JSON.stringify(reportWith({ generation: round + 1, scan, observedSince: 500, unmountRecords }));
}

/** A full node. */
function manyMountedVolumes(count: number, round = 0): ReturnType<typeof mountedVolumeOf>[] {
  return Array.from({ length: count }, (_, index) => ({
    ...mountedVolumeOf(`pod-${round}-${index}`),
    volume: { by: "name", name: `pv-${index}` } as const,
  }));
}

interface Measured {
  /** The processor time of each step of taking a report. */
  readonly turns: readonly number[];
  readonly lags: readonly number[];
  readonly collections: readonly number[];
  readonly tookMs: number;
}

/** How late turns of the event loop were, and how long each garbage collection took. */
async function measure(work: () => Promise<unknown>, turns: number[]): Promise<Measured> {
  turns.length = 0;
  const lags: number[] = [];
  const collections: number[] = [];
  const observer = new PerformanceObserver((list) =>
    collections.push(...list.getEntries().map(({ duration }) => duration)),
  );
  observer.observe({ entryTypes: ["gc"] });
  const stop = new AbortController();
  const sample = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const dueAt = clock.monotonicMs() + 1;
      await clock.sleep(1);
      lags.push(Math.max(0, clock.monotonicMs() - dueAt));
    }
  };
  const sampling = sample();
  const beganAt = clock.monotonicMs();
  await work();
  const tookMs = clock.monotonicMs() - beganAt;
  await clock.sleep(50);
  stop.abort();
  await sampling;
  observer.disconnect();
  return { turns: [...turns], lags, collections, tookMs };
}

function rowOf(name: string, { turns, lags, collections, tookMs }: Measured): readonly string[] {
  const figures = [tookMs, longestOf(turns), percentile(lags, 0.99), longestOf(lags), longestOf(collections)];
  return [name, ...figures.map((ms) => ms.toFixed(1))];
}

function longestOf(times: readonly number[]): number {
  return times.reduce((most, one) => Math.max(most, one), 0);
}

/** Sends reports to a leader session, and records the processor time of each step. */
function takerOf({ session }: Awaited<ReturnType<typeof lead>>, turns: number[]): Parameters<typeof reportRoute>[0] {
  return {
    turnAway: () => undefined,
    retryAfterSeconds: () => 0,
    pauseRejections: () => undefined,
    session: () => undefined,
    yieldToEventLoop: createYield(clock, undefined, 1),
    onReport: (report) => timed(session.onReport(report), turns),
  };
}

function* timed<T>(steps: Steps<T>, turns: number[]): Steps<T> {
  for (;;) {
    // Processor time of this thread: it excludes other processes and V8's own threads.
    const begun = process.threadCpuUsage();
    const step = steps.next();
    const { user, system } = process.threadCpuUsage(begun);
    turns.push((user + system) / 1_000);
    if (step.done === true) return step.value;
    yield;
  }
}

/** Warms up with the reports of a fleet: the code then runs as in an old process, and no compilation falls into a measurement. */
async function warmUp(put: (body: string, node: string) => Promise<unknown>): Promise<void> {
  for (let round = 0; round < FLEET_ROUNDS; round += 1) {
    const mountedVolumes = manyMountedVolumes(USUAL_MOUNTS).map((mountedVolume, index) => ({
      ...mountedVolume,
      podUid: `warm-${round}-${index}`,
    }));
    for (const node of ["n2", "n3", "n4"]) {
      const scan = { beganAt: 1_000 + round, endedAt: 1_000 + round };
      await put(
        JSON.stringify(reportWith({ node, generation: round + 1, scan, observedSince: 500, mountedVolumes })),
        node,
      );
    }
  }
}

function clusterOf(nodes: readonly string[]): FakeCluster {
  const cluster = new FakeCluster();
  const claim = claimWith();
  cluster.byKey.set(claim.key, claim);
  cluster.volumes.set("pv-1", volumeWith());
  for (const name of nodes) cluster.nodes.set(name, nodeWith(name));
  return cluster;
}

/** The event-loop cost of an agent's token, a stranger or a tenant, beside a report of an ordinary node. */
export async function benchHostile(_: unknown, printer: Printer): Promise<void> {
  const session = await lead(clusterOf(["n1", "n2", "n3", "n4"]));
  const turns: number[] = [];
  const route = reportRoute(takerOf(session, turns), { increment: () => {} });
  const server = await listen([route], { host: "127.0.0.1", port: 0 }, createFakeLogger());
  const put = async (body: string, node = "n1"): Promise<void> => {
    await fetch(`${server.url}/v1/nodes/${node}/report`, { method: "PUT", body }).then((answer) => answer.text());
  };
  const empty = JSON.stringify({ ...reportWith(), mountedVolumes: [] }).replace(
    '"mountedVolumes":[]',
    `"mountedVolumes":[${"{},".repeat(1_300_000)}{}]`,
  );
  const full = (node: string, round = 0): string => {
    const scan = { beganAt: 2_000 + round, endedAt: 2_000 + round };
    const mountedVolumes = manyMountedVolumes(MAX_REPORT_ENTRIES, round);
    return JSON.stringify(reportWith({ node, generation: 999 + round, scan, mountedVolumes }));
  };
  const bodies = [
    endsOf(30),
    empty,
    endsOf(MAX_REPORT_UNMOUNT_RECORDS, { round: 1 }),
    ...[2, 3, 4].map((round) => endsOf(MAX_REPORT_UNMOUNT_RECORDS, { round, isOneClaim: false })),
  ];
  const inputs: readonly (readonly [name: string, work: () => Promise<unknown>])[] = [
    ["baseline: a report of thirty ends", () => put(bodies[0] ?? "")],
    ["1.3 million empty entries", () => put(bodies[1] ?? "")],
    [`${MAX_REPORT_UNMOUNT_RECORDS} ends of one claim`, () => put(bodies[2] ?? "")],
    [`${MAX_REPORT_UNMOUNT_RECORDS} ends of as many volumes`, () => put(bodies[3] ?? "")],
    [`${MAX_REPORT_UNMOUNT_RECORDS} others`, () => put(bodies[4] ?? "")],
    ["as many again", () => put(bodies[5] ?? "")],
    [`${MAX_REPORT_ENTRIES} mounted volumes of an ordinary node`, () => put(full("n2"), "n2")],
    [`${MAX_REPORT_ENTRIES} others in their place`, () => put(full("n2", 1), "n2")],
    ["as many again", () => put(full("n2", 2), "n2")],
    [`${MAX_REPORT_ENTRIES} mounted volumes after these unmount records`, () => put(full("n1"))],
    ["16 KB of `a-` to be logged", async () => redact("a-".repeat(8_192))],
  ];
  printer.title("\nWhat a hostile input costs the event loop, milliseconds");
  await warmUp(put);
  const rows: (readonly string[])[] = [];
  for (const [name, work] of inputs) rows.push(rowOf(name, await measure(work, turns)));
  printer.table([["INPUT", "TOOK", "LONGEST STEP (CPU)", "LAG P99", "LAG MAX", "LONGEST GC"], ...rows]);
  await server.close();
  await session.stop();
}
