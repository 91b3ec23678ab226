import type { Clock } from "../common/runtime/clock.ts";
import type { Logger } from "../common/runtime/logger.ts";
import type { Counter, Metrics } from "../common/runtime/metrics.ts";
import { volumeKey } from "../common/storage/volume-identity.ts";
import { leaksIn } from "./core/leaks.ts";
import { displayPath } from "./core/mount-info.ts";
import type { Anomaly, Decision, NodeState } from "./core/node-state.ts";
import type { WakeUp } from "./sources/wake-up.ts";

interface LogParts {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly onAnomaly: (anomaly: Anomaly) => void;
}

/** Says in the log what changed on the node, and what is odd there, once. */
export class ObservationLog {
  readonly #parts: LogParts;
  readonly #anomalies: Counter<"reason">;
  /** Leaks that were told of. */
  #told: ReadonlySet<string> = new Set();

  constructor(parts: LogParts) {
    this.#parts = parts;
    this.#anomalies = parts.metrics.counter({
      name: "mooring_mount_anomalies_total",
      help: "Volumes that were unmounted while their pod ran.",
      labels: ["reason"],
    });
  }

  tell(decision: Decision): void {
    const { logger } = this.#parts;
    if (decision.kind === "released") {
      const { volume, podUid, pod, after = 0, by } = decision.release;
      logger.info({ volume: volumeKey(volume), podUid, pod, widthMs: Math.round(by - after) }, "volume released");
      return;
    }
    const { kind, volume, podUid } = decision.hold;
    const fields = { kind, volume: volumeKey(volume), podUid };
    if (decision.kind === "anomaly") {
      this.#anomalies.increment({ reason: decision.why });
      logger.warn({ ...fields, pod: decision.pod, why: decision.why }, "volume unmounted while its pod runs");
      this.#parts.onAnomaly(decision);
      return;
    }
    logger.info(fields, decision.kind === "mounted" ? "volume mounted" : "volume unmounted");
  }

  tellLeaks(state: NodeState, nowMs: number): void {
    const leaks = leaksIn(state, nowMs);
    for (const { kind, key, known, ageMs } of leaks.filter(({ key }) => !this.#told.has(key))) {
      const { hold, mountPoint } = known;
      const fields = { kind, volume: volumeKey(hold.volume), podUid: hold.podUid, mountPoint: displayPath(mountPoint) };
      this.#parts.logger.warn({ ...fields, ageMs: Math.round(ageMs), key }, "mount left behind");
    }
    this.#told = new Set(leaks.map(({ key }) => key));
  }
}

/** What is known of the node, as numbers. */
export function registerGauges(
  { metrics, wakeUp, clock }: { readonly metrics: Metrics; readonly wakeUp: WakeUp; readonly clock: Clock },
  stateOf: () => NodeState,
): void {
  const count = (kind: string): number =>
    leaksIn(stateOf(), clock.monotonicMs()).filter((leak) => leak.kind === kind).length;
  metrics.gauge(
    { name: "mooring_mount_table_polled", help: "1 when the kernel tells of changes, 0 when a timer does." },
    () => (wakeUp.mode === "poll" ? 1 : 0),
  );
  metrics.gauge({ name: "mooring_holds", help: "Volumes that the mount table shows." }, () => stateOf().holds.size);
  metrics.gauge({ name: "mooring_orphaned_mounts", help: "Mounts whose pod is gone for five minutes." }, () =>
    count("orphaned"),
  );
  metrics.gauge(
    { name: "mooring_unused_staging_mounts", help: "Staging mounts that no pod has used for five minutes." },
    () => count("unused-staging"),
  );
  metrics.gauge(
    { name: "mooring_unacknowledged_releases", help: "Ends of use that the aggregator has not settled yet." },
    () => stateOf().releases.length,
  );
}
