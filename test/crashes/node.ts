import type { ApiCall } from "../rig/control-plane/api.ts";
import type { Owner } from "../rig/process/owner.ts";
import type { ClusterApi } from "../rig/stand-in/cluster-api.ts";
import { type NewPod, StandInKubelet, type StandInPod } from "../rig/stand-in/kubelet.ts";
import { publishPath, stagingPath, subPathOf } from "../rig/stand-in/kubelet-paths.ts";
import { type Mounter, startMounter } from "./mounter/mounter.ts";
import type { Span } from "./record.ts";

/** A pod of a campaign; with a subPath, its container's folder is mounted, too. */
export interface CrashPod extends StandInPod {
  readonly hasSubPath: boolean;
}

/** A node with a stand-in kubelet, and with mounts by system calls of known time. */
export class CrashNode {
  readonly kubelet: StandInKubelet;
  readonly #api: ClusterApi;
  readonly #call: ApiCall;
  readonly #mounter: Mounter;

  private constructor(kubelet: StandInKubelet, mounter: Mounter, { api, call }: ApiParts) {
    this.kubelet = kubelet;
    this.#mounter = mounter;
    this.#api = api;
    this.#call = call;
  }

  static async start(owner: Owner, name: string, parts: ApiParts): Promise<CrashNode> {
    const kubelet = await StandInKubelet.start(owner, parts.api, name);
    const mounter = await startMounter(owner, { name, namespace: kubelet.namespace });
    return new CrashNode(kubelet, mounter, parts);
  }

  async createPod(pod: NewPod, hasSubPath: boolean): Promise<CrashPod> {
    return { ...(await this.kubelet.createPod(pod)), hasSubPath };
  }

  /** Mounts the pod's volume in a kubelet's order. */
  async mount({ uid, volume, hasSubPath }: CrashPod): Promise<Span> {
    const { root } = this.kubelet;
    const disk = `${root}/disks/${volume.name}`;
    const staging = stagingPath(root, volume);
    const published = publishPath(root, uid, volume);
    if (staging !== undefined) await this.#mounter.bind(disk, staging);
    const first = await this.#mounter.bind(staging ?? disk, published);
    const last = hasSubPath ? await this.#mounter.bind(published, subPathOf(root, uid, volume)) : first;
    return { fromMs: first.fromMs, toMs: last.toMs };
  }

  /** Unmounts it, and returns the time of the last unmount; the volume is then no longer staged. */
  async unmount({ uid, volume, hasSubPath }: CrashPod): Promise<Span> {
    const { root } = this.kubelet;
    if (hasSubPath) await this.#mounter.unmount(subPathOf(root, uid, volume));
    const end = await this.#mounter.unmount(publishPath(root, uid, volume));
    const staging = stagingPath(root, volume);
    if (staging !== undefined) await this.#mounter.unmount(staging);
    return end;
  }

  async reportRunning(pod: CrashPod): Promise<void> {
    await this.kubelet.reportRunning(pod);
  }

  /** Its containers have ended; its object stays. */
  async finish({ namespace, name }: CrashPod): Promise<void> {
    const state = { terminated: { exitCode: 0, reason: "Completed" } };
    const container = { name: "main", ready: false, restartCount: 0, image: "main", imageID: "main", state };
    const status = { phase: "Succeeded", containerStatuses: [container] };
    await this.#api.patch(`/api/v1/namespaces/${namespace}/pods/${name}/status`, { status });
  }

  /** Deletes it with a grace period. */
  async terminate({ namespace, name }: CrashPod): Promise<void> {
    await this.#call({ method: "DELETE", path: `/api/v1/namespaces/${namespace}/pods/${name}?gracePeriodSeconds=30` });
  }

  /** Deletes its object at once. */
  async remove(pod: CrashPod): Promise<void> {
    await this.kubelet.forceDelete(pod);
  }
}

/** Access to the API server; `call` retries until it answers. */
export interface ApiParts {
  readonly api: ClusterApi;
  readonly call: ApiCall;
}
