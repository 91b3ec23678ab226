import type { Informer } from "../common/kube/informer.ts";
import type { Stored } from "../common/kube/store.ts";
import type { Clock } from "../common/runtime/clock.ts";
import { type CheckResult, degraded, failed, PASSED } from "../common/runtime/health.ts";
import type { InternalErrors } from "../common/runtime/internal-errors.ts";
import type { Health } from "../common/runtime/observability.ts";
import { watchdogCheck } from "../common/runtime/watchdog.ts";
import { nodeProblem } from "./core/local-node.ts";
import type { LocalNode } from "./core/objects.ts";
import type { NodeStorage } from "./node-storage.ts";
import type { Reconciler } from "./reconciler.ts";
import type { Cluster } from "./sources/cluster.ts";

interface HealthParts {
  readonly clock: Clock;
  readonly cluster: Cluster;
  readonly storage: NodeStorage;
  readonly reconciler: Reconciler;
  readonly errors: InternalErrors;
  readonly node: string;
  readonly isPublishing: boolean;
}

/** The server ends each watch after ten minutes at the latest, and a request is given up after one. Milliseconds. */
const WATCH_STUCK_AFTER_MS = 1_800_000;
/** Far longer than requests to the API server and to the keeper take together. Milliseconds. */
const WORK_STUCK_AFTER_MS = 900_000;
const MOST_NAMES = 3;

/** The checks of `/livez` and `/readyz`. An unreachable API server or keeper is no reason to restart the provisioner. */
export function provisionerHealth(parts: HealthParts): Pick<Health, "live" | "ready"> {
  const { clock, cluster, storage, reconciler, errors } = parts;
  const { nodes, classes, volumes, claims, capacities } = cluster;
  const followed = { nodes, classes, volumes, claims, ...(parts.isPublishing ? { capacities } : {}) };
  const progressOfAll = (): number => Object.values(followed).reduce((sum, { progress }) => sum + progress(), 0);
  return {
    live: {
      ping: () => PASSED,
      "watch-loops": watchdogCheck(clock, { progress: progressOfAll, longestMs: WATCH_STUCK_AFTER_MS }),
      "volume-loop": watchdogCheck(clock, { progress: () => reconciler.progress, longestMs: WORK_STUCK_AFTER_MS }),
      "pool-loop": watchdogCheck(clock, { progress: () => storage.turns, longestMs: WORK_STUCK_AFTER_MS }),
    },
    ready: {
      watches: () => checkWatches(followed),
      keeper: () => (storage.problem === undefined ? PASSED : failed(storage.problem)),
      node: () => checkNode(nodes.get(parts.node)),
      pools: () => checkPools(storage),
      volumes: () => checkVolumes(reconciler),
      "internal-errors": () => errors.check(),
    },
  };
}

function checkWatches(followed: Readonly<Record<string, Pick<Informer<Stored>, "hasSynced">>>): CheckResult {
  const missing = Object.entries(followed).flatMap(([name, { hasSynced }]) => (hasSynced() ? [] : [name]));
  return missing.length === 0 ? PASSED : failed(`not listed yet: ${missing.join(", ")}`);
}

/** Volumes that need a decision: an administrator should look, but a rollout goes on. */
function checkNode(node: LocalNode | undefined): CheckResult {
  const why = node === undefined ? "its Node object is not known" : nodeProblem(node);
  return why === undefined ? PASSED : degraded(why);
}

/** The other pools work: an administrator should look, but a rollout goes on. */
function checkPools({ pools = [] }: NodeStorage): CheckResult {
  const bad = pools.filter(({ state }) => state !== "ready");
  if (bad.length > 0)
    return degraded(
      bad.map(({ name, state, why }) => `${name} is ${state}${why === undefined ? "" : `: ${why}`}`).join("; "),
    );
  return pools.length === 0 ? degraded("this node has no pool") : { ok: true, detail: `${pools.length} ready` };
}

function checkVolumes({ volumeController, orphans }: Reconciler): CheckResult {
  const texts = [
    ...[...volumeController.unavailable].map(([volume, why]) => `${volume}: ${why}`),
    ...[...orphans.reported].map((volume) => `${volume}: an image without a PersistentVolume`),
  ];
  if (texts.length === 0) return PASSED;
  const more = texts.length > MOST_NAMES ? ` and ${texts.length - MOST_NAMES} more` : "";
  return degraded(`${texts.slice(0, MOST_NAMES).join("; ")}${more}`);
}
