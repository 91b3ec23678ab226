import { createHash } from "node:crypto";
import type { NodeMessage, NodeReport } from "../../../common/storage/node-report.ts";
import type { VolumeIdentity } from "../../../common/storage/volume-identity.ts";
import type { House } from "../house.ts";

/** The uptime of all nodes when the house begins. Milliseconds. */
const UP_FOR_MS = 3_600_000;

type AgentGaps = NodeReport["agentGaps"];

/** A node whose agent a test scripts: the test sets what is mounted, and sends the reports. */
export class ScriptedNode {
  readonly name: string;
  mountedVolumes: NodeReport["mountedVolumes"] = [];
  unmountRecords: NodeReport["unmountRecords"] = [];
  generation = 1;
  instance = "run-1";
  bootId: string;
  /** Error of its boot clock, in parts per million. */
  ppm = 0;
  /** When its agent did not scan. */
  agentGaps: AgentGaps;
  readonly #house: House;
  /** The version that its pod watch has reached. */
  #podsVersion: number;
  /** When the machine booted, on the clock of the house. Milliseconds. */
  #bootedMs = -UP_FOR_MS;

  constructor(house: House, name: string) {
    this.#house = house;
    this.name = name;
    this.bootId = `boot-of-${name}`;
    this.agentGaps = [{ to: this.stamp - 60_000 }];
    this.#podsVersion = house.api.revision();
    house.api.observe(({ resource, revision }) => {
      if (resource === "pods") this.#podsVersion = revision;
    });
  }

  /** Now, on its boot clock. */
  get stamp(): number {
    return this.stampAt(this.#house.engine.scheduler.nowMs());
  }

  /** What its boot clock shows at a time of the house. */
  stampAt(ms: number): number {
    return (ms - this.#bootedMs) * (1 + this.ppm * 1e-6);
  }

  /** The mount of the volume of a claim for a pod of `addPod`. */
  mount(pod: string, claim = "data"): void {
    const mountedVolume = { kind: "pod", volume: volumeOf(claim), podUid: `uid-of-${pod}`, since: this.stamp } as const;
    this.mountedVolumes = [...this.mountedVolumes, mountedVolume];
    this.generation += 1;
  }

  /** Unmounts the volume of a pod; the last scan was half a second ago. Returns the ID of the unmount record. */
  unmount(pod: string): string {
    const podUid = `uid-of-${pod}`;
    const volume = this.mountedVolumes.find((mountedVolume) => mountedVolume.podUid === podUid)?.volume;
    this.mountedVolumes = this.mountedVolumes.filter((mountedVolume) => mountedVolume.podUid !== podUid);
    const id = `${this.name}/${this.stamp}/${pod}`;
    const record = { id, volume: volume ?? volumeOf("data"), podUid, pod: `shop/${pod}` };
    this.unmountRecords = [...this.unmountRecords, { ...record, after: this.stamp - 500, by: this.stamp }];
    this.generation += 1;
    return id;
  }

  /** The device of the volume is mounted for no pod. */
  stage(volume: VolumeIdentity = volumeOf("data")): void {
    this.mountedVolumes = [...this.mountedVolumes, { kind: "staging", volume, since: this.stamp }];
    this.generation += 1;
  }

  /** Nothing is mounted any more, and there is no unmount record. */
  lose(): void {
    this.mountedVolumes = [];
    this.generation += 1;
  }

  /** Its agent runs again, after a gap. */
  comeBack(from: number, to = this.stamp - 1): void {
    this.instance = `${this.instance} anew`;
    this.agentGaps = [...this.agentGaps, { from, to }];
  }

  /** The machine is started anew, at a time of the house; its agent reads the mount table a second later. */
  reboot(ms = this.#house.engine.scheduler.nowMs()): void {
    this.#bootedMs = ms;
    this.bootId = `${this.bootId} anew`;
    this.instance = `${this.instance} anew`;
    this.agentGaps = [{ to: 1_000 }];
    this.mountedVolumes = [];
    this.generation += 1;
  }

  /** The machine has slept for so long, in which its boot clock stood still. */
  sleep(ms: number): void {
    this.#bootedMs += ms;
  }

  /** The machine goes on from what it was so long ago, in the same boot, and its agent from what that knew. */
  putBack(ms: number): void {
    this.sleep(ms);
    this.agentGaps = [{ to: this.stamp - 60_000 }];
    this.mountedVolumes = [];
    this.unmountRecords = [];
  }

  /** What it would send now: it has just read its mount table, and its pod watch has seen all that there is. */
  report(fields: Partial<NodeReport> = {}): NodeReport {
    const { stamp } = this;
    return {
      ...this.#head(),
      podsResourceVersion: String(this.#podsVersion),
      mountedVolumes: this.mountedVolumes,
      unmountRecords: this.unmountRecords,
      ...fields,
      sentAt: fields.sentAt ?? stamp,
    };
  }

  /** The same without what has not changed. */
  heartbeat(): NodeMessage {
    const { mountedVolumes: _, unmountRecords: __, ...head } = this.report();
    return head;
  }

  #head() {
    const { name: node, stamp, generation, instance, bootId, agentGaps } = this;
    return {
      version: 1,
      node,
      bootId,
      podUid: `agent-of-${node}`,
      instance,
      generation,
      driftPpm: 200,
      scan: { beganAt: stamp - 2, endedAt: stamp - 1 },
      observedSince: agentGaps.at(-1)?.to ?? 0,
      agentGaps,
    } as const;
  }
}

/** A CSI volume as agents name it where it is staged. */
export function handleOf(driver: string, handle: string): VolumeIdentity {
  return { by: "handle", driver, handleHash: createHash("sha256").update(handle).digest("hex") };
}

/** The volume of a claim of `addClaim`, as agents name it. */
function volumeOf(claim: string): VolumeIdentity {
  return { by: "name", name: `pv-${claim}` };
}
