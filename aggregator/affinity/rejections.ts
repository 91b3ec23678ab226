import { FLEET_WINDOW_MS, nextPause, type RejectionPause, type WrongPod } from "../core/circuit-breaker.ts";
import type { Pod } from "../core/cluster-objects.ts";
import type { Cluster, SharedParts } from "../sources/cluster.ts";

interface RejectionsParts extends Pick<SharedParts, "clock" | "logger" | "nowMs">, Pick<Cluster, "nodeNames"> {
  readonly podByUid: (uid: string) => Pick<Pod, "key"> | undefined;
}

/** The rate limit is checked at least this often while agents report. Milliseconds. */
const JUDGED_EVERY_MS = 1_000;
/** It is checked at once when a tenth of the limit has been added: all nodes may report within that time. */
const JUDGED_SHARE = 10;

/**
 * The circuit breaker of the whole cluster. It counts the pods that agents have rejected, and those that they would reject. Every replica
 * counts the former by the watch of pods, so a change of leader loses only pods that were deleted before it started. A new leader counts
 * the latter on all nodes, all as new, so it pauses rejections for ten minutes where there are too many.
 */
export class Rejections {
  readonly #parts: RejectionsParts;
  readonly #limit: number;
  /** By UID, so that a pod counts once. */
  readonly #rejected = new Map<string, WrongPod>();
  /** Pods that wait, by node and UID. */
  readonly #waiting = new Map<string, ReadonlyMap<string, WrongPod>>();
  #pause: RejectionPause | undefined;
  #judgedAt = Number.NEGATIVE_INFINITY;
  #newSince = 0;

  constructor(parts: RejectionsParts, limit: number) {
    this.#parts = parts;
    this.#limit = limit;
  }

  onRejected({ key, uid, node, rejection }: Pick<Pod, "key" | "uid" | "node" | "rejection">): void {
    const nowMs = this.#parts.nowMs();
    // Without a time, or with one in the future, the annotation counts as written now.
    const atMs = Math.min(rejection?.atMs ?? nowMs, nowMs);
    if (nowMs - atMs >= FLEET_WINDOW_MS) return;
    this.#rejected.set(uid, { node, namespace: namespaceIn(key), atMs });
    this.#newSince += 1;
    this.#forgetOld(nowMs);
  }

  /** All pods of a node that wait for a volume whose affinity excludes it. */
  onWaiting(node: string, podUids: readonly string[]): void {
    if (podUids.length === 0) return void this.#waiting.delete(node);
    const known = this.#waiting.get(node);
    const atMs = this.#parts.nowMs();
    this.#newSince += podUids.filter((uid) => known?.has(uid) !== true).length;
    const waiting = podUids.map((uid) => {
      const namespace = namespaceIn(this.#parts.podByUid(uid)?.key ?? "");
      return [uid, known?.get(uid) ?? { node, namespace, atMs }] as const;
    });
    this.#waiting.set(node, new Map(waiting));
  }

  count(): number {
    this.#forgetOld(this.#parts.nowMs());
    return this.#rejected.size;
  }

  /** The last answer to agents told them to reject no pod. */
  get isPaused(): boolean {
    return this.#pause !== undefined;
  }

  waiting(): number {
    return [...this.#waiting.values()].reduce((sum, pods) => sum + pods.size, 0);
  }

  /** Why agents may reject no pod now. Only the leader calls this, as it logs changes. */
  pause(): string | undefined {
    const { clock, logger, nodeNames, nowMs } = this.#parts;
    if (this.#limit === 0) return undefined;
    const now = clock.monotonicMs();
    const isDue = now - this.#judgedAt >= JUDGED_EVERY_MS || this.#newSince * JUDGED_SHARE >= this.#limit;
    if (!isDue) return this.#pause?.why;
    this.#judgedAt = now;
    this.#newSince = 0;
    const nodes = new Set(nodeNames());
    // A node that is gone no longer reports that its pods do not wait.
    for (const node of this.#waiting.keys()) if (!nodes.has(node)) this.#waiting.delete(node);
    const scene = { recent: this.#recent(nowMs()), nodes: nodes.size, nowMs: nowMs() };
    const pause = nextPause(this.#pause, scene, this.#limit);
    if (pause !== undefined && this.#pause === undefined)
      logger.warn({ why: pause.why }, "agents are told to reject no pod");
    if (pause === undefined && this.#pause !== undefined) logger.info({}, "agents may reject pods again");
    this.#pause = pause;
    return pause?.why;
  }

  #recent(nowMs: number): readonly WrongPod[] {
    this.#forgetOld(nowMs);
    const waiting = [...this.#waiting.values()].flatMap((pods) => [...pods]);
    const recent = waiting.filter(([, { atMs }]) => nowMs - atMs < FLEET_WINDOW_MS);
    return [...new Map([...recent, ...this.#rejected]).values()];
  }

  #forgetOld(nowMs: number): void {
    for (const [uid, { atMs }] of this.#rejected) if (nowMs - atMs >= FLEET_WINDOW_MS) this.#rejected.delete(uid);
  }
}

function namespaceIn(key: string): string {
  return key.slice(0, key.indexOf("/"));
}
