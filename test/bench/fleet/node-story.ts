import {
  type NodeHeartbeat,
  type NodeReport,
  REPORT_VERSION,
  type Release,
} from "../../../common/storage/node-report.ts";
import { type VolumeIdentity, volumeKey } from "../../../common/storage/volume-identity.ts";

/** A hold of a simulated node; a staging hold has no pod. */
export interface SimulatedHold {
  readonly kind: "pod" | "staging";
  readonly volume: VolumeIdentity;
  readonly podUid?: string;
  readonly pod?: string;
}

/** Who a simulated node is, and what it holds when the story begins. */
export interface NodeStoryOptions {
  readonly node: string;
  readonly bootId: string;
  readonly podUid: string;
  /** Begin of the story on the boot clock. Milliseconds. */
  readonly now: number;
  readonly holds: readonly SimulatedHold[];
  /** Since when it has held that, on the same clock; nothing: since the begin. */
  readonly heldSince?: number | undefined;
}

/** When something is said, and what the pod watch had reached by then. */
export interface Moment {
  readonly now: number;
  readonly podsResourceVersion: string;
}

/** What an agent knows of its node and says about it, without a mount table behind it. Each message tells of a read just done. */
export class NodeStory {
  readonly #options: NodeStoryOptions;
  readonly #holds = new Map<string, NodeReport["holds"][number]>();
  #releases: readonly Release[] = [];
  #generation = 0;

  constructor(options: NodeStoryOptions) {
    this.#options = options;
    const since = options.heldSince ?? options.now;
    for (const hold of options.holds) this.#holds.set(keyOf(hold), { ...hold, since });
  }

  /** Rises with each change, as in an agent. */
  get generation(): number {
    return this.#generation;
  }

  mount(hold: SimulatedHold, now: number): void {
    this.#holds.set(keyOf(hold), { ...hold, since: now });
    this.#generation += 1;
  }

  unmount(hold: SimulatedHold, now: number): void {
    const { volume, podUid = "", pod } = hold;
    this.#holds.delete(keyOf(hold));
    const id = `${this.#options.bootId}/${Math.round(now * 1000)}/${podUid}/${volumeKey(volume)}`;
    const release = { id, volume, podUid, ...(pod === undefined ? {} : { pod }), after: now, by: now };
    this.#releases = [...this.#releases, release];
    this.#generation += 1;
  }

  /** What the aggregator says may be forgotten. */
  forget(ids: readonly string[]): void {
    const kept = this.#releases.filter(({ id }) => !ids.includes(id));
    if (kept.length === this.#releases.length) return;
    this.#releases = kept;
    this.#generation += 1;
  }

  report(moment: Moment): NodeReport {
    return { ...this.heartbeat(moment), holds: [...this.#holds.values()], releases: [...this.#releases] };
  }

  heartbeat({ now, podsResourceVersion }: Moment): NodeHeartbeat {
    const { node, bootId, podUid, now: observedSince } = this.#options;
    return {
      version: REPORT_VERSION,
      node,
      bootId,
      podUid,
      instance: podUid,
      generation: this.#generation,
      driftPpm: 200,
      sentAt: now,
      read: { beganAt: now, endedAt: now },
      observedSince,
      blind: [{ to: observedSince }],
      podsResourceVersion,
    };
  }
}

function keyOf({ kind, volume, podUid = "" }: SimulatedHold): string {
  return `${kind}/${podUid}/${volumeKey(volume)}`;
}
