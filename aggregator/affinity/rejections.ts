import type { Clock } from "../../common/runtime/clock.ts";
import type { Logger } from "../../common/runtime/logger.ts";
import type { Metrics } from "../../common/runtime/metrics.ts";
import { FLEET_WINDOW_MS, nextPause, type RejectionPause, type WrongPod } from "../core/circuit-breaker.ts";
import type { Pod } from "../core/cluster-objects.ts";

interface RejectionsParts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The latest that the API server's clock can show, milliseconds since the epoch. */
  readonly nowMs: () => number;
  readonly nodeNames: () => readonly string[];
  readonly podByUid: (uid: string) => Pick<Pod, "key"> | undefined;
}

/** Whether rejections are paused is found out after this time at the latest: thousands of answers a minute say so. Milliseconds. */
const JUDGED_EVERY_MS = 1_000;
/** It is found out at once when another tenth of the limit has come: all nodes may report within that time. */
const JUDGED_SHARE = 10;

/**
 * Counts the pods that agents have rejected, by the watch of all pods, and those that they would reject. Every replica counts the former, and
 * a process that begins finds those that are still there: which replica leads makes no difference, but for pods that were deleted
 * before it began to watch. The latter it is told of all nodes as it begins to lead, and of each node with its reports: who begins takes them
 * all for new, and so pauses rejections for ten minutes where there are too many of them.
 */
export class Rejections {
  readonly #parts: RejectionsParts;
  readonly #limit: number;
  /** By UID: a pod whose status wavers is one. */
  readonly #rejected = new Map<string, WrongPod>();
  /** Pods that wait, by node and UID, for as long as they do. */
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
    // An annotation that names no time, or one to come, is of now.
    const atMs = Math.min(rejection?.atMs ?? nowMs, nowMs);
    if (nowMs - atMs >= FLEET_WINDOW_MS) return;
    this.#rejected.set(uid, { node, namespace: namespaceIn(key), atMs });
    this.#newSince += 1;
    this.#forgetOld(nowMs);
  }

  /** All pods of a node that wait for a volume that excludes it. */
  onWaiting(node: string, podUids: readonly string[]): void {
    const known = this.#waiting.get(node);
    if (podUids.length === 0) {
      this.#waiting.delete(node);
      return;
    }
    const atMs = this.#parts.nowMs();
    this.#newSince += podUids.filter((uid) => known?.has(uid) !== true).length;
    const waiting = (uid: string): WrongPod => {
      const namespace = namespaceIn(this.#parts.podByUid(uid)?.key ?? "");
      return known?.get(uid) ?? { node, namespace, atMs };
    };
    this.#waiting.set(node, new Map(podUids.map((uid) => [uid, waiting(uid)])));
  }

  /** How many were rejected in the last ten minutes. */
  count(): number {
    const nowMs = this.#parts.nowMs();
    return [...this.#rejected.values()].filter(({ atMs }) => nowMs - atMs < FLEET_WINDOW_MS).length;
  }

  /** Agents were last told to reject no pod. */
  get isPaused(): boolean {
    return this.#pause !== undefined;
  }

  /** How many wait, however long. */
  waiting(): number {
    return [...this.#waiting.values()].reduce((sum, pods) => sum + pods.size, 0);
  }

  /** Why none is to be made now; for who leads, as it logs what changes. */
  pause(): string | undefined {
    const { clock, logger, nodeNames, nowMs } = this.#parts;
    if (this.#limit === 0) return undefined;
    const now = clock.monotonicMs();
    const isDue = now - this.#judgedAt >= JUDGED_EVERY_MS || this.#newSince * JUDGED_SHARE >= this.#limit;
    if (!isDue) return this.#pause?.why;
    this.#judgedAt = now;
    this.#newSince = 0;
    const nodes = new Set(nodeNames());
    // Who waited on a node that is no more waits no longer, and nobody reports that.
    for (const node of this.#waiting.keys()) if (!nodes.has(node)) this.#waiting.delete(node);
    const scene = { recent: this.#recent(nowMs()), nodes: nodes.size, nowMs: nowMs() };
    const pause = nextPause(this.#pause, scene, this.#limit);
    if (pause !== undefined && this.#pause === undefined)
      logger.warn({ why: pause.why }, "agents are told to reject no pod");
    if (pause === undefined && this.#pause !== undefined) logger.info({}, "agents may reject pods again");
    this.#pause = pause;
    return pause?.why;
  }

  /** Each pod once. */
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

/** What metrics tell of rejections; only who leads is told what waits and tells whether they are paused. */
export function registerRejectionGauges(metrics: Metrics, rejections: Rejections, isLeading: () => boolean): void {
  const gauge = (name: `mooring_fleet_${string}`, help: string, read: () => number): void =>
    metrics.gauge({ name, help }, () => (isLeading() ? read() : undefined));
  gauge("mooring_fleet_rejections_recent", "Pods that agents rejected in the last ten minutes.", () =>
    rejections.count(),
  );
  gauge("mooring_fleet_misplaced_pods", "Pods that wait for a volume whose node affinity excludes their node.", () =>
    rejections.waiting(),
  );
  gauge("mooring_fleet_rejections_paused", "1 while agents are told to reject no pod.", () =>
    Number(rejections.isPaused),
  );
}
