import {
  type ClaimKind,
  countedClaim,
  countedVolume,
  MOST_CLASSES,
  StorageTotals,
  type VolumeKind,
} from "../../aggregator/core/metrics/storage-totals.ts";
import { registerStorageMetrics, type StorageSources } from "../../aggregator/metrics/storage-metrics.ts";
import { boundedLabel, createMetrics } from "../../common/runtime/metrics.ts";
import type { Claim } from "../../common/storage/claim.ts";
import type { Printer } from "../demo/print.ts";
import type { Owner } from "../rig/process/owner.ts";
import { claimWith, NOON, statusWith, volumeWith } from "../unit/aggregator/world.ts";
import { percentile } from "./statistics.ts";

const COUNT = 200_000;
const ROUNDS = 20;
const DAY_MS = 86_400_000;

/** How volumes and claims are made of their number. */
interface Scene {
  readonly name: string;
  readonly classOf: (index: number) => string;
  readonly volumePhase: (index: number) => string;
  readonly claim: (index: number) => Partial<Claim>;
}

const SCENES: readonly Scene[] = [
  {
    name: "five classes, one volume in ten Released, one claim in three unused",
    classOf: (index) => `class-${index % 5}`,
    volumePhase: (index) => (index % 10 === 0 ? "Released" : "Bound"),
    claim: (index) => ({
      status: statusWith({ unused: index % 3 === 0, reason: "Unmounted", sinceMs: NOON - (index % 700) * DAY_MS }),
    }),
  },
  {
    name: "a class of its own for each, all Released or Pending, each at a second of its own",
    classOf: (index) => `class-${index}`,
    volumePhase: () => "Released",
    claim: (index) => ({ phase: "Pending", createdAtMs: NOON - index * 1_000 }),
  },
];

/** How long a scrape with 200,000 volumes and claims blocks the event loop, beside counting them for each scrape. */
export async function benchScrape(_: Owner, printer: Printer): Promise<void> {
  printer.title(
    `\nA scrape of the figures of ${COUNT} volumes and ${COUNT} claims, ${ROUNDS} times; milliseconds of the processor`,
  );
  const rows: (readonly string[])[] = [];
  for (const scene of SCENES) rows.push(...(await measure(scene)));
  printer.table([["OBJECTS", "WHAT", "SERIES", "P50", "MAX"], ...rows]);
}

async function measure(scene: Scene): Promise<readonly (readonly string[])[]> {
  const volumes = Array.from({ length: COUNT }, (_, index) => {
    const phase = scene.volumePhase(index);
    return {
      volume: volumeWith({ storageClass: scene.classOf(index), phase }),
      since: { ms: NOON - index * 1_000, from: "api" } as const,
    };
  });
  const claims = Array.from({ length: COUNT }, (_, index) =>
    claimWith({ name: `data-${index}`, storageClass: scene.classOf(index), ...scene.claim(index) }),
  );
  const pending = claims.filter(({ phase }) => phase === "Pending");
  const count = (): StorageSources["cluster"]["storage"] => {
    const label = boundedLabel(MOST_CLASSES);
    const storage = {
      volumes: new StorageTotals<VolumeKind>(label, 1_000),
      claims: new StorageTotals<ClaimKind>(label, 3_600_000),
      pending: () => pending,
      bindingOf: () => "WaitForFirstConsumer" as const,
    };
    for (const { volume, since } of volumes) storage.volumes.count(countedVolume(volume, since), 1);
    for (const claim of claims) storage.claims.count(countedClaim(claim), 1);
    return storage;
  };
  const storage = count();
  const metrics = createMetrics();
  const cluster = { storage, podsOf: () => [] };
  registerStorageMetrics(metrics, { cluster, earliestMs: () => NOON });
  const text = await metrics.text();
  const series = text.split("\n").filter((line) => line !== "" && !line.startsWith("#")).length;
  const row = (name: string, times: readonly number[]): readonly string[] => [
    ...[scene.name, name, String(series), percentile(times, 0.5).toFixed(1), percentile(times, 1).toFixed(1)],
  ];
  return [row("as it is", await timed(() => metrics.text())), row("baseline: counted again", await timed(count))];
}

/** Processor time of each round in milliseconds: on a busy machine a clock would include other processes. */
async function timed(work: () => unknown): Promise<readonly number[]> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1_000);
  }
  return times;
}
