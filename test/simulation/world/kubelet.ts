import type { Truth } from "../truth.ts";
import type { Cluster, ResolvedVolume } from "./cluster.ts";
import { containerMount, inlineMount, stagingMount, subPathMounts, tokenMount, useMounts } from "./kubelet-paths.ts";
import { createLatch, type Latch } from "./latch.ts";
import type { MountTable } from "./mount-table.ts";
import type { PodPhase } from "./objects.ts";
import type { PodRecord } from "./pods.ts";
import { type Power, PoweredOff } from "./power.ts";

interface KubeletParts {
  readonly node: string;
  /** The kubelet's root folder. */
  readonly root: string;
  readonly power: Power;
  readonly cluster: Cluster;
  readonly truth: Truth;
  readonly bootId: () => string;
  /** The mount table of the present boot. */
  readonly table: () => MountTable;
  /** Runs a task in the background; an error in it ends the simulation. */
  readonly start: (work: Promise<void>) => void;
}

/** The kubelet's state of one pod. */
interface Work {
  readonly pod: PodRecord;
  /** Opens when the containers are to end, or have ended. */
  readonly over: Latch;
  isRunning: boolean;
  volumes: readonly ResolvedVolume[];
}

/** Time between two attempts. Milliseconds. */
const RETRY_MS = 1_500;

/**
 * What a kubelet does with volumes, in its order: stage, publish, bind subpaths, start containers; at the end stop containers, post the
 * final status, unbind subpaths, unpublish, remove the object, and later unstage (kubernetes/kubernetes 1.36, pkg/kubelet/kubelet.go
 * SyncTerminatingPod and SyncTerminatedPod, pkg/kubelet/volumemanager/reconciler).
 */
export class Kubelet {
  readonly #parts: KubeletParts;
  #works = new Map<string, Work>();
  #unstaging = 0;

  constructor(parts: KubeletParts) {
    this.#parts = parts;
  }

  /** A new boot: the kubelet starts without state. */
  forget(): void {
    for (const { volumes, pod } of this.#works.values()) this.#endUses(pod, volumes);
    this.#works = new Map();
  }

  /** Pods that it works on, and volumes of finished pods that it still has to unstage. */
  get busy(): number {
    return this.#works.size + this.#unstaging;
  }

  /** Compares its work with the pods in the API server. */
  sync(): void {
    const { cluster, node, power, start } = this.#parts;
    if (!power.isOn || power.isFrozen || !cluster.isReachableFrom(node)) return;
    for (const pod of cluster.pods.on(node)) {
      if (this.#works.has(pod.uid) || pod.isOver || pod.isDeleting) continue;
      const work = { pod, over: createLatch(), isRunning: false, volumes: [] };
      this.#works.set(pod.uid, work);
      start(this.#run(work));
    }
    for (const { pod, over } of this.#works.values()) if (!pod.isThere || pod.isDeleting || pod.isOver) over.open();
    for (const pod of cluster.pods.on(node)) {
      // The kubelet has no work for it, so nothing of it is left here.
      if (pod.isDeleting && !this.#works.has(pod.uid)) cluster.pods.remove(pod);
    }
  }

  /** The containers of a pod end by themselves. */
  exit(podUid: string): void {
    this.#works.get(podUid)?.over.open();
  }

  /**
   * An administrator unmounts a running pod's volumes on the node; subpaths stay bound. Returns the UIDs of the claims without any mount
   * left.
   */
  unmountBehind(podUid: string): readonly string[] {
    const work = this.#works.get(podUid);
    if (work === undefined) return [];
    for (const volume of work.volumes) {
      const points = volume.hasSubPaths ? useMounts(this.#parts.root, podUid, volume) : this.#usePoints(podUid, volume);
      for (const point of points) this.#parts.table().unmount(point);
    }
    this.#noteUses(work);
    return work.volumes.flatMap(({ claimUid, hasSubPaths }) => (hasSubPaths ? [] : (claimUid ?? [])));
  }

  /** The kubelet notices that and mounts the volumes again. */
  mountAgain(podUid: string): void {
    const work = this.#works.get(podUid);
    if (work === undefined || !work.isRunning || this.#parts.power.isFrozen) return;
    for (const volume of work.volumes) this.#publish(work, volume);
  }

  async #run(work: Work): Promise<void> {
    const { power } = this.#parts;
    try {
      await this.#begin(work);
      await power.waitFor(work.over);
      await this.#stop(work);
      await this.#tearDown(work);
      this.#unstaging += 1;
      await this.#unstage(work).finally(() => {
        this.#unstaging -= 1;
      });
    } catch (error) {
      if (!(error instanceof PoweredOff)) throw error;
    }
  }

  async #begin(work: Work): Promise<void> {
    const { power, cluster, node, root } = this.#parts;
    const { pod } = work;
    const { pace } = pod;
    await power.pause(pace.mountMs);
    let found = cluster.resolve(pod);
    while (found === undefined && !work.over.isOpen()) {
      await power.pause(RETRY_MS);
      found = cluster.resolve(pod);
    }
    if (found === undefined || work.over.isOpen()) return;
    work.volumes = found;
    const token = { point: tokenMount(root, pod.uid), fsType: "tmpfs", source: "tmpfs" };
    if (!pace.isTokenLast) this.#parts.table().mount(token);
    for (const volume of found) {
      cluster.attach(volume, node);
      this.#stage(volume);
      await power.pause(pace.publishMs);
      this.#publish(work, volume);
    }
    await this.#retry(work);
    if (pace.isTokenLast) this.#parts.table().mount(token);
    await power.pause(pace.startMs);
    if (work.over.isOpen()) return;
    work.isRunning = true;
    pod.startedIn = this.#parts.bootId();
    this.#parts.table().mount({ point: containerMount(pod.uid), fsType: "overlay", source: "overlay" });
    for (const volume of found)
      if (volume.claimUid !== undefined && volume.kind === "host-path") this.#beginUse(pod, volume);
    await this.#post(pod, "Running");
  }

  /** The driver cleans up after a failed mount, and the kubelet retries while the pod is not over. */
  async #retry(work: Work): Promise<void> {
    const { retry } = work.pod.pace;
    if (retry === undefined) return;
    await this.#parts.power.pause(retry.heldMs);
    this.unmountBehind(work.pod.uid);
    await this.#parts.power.pause(retry.afterMs);
    if (work.over.isOpen()) return;
    for (const volume of work.volumes) this.#publish(work, volume);
  }

  #stage(volume: ResolvedVolume): void {
    const { root } = this.#parts;
    const table = this.#parts.table();
    const point = volume.claimUid === undefined ? undefined : stagingMount(root, volume);
    if (point !== undefined && !table.isMounted(point)) table.mount({ point, device: volume.device });
  }

  #publish(work: Work, volume: ResolvedVolume): void {
    const table = this.#parts.table();
    for (const point of this.#usePoints(work.pod.uid, volume)) {
      if (!table.isMounted(point)) table.mount({ point, device: volume.device });
      // Called twice, a driver may mount twice.
      if (work.pod.pace.isStacked) table.mount({ point, device: volume.device });
    }
    this.#noteUses(work);
  }

