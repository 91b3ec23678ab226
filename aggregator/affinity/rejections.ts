import { FLEET_WINDOW_MS, nextPause, type RejectedPod, type RejectionPause } from "../core/circuit-breaker.ts";
import type { Pod } from "../core/cluster-objects.ts";
import type { Cluster, SharedParts } from "../sources/cluster.ts";

type RejectionsParts = Pick<SharedParts, "clock" | "logger" | "nowMs"> & Pick<Cluster, "nodeCount">;

/** The limit is checked at most this often: all agents may report at once. Milliseconds. */
const JUDGED_EVERY_MS = 1_000;

/** The cluster's circuit breaker. Every replica counts: a new leader lacks only pods deleted before it started. */
export class Rejections {
  readonly #parts: RejectionsParts;
  readonly #limit: number;
  /** By UID, so that a pod counts once. */
  readonly #rejected = new Map<string, RejectedPod>();
  #pause: RejectionPause | undefined;
  #judgedAt = Number.NEGATIVE_INFINITY;

  constructor(parts: RejectionsParts, limit: number) {
    this.#parts = parts;
    this.#limit = limit;
  }

  onRejected({ key, uid, node, rejection }: Pick<Pod, "key" | "uid" | "node" | "rejection">): void {
    const nowMs = this.#parts.nowMs();
    // Without a time, or with one in the future, the annotation counts as written now.
    const atMs = Math.min(rejection?.atMs ?? nowMs, nowMs);
    this.#rejected.set(uid, { node, namespace: key.slice(0, key.indexOf("/")), atMs });
    this.#forgetOld();
  }

  count(): number {
    this.#forgetOld();
    return this.#rejected.size;
  }

  /** The last answer to agents told them to reject no pod. */
  get isPaused(): boolean {
    return this.#pause !== undefined;
  }

  /** Why agents may reject no pod now. Only the leader calls this, as it logs changes. */
  pause(): string | undefined {
    const { clock, logger, nodeCount, nowMs } = this.#parts;
    const before = this.#pause;
    if (clock.monotonicMs() - this.#judgedAt < JUDGED_EVERY_MS) return before?.why;
    this.#judgedAt = clock.monotonicMs();
    this.#forgetOld();
    const scene = { recent: [...this.#rejected.values()], nodes: nodeCount(), nowMs: nowMs() };
    const pause = nextPause(before, scene, this.#limit);
    if (pause !== undefined && before === undefined)
      logger.warn({ why: pause.why }, "agents are told to reject no pod");
    if (pause === undefined && before !== undefined) logger.info({}, "agents may reject pods again");
    this.#pause = pause;
    return pause?.why;
  }

  #forgetOld(): void {
    const nowMs = this.#parts.nowMs();
    for (const [uid, { atMs }] of this.#rejected) if (nowMs - atMs >= FLEET_WINDOW_MS) this.#rejected.delete(uid);
  }
}
