import { displayPath } from "../common/mounts/core/mount-info.ts";
import type { Logger } from "../common/runtime/logger.ts";
import type { Counter, Metrics } from "../common/runtime/metrics.ts";
import { volumeKey } from "../common/storage/volume-identity.ts";
import { leaksIn } from "./core/leaks.ts";
import type { Anomaly, Decision, NodeState } from "./core/node-state.ts";

interface LogParts {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly onAnomaly: (anomaly: Anomaly) => void;
}

const ANOMALIES = ["unmounted-while-running", "remounted-while-running"] as const satisfies readonly Anomaly["why"][];

/** Logs what changed on the node, and what is unusual there, once. */
export class ObservationLog {
  readonly #parts: LogParts;
  readonly #anomalies: Counter<"reason">;
  /** Leaks that have been logged. */
  #loggedLeaks: ReadonlySet<string> = new Set();

  constructor(parts: LogParts) {
    this.#parts = parts;
    this.#anomalies = parts.metrics.counter({
      name: "mooring_mount_anomalies_total",
      help: "Volumes that were unmounted while their pod ran.",
      labels: ["reason"],
      known: ANOMALIES.map((reason) => ({ reason })),
    });
  }

  record(decision: Decision): void {
    const { logger } = this.#parts;
    if (decision.kind === "recorded") {
      const { volume, podUid, pod, after = 0, by } = decision.unmountRecord;
      logger.info({ volume: volumeKey(volume), podUid, pod, widthMs: Math.round(by - after) }, "unmount recorded");
      return;
    }
    const { kind, volume, podUid } = decision.mountedVolume;
    const fields = { kind, volume: volumeKey(volume), podUid };
    if (decision.kind === "anomaly") {
      this.#anomalies.increment({ reason: decision.why });
      logger.warn({ ...fields, pod: decision.pod, why: decision.why }, "volume unmounted while its pod runs");
      this.#parts.onAnomaly(decision);
      return;
    }
    logger.info(fields, decision.kind === "mounted" ? "volume mounted" : "volume unmounted");
  }

  recordLeaks(state: NodeState, nowMs: number): void {
    const leaks = leaksIn(state, nowMs);
    for (const { kind, key, known, ageMs } of leaks.filter(({ key }) => !this.#loggedLeaks.has(key))) {
      const { mountedVolume, mountPoint } = known;
      const fields = {
        kind,
        volume: volumeKey(mountedVolume.volume),
        podUid: mountedVolume.podUid,
        mountPoint: displayPath(mountPoint),
      };
      this.#parts.logger.warn({ ...fields, ageMs: Math.round(ageMs), mountedVolume: key }, "mount left behind");
    }
    this.#loggedLeaks = new Set(leaks.map(({ key }) => key));
  }
}
