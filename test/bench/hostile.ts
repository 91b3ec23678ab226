import { PerformanceObserver } from "node:perf_hooks";
import { reportRoute } from "../../aggregator/sources/report-server.ts";
import { createBreather } from "../../common/runtime/breather.ts";
import { createSystemClock } from "../../common/runtime/clock.ts";
import { listen } from "../../common/runtime/http-server.ts";
import { redact } from "../../common/runtime/redact.ts";
import { MAX_REPORT_ENTRIES, MAX_REPORT_RELEASES } from "../../common/storage/node-report.ts";
import type { Printer } from "../demo/print.ts";
import { createFakeLogger } from "../fakes/logger.ts";
import { Harness } from "../unit/aggregator/harness.ts";
import { claimWith, holdOf, nodeWith, releaseOf, reportWith, volumeWith } from "../unit/aggregator/world.ts";
import { percentile } from "./statistics.ts";

const clock = createSystemClock();

/** Ends of use of so many pods, of one claim or of as many volumes. */
function endsOf(count: number, { round = 0, isOneClaim = true } = {}): string {
  const releases = Array.from({ length: count }, (_, index) => {
    const pod = `pod-${round}-${index}`;
    const name = isOneClaim ? "pv-1" : `pv-${round}-${index}`;
    return { ...releaseOf(pod, { after: 10, by: 20 + index / 1_000 }), volume: { by: "name", name } as const };
  });
  const read = { beganAt: 1_000 + round, endedAt: 1_000 + round };
  return JSON.stringify(reportWith({ generation: round + 1, read, observedSince: 500, releases }));
}

/** As many holds as a report may show. */
function manyHolds(): ReturnType<typeof holdOf>[] {
  return Array.from({ length: MAX_REPORT_ENTRIES }, (_, index) => ({
    ...holdOf(`pod-${index}`),
    volume: { by: "name", name: `pv-${index}` } as const,
  }));
}

interface Measured {
  readonly lags: readonly number[];
  readonly collections: readonly number[];
  readonly tookMs: number;
}

/** How late turns of the event loop were while something was done, and how long each garbage collection took. */
async function measure(work: () => Promise<unknown>): Promise<Measured> {
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
  return { lags, collections, tookMs };
}

function rowOf(name: string, { lags, collections, tookMs }: Measured): readonly string[] {
  const longest = collections.reduce((most, one) => Math.max(most, one), 0);
  return [name, ...[tookMs, percentile(lags, 0.99), Math.max(...lags), longest].map((ms) => ms.toFixed(1))];
}

/** Hands reports to a harness. */
function takerOf(harness: Harness): Parameters<typeof reportRoute>[0] {
  return {
    turnAway: () => undefined,
    holdRejections: () => undefined,
    newBreather: () => createBreather(clock),
    onReport: (report: Parameters<Harness["report"]>[0]) => {
      void harness.report(report);
      return { kind: "accepted" as const, answer: { forget: [] } };
    },
  };
}

/** What an agent's token, a stranger or a tenant can cost the event loop, beside a report of a usual node. */
export async function benchHostile(_: unknown, printer: Printer): Promise<void> {
  const harness = await new Harness({
    claims: [claimWith()],
    volumes: [volumeWith()],
    nodes: [nodeWith("n1")],
  }).start();
  const route = reportRoute(takerOf(harness), { increment: () => {} });
  const server = await listen([route], { host: "127.0.0.1", port: 0 }, createFakeLogger());
  const put = (body: string): Promise<unknown> => fetch(`${server.url}/v1/nodes/n1/report`, { method: "PUT", body });
  const empty = JSON.stringify({ ...reportWith(), holds: [] }).replace(
    '"holds":[]',
    `"holds":[${"{},".repeat(1_300_000)}{}]`,
  );
  const full = JSON.stringify(
    reportWith({ generation: 9, read: { beganAt: 2_000, endedAt: 2_000 }, holds: manyHolds() }),
  );
  const bodies = [
    endsOf(30),
    empty,
    endsOf(MAX_REPORT_RELEASES, { round: 1 }),
    ...[2, 3, 4].map((round) => endsOf(MAX_REPORT_RELEASES, { round, isOneClaim: false })),
  ];
  const inputs: readonly (readonly [name: string, work: () => Promise<unknown>])[] = [
    ["baseline: a report of thirty ends", () => put(bodies[0] ?? "")],
    ["1.3 million empty entries", () => put(bodies[1] ?? "")],
    [`${MAX_REPORT_RELEASES} ends of one claim`, () => put(bodies[2] ?? "")],
    [`${MAX_REPORT_RELEASES} ends of as many volumes`, () => put(bodies[3] ?? "")],
    [`${MAX_REPORT_RELEASES} others`, () => put(bodies[4] ?? "")],
    ["as many again", () => put(bodies[5] ?? "")],
    [`${MAX_REPORT_ENTRIES} holds`, () => put(full)],
    ["16 KB of `a-` to be logged", async () => redact("a-".repeat(8_192))],
  ];
  printer.title("\nWhat a hostile input costs the event loop, milliseconds");
  const rows: (readonly string[])[] = [];
  for (const [name, work] of inputs) rows.push(rowOf(name, await measure(work)));
  printer.table([["INPUT", "TOOK", "LAG P99", "LAG MAX", "LONGEST GC"], ...rows]);
  await server.close();
  await harness.stop();
}