  /** The mounts that show a pod's use of a volume, in mount order. */
  #usePoints(podUid: string, volume: ResolvedVolume): readonly string[] {
    const { root } = this.#parts;
    if (volume.claimUid === undefined) return [inlineMount(root, podUid, volume.pv)];
    const pieces = volume.hasSubPaths ? subPathMounts(root, podUid, volume.pv) : [];
    return [...useMounts(root, podUid, volume), ...pieces];
  }

  async #stop(work: Work): Promise<void> {
    const { power } = this.#parts;
    const { pod } = work;
    if (pod.isDeleting) await power.pause(pod.pace.graceMs);
    work.isRunning = false;
    this.#parts.table().unmount(containerMount(pod.uid));
    for (const volume of work.volumes) if (volume.kind === "host-path") this.#endUse(pod, volume);
    await power.pause(pod.pace.statusMs);
    if (pod.isThere) await this.#post(pod, endOf(pod));
  }

  async #post(pod: PodRecord, phase: PodPhase): Promise<void> {
    const { power, cluster, node } = this.#parts;
    while (!cluster.isReachableFrom(node)) await power.pause(RETRY_MS);
    cluster.pods.postStatus(pod, phase);
  }

  async #tearDown(work: Work): Promise<void> {
    const { power, root, cluster, node } = this.#parts;
    const { pod } = work;
    const table = this.#parts.table();
    for (const volume of work.volumes) {
      for (const point of this.#usePoints(pod.uid, volume).toReversed()) {
        await power.pause(pod.pace.unmountMs);
        while (table.unmount(point));
        this.#noteUses(work);
      }
    }
    while (table.unmount(tokenMount(root, pod.uid)));
    this.#works.delete(pod.uid);
    while (!cluster.isReachableFrom(node)) await power.pause(RETRY_MS);
    if (pod.isDeleting) cluster.pods.remove(pod);
  }

  /** Once no other pod on the node uses the device. */
  async #unstage({ pod, volumes }: Work): Promise<void> {
    const { power, root, cluster, node } = this.#parts;
    const table = this.#parts.table();
    if (pod.pace.isStagingLeaked) return;
    await power.pause(pod.pace.unstageMs);
    for (const volume of volumes) {
      const isUsed = [...this.#works.values()].some((work) =>
        work.volumes.some(({ handle }) => handle === volume.handle),
      );
      if (isUsed) continue;
      const point = stagingMount(root, volume);
      if (point !== undefined) table.unmount(point);
      cluster.detach(volume, node);
    }
  }

  /** A use lasts from its first mount to its last. */
  #noteUses({ pod, volumes }: Work): void {
    const table = this.#parts.table();
    for (const volume of volumes) {
      if (volume.kind === "host-path" || volume.claimUid === undefined) continue;
      const isMounted = this.#usePoints(pod.uid, volume).some((point) => table.isMounted(point));
      if (isMounted) this.#beginUse(pod, volume);
      else this.#endUse(pod, volume);
    }
  }

  #beginUse(pod: PodRecord, { claim, claimUid, kind }: ResolvedVolume): void {
    const { truth, node } = this.#parts;
    if (claimUid === undefined) return;
    truth.begin({
      claim,
      claimUid,
      node,
      bootId: this.#parts.bootId(),
      pod: pod.key,
      podUid: pod.uid,
      isShown: kind !== "host-path",
    });
  }

  #endUse(pod: PodRecord, { claimUid }: ResolvedVolume): void {
    if (claimUid !== undefined) this.#parts.truth.end({ claimUid, podUid: pod.uid, node: this.#parts.node });
  }

  #endUses(pod: PodRecord, volumes: readonly ResolvedVolume[]): void {
    for (const volume of volumes) this.#endUse(pod, volume);
  }
}

function endOf({ isDeleting, startedIn }: PodRecord): PodPhase {
  if (startedIn === undefined) return "NeverRan";
  return isDeleting ? "Failed" : "Succeeded";
}
