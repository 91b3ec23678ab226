import type { PodRecord } from "../world/pods.ts";
import type { World } from "../world/world.ts";

/** docs/affinity.md: an agent fails three pods of one owner in ten minutes, and waits 1, 2, 4 … minutes before each further one. */
const FREE = 3;
const WINDOW_MS = 600_000;
const FIRST_WAIT_MS = 60_000;
/** A margin: agents' clocks drift, and NTP slews them by up to a twelfth. */
const SLEWED = 0.9;

interface Failed {
  readonly pod: PodRecord;
  readonly atMs: number;
  /** The run of the agent that failed it. */
  readonly run: unknown;
}

/** No agent fails the pods of an owner as fast as the owner recreates them. */
export class PlacementLoops {
  readonly #world: World;
  #failed: readonly Failed[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  note(by: string, uid: string): void {
    const pod = this.#world.cluster.pods.byUid(uid);
    if (pod !== undefined)
      this.#failed = [...this.#failed, { pod, atMs: this.#world.now, run: runOf(this.#world, by) }];
  }

  /** Why it was too early to fail a further pod of its owner; undefined where it was not. */
  whyNot(by: string, uid: string): string | undefined {
    const { now } = this.#world;
    const pod = this.#world.cluster.pods.byUid(uid);
    if (pod === undefined) return undefined;
    const earlier = this.#earlierThan(pod, runOf(this.#world, by));
    const count = new Set(earlier.map((one) => one.pod.uid)).size;
    const waitMs = FIRST_WAIT_MS * 2 ** (count - FREE) * SLEWED;
    const sinceMs = now - Math.max(...earlier.map(({ atMs }) => atMs));
    if (count < FREE || sinceMs >= waitMs) return undefined;
    return `${count} pods of its owner had been failed, the last one ${Math.round(sinceMs)} ms before`;
  }

  /** The rejections that the agent can know: those of its own run, and, unless API clocks were stepped, those of pods that still exist. */
  #earlierThan(pod: PodRecord, run: unknown): readonly Failed[] {
    const { now, apiClocks } = this.#world;
    return this.#failed.filter((one) => {
      const isSameOwner = one.pod.owner === pod.owner && one.pod.node === pod.node && one.pod !== pod;
      const isKnown = one.run === run || (one.pod.isThere && one.pod.isOver && !apiClocks.wereStepped);
      return isSameOwner && isKnown && now - one.atMs < WINDOW_MS * SLEWED;
    });
  }
}

/** The present run of an agent. */
export function runOf({ nodes }: World, by: string): unknown {
  return nodes.find(({ name }) => by === `agent-${name}`)?.agent;
}
