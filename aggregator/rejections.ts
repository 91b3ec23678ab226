import type { Clock } from "../common/runtime/clock.ts";
import type { Logger } from "../common/runtime/logger.ts";
import type { Metrics } from "../common/runtime/metrics.ts";
import type { Pod } from "./core/cluster-objects.ts";
import { FLEET_WINDOW_MS, type FleetHold, type FleetRejection, nextHold } from "./core/fleet-brake.ts";

interface RejectionsParts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The latest that the API server's clock can show, milliseconds since the epoch. */
  readonly nowMs: () => number;
  readonly nodeNames: () => readonly string[];
}

/** Whether rejections are held is found out at most this often: thousands of answers a minute say so. Milliseconds. */
const JUDGED_EVERY_MS = 1_000;

/**
 * Counts the pods that agents have rejected, by the watch of all pods. Every replica counts, and a process that begins finds the rejected
 * pods that are still there: which replica leads makes no difference, but for pods that were deleted before it began to watch.
 */
export class Rejections {
  readonly #parts: RejectionsParts;
  readonly #limit: number;
  /** By UID: a pod whose status wavers is one. */
  readonly #byPod = new Map<string, FleetRejection>();
  #held: FleetHold | undefined;
  #judgedAt = Number.NEGATIVE_INFINITY;

  constructor(parts: RejectionsParts, limit: number) {
    this.#parts = parts;
    this.#limit = limit;
  }

  onRejected({ uid, node, rejection }: Pick<Pod, "uid" | "node" | "rejection">): void {
    const nowMs = this.#parts.nowMs();
    // An annotation that names no time, or one to come, is of now.
    const atMs = Math.min(rejection?.atMs ?? nowMs, nowMs);
    if (nowMs - atMs >= FLEET_WINDOW_MS) return;
    this.#byPod.set(uid, { node, atMs });
    this.#forgetOld(nowMs);
  }

  /** How many there were in the last ten minutes. */
  count(): number {
    this.#forgetOld(this.#parts.nowMs());
    return this.#byPod.size;
  }

  /** Why none is to be made now; for who leads, as it logs what changes. */
  hold(): string | undefined {
    const { clock, logger, nodeNames, nowMs } = this.#parts;
    const now = clock.monotonicMs();
    if (now - this.#judgedAt < JUDGED_EVERY_MS) return this.#held?.why;
    this.#judgedAt = now;
    this.#forgetOld(nowMs());
    const scene = { recent: [...this.#byPod.values()], nodes: nodeNames().length, nowMs: nowMs() };
    const held = nextHold(this.#held, scene, this.#limit);
    if (held !== undefined && this.#held === undefined)
      logger.error({ why: held.why }, "agents are told to reject no pod");
    if (held === undefined && this.#held !== undefined) logger.info({}, "agents may reject pods again");
    this.#held = held;
    return held?.why;
  }

  #forgetOld(nowMs: number): void {
    for (const [uid, { atMs }] of this.#byPod) if (nowMs - atMs >= FLEET_WINDOW_MS) this.#byPod.delete(uid);
  }
}

/** What metrics tell of rejections; only who leads tells whether they are held. */
export function registerRejectionGauges(metrics: Metrics, rejections: Rejections, isLeading: () => boolean): void {
  metrics.gauge(
    { name: "mooring_fleet_rejections_recent", help: "Pods that agents rejected in the last ten minutes." },
    () => rejections.count(),
  );
  metrics.gauge({ name: "mooring_fleet_rejections_held", help: "1 while agents are told to reject no pod." }, () =>
    isLeading() ? Number(rejections.hold() !== undefined) : undefined,
  );
}
