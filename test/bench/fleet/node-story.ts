import {
  type NodeHeartbeat,
  type NodeReport,
  REPORT_VERSION,
  type UnmountRecord,
} from "../../../common/storage/node-report.ts";
import { type VolumeIdentity, volumeKey } from "../../../common/storage/volume-identity.ts";

/** A mounted volume of a simulated node; a staging mount has no pod. */
export interface SimulatedMountedVolume {
  readonly kind: "pod" | "staging";
  readonly volume: VolumeIdentity;
  readonly podUid?: string;
  readonly pod?: string;
}

/** A simulated node, and its mounted volumes when the story begins. */
export interface NodeStoryOptions {
  readonly node: string;
  readonly bootId: string;
  readonly podUid: string;
  /** Begin of the story on the boot clock. Milliseconds. */
  readonly now: number;
  readonly mountedVolumes: readonly SimulatedMountedVolume[];
  /** Since when these are mounted, on the same clock; undefined: since the begin. */
  readonly mountedSince?: number | undefined;
}

/** When a message is made, and the version that the pod watch had reached. */
export interface Moment {
  readonly now: number;
  readonly podsResourceVersion: string;
}

/** What an agent knows of its node and reports, without a mount table. Each message reports a scan that was just made. */
export class NodeStory {
  readonly #options: NodeStoryOptions;
  readonly #mountedVolumes = new Map<string, NodeReport["mountedVolumes"][number]>();
  #unmountRecords: readonly UnmountRecord[] = [];
  #generation = 0;

  constructor(options: NodeStoryOptions) {
    this.#options = options;
    const since = options.mountedSince ?? options.now;
    for (const mountedVolume of options.mountedVolumes)
      this.#mountedVolumes.set(keyOf(mountedVolume), { ...mountedVolume, since });
  }

  /** Grows with each change, as in an agent. */
  get generation(): number {
    return this.#generation;
  }

  mount(mountedVolume: SimulatedMountedVolume, now: number): void {
    this.#mountedVolumes.set(keyOf(mountedVolume), { ...mountedVolume, since: now });
    this.#generation += 1;
  }

  unmount(mountedVolume: SimulatedMountedVolume, now: number): void {
    const { volume, podUid = "", pod } = mountedVolume;
    this.#mountedVolumes.delete(keyOf(mountedVolume));
    const id = `${this.#options.bootId}/${Math.round(now * 1000)}/${podUid}/${volumeKey(volume)}`;
    const unmountRecord = { id, volume, podUid, ...(pod === undefined ? {} : { pod }), after: now, by: now };
    this.#unmountRecords = [...this.#unmountRecords, unmountRecord];
    this.#generation += 1;
  }

  /** The records that the aggregator has acknowledged. */
  forget(ids: readonly string[]): void {
    const kept = this.#unmountRecords.filter(({ id }) => !ids.includes(id));
    if (kept.length === this.#unmountRecords.length) return;
    this.#unmountRecords = kept;
    this.#generation += 1;
  }

  report(moment: Moment): NodeReport {
    return {
      ...this.heartbeat(moment),
      mountedVolumes: [...this.#mountedVolumes.values()],
      unmountRecords: [...this.#unmountRecords],
    };
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
      scan: { beganAt: now, endedAt: now },
      observedSince,
      agentGaps: [{ to: observedSince }],
      podsResourceVersion,
    };
  }
}

function keyOf({ kind, volume, podUid = "" }: SimulatedMountedVolume): string {
  return `${kind}/${podUid}/${volumeKey(volume)}`;
}
