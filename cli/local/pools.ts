import type { LocalState, LocalVolume, PoolReport } from "./state.ts";

/** The state of a pool, in one or two words. */
export type PoolHealth = "usable" | "empty" | "missing" | "swapped" | "provisioner away" | "node gone" | "unknown";

/** A pool of a node. */
export interface PoolView {
  readonly node: string;
  readonly pool: string;
  readonly health: PoolHealth;
  /** The problem, as the provisioner reports it. */
  readonly problem: string | undefined;
  readonly sizeBytes: number | undefined;
  readonly freeBytes: number | undefined;
  /** Of volumes, and of images without a volume. */
  readonly usedBytes: number;
  readonly volumes: number;
  readonly largest: { readonly name: string; readonly bytes: number } | undefined;
  readonly storageClasses: readonly string[];
}

/** The pools of all nodes, by node and name: those that a provisioner publishes, and those that a volume names. */
export function poolsOf(state: LocalState): readonly PoolView[] {
  const keys = new Map<string, { readonly node: string; readonly pool: string }>();
  for (const { node, pool } of [...(state.reports ?? []), ...state.volumes])
    if (pool !== undefined && pool !== "") keys.set(`${node}/${pool}`, { node, pool });
  return [...keys]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([, { node, pool }]) => poolView(state, node, pool));
}

function poolView(state: LocalState, node: string, pool: string): PoolView {
  const isOf = (one: { readonly node: string; readonly pool: string | undefined }): boolean =>
    one.node === node && one.pool === pool;
  const volumes = state.volumes.filter(isOf);
  const reports = (state.reports ?? []).filter(isOf);
  const [report] = reports;
  const orphans = orphansOn(state, node).filter((one) => one.pool === pool);
  const [largest] = volumes.toSorted((one, other) => other.bytes - one.bytes);
  return {
    ...{ node, pool, health: healthOf(state, { node, report, volumes }) },
    problem: report?.state === "ready" ? undefined : report?.problem,
    sizeBytes: report?.sizeBytes,
    freeBytes: least(reports.flatMap(({ freeBytes }) => freeBytes ?? [])),
    usedBytes: sumOf([...volumes, ...orphans]),
    volumes: volumes.length,
    largest: largest && { name: largest.name, bytes: largest.bytes },
    storageClasses: reports.map(({ storageClass }) => storageClass).toSorted(),
  };
}

interface PoolFacts {
  readonly node: string;
  readonly report: PoolReport | undefined;
  readonly volumes: readonly LocalVolume[];
}

function healthOf({ nodes, pods }: LocalState, { node, report, volumes }: PoolFacts): PoolHealth {
  if (nodes?.has(node) === false) return "node gone";
  if (pods !== undefined && !pods.some((pod) => pod.node === node && pod.isReady)) return "provisioner away";
  if (report?.state === "lost") return "missing";
  if (report?.state === "empty") return "empty";
  if (report?.state !== "ready") return "unknown";
  return volumes.some(({ poolId }) => poolId !== report.poolId) ? "swapped" : "usable";
}

/** Every object of a node lists the same findings. A volume that was restored since is no orphan. */
export function orphansOn({ reports = [], volumes }: LocalState, node: string) {
  const named = new Set(volumes.map(({ name }) => name));
  const found = reports.find((one) => one.node === node && one.findings !== undefined)?.findings;
  return (found?.orphans ?? []).filter(({ volume }) => !named.has(volume));
}

function least(numbers: readonly number[]): number | undefined {
  return numbers.length === 0 ? undefined : Math.min(...numbers);
}

export function sumOf(all: readonly { readonly bytes: number }[]): number {
  return all.reduce((sum, { bytes }) => sum + bytes, 0);
}
