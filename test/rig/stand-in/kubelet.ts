import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { V1Node, V1Pod } from "@kubernetes/client-node";
import { object, parse, string } from "valibot";
import { formatMicroTime } from "../../../common/runtime/micro-time.ts";
import type { Owner } from "../process/owner.ts";
import type { ClusterApi } from "./cluster-api.ts";
import { publishPath, type StandInVolume, stagingPath } from "./kubelet-paths.ts";
import { createMountNamespace, type MountNamespace } from "./mount-namespace.ts";

/** A pod that runs on a stand-in node, with the mount of its claim. */
export interface StandInPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly volume: StandInVolume;
}

/** A pod that is to be created, and the claim that it names. */
export type NewPod = Omit<StandInPod, "uid"> & { readonly claim: string };

/** When something happened, in milliseconds of the wall clock: not before the one, not after the other. */
export interface Moment {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

const LEASE_RENEWAL_MS = 10_000;
const metadata = object({ metadata: object({ uid: string() }) });

/**
 * What a kubelet does that Mooring sees, and nothing else: a Node object and its Lease, pod status, and real mounts in the
 * kubelet's layout, in a mount namespace of their own. No container runs.
 */
export class StandInKubelet {
  readonly node: string;
  readonly root: string;
  readonly namespace: MountNamespace;
  /** UID of the agent's pod on this node, whose token is mounted as the kubelet does it. */
  readonly agentPodUid = randomUUID();
  readonly #owner: Owner;
  readonly #api: ClusterApi;

  private constructor(owner: Owner, api: ClusterApi, { node, namespace }: { node: string; namespace: MountNamespace }) {
    this.node = node;
    this.root = `${owner.folder}/${node}/kubelet`;
    this.namespace = namespace;
    this.#owner = owner;
    this.#api = api;
  }

  /** A node that is registered and Ready. */
  static async start(owner: Owner, api: ClusterApi, node: string): Promise<StandInKubelet> {
    const namespace = await createMountNamespace(owner, `${node}-mounts`);
    const kubelet = new StandInKubelet(owner, api, { node, namespace });
    await namespace.exec("mkdir", "-p", kubelet.root);
    await namespace.exec("mount", "-t", "tmpfs", "kubelet", kubelet.root);
    await kubelet.#mountTmpfs(`pods/${kubelet.agentPodUid}/volumes/kubernetes.io~projected/kube-api-access`);
    await kubelet.#register();
    return kubelet;
  }

  async #register(): Promise<void> {
    const bootID = (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
    const node: V1Node = { metadata: { name: this.node, labels: { "kubernetes.io/hostname": this.node } } };
    await this.#api.create("/api/v1/nodes", node);
    await this.#api.patch(`/api/v1/nodes/${this.node}/status`, {
      status: { nodeInfo: nodeInfo(bootID), conditions: [{ type: "Ready", status: "True", reason: "KubeletReady" }] },
    });
    await this.#renewLease();
    void this.#keepLease();
  }

  /** The node controller would taint a node whose Lease is old. A renewal that fails is made up for by the next. */
  async #keepLease(): Promise<void> {
    const { clock, signal } = this.#owner;
    while (!signal.aborted) {
      await clock.sleep(LEASE_RENEWAL_MS, signal);
      if (!signal.aborted) await this.#renewLease().catch(() => {});
    }
  }

  async #renewLease(): Promise<void> {
    await this.#api.apply(`/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${this.node}`, {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: this.node, namespace: "kube-node-lease" },
      spec: {
        holderIdentity: this.node,
        leaseDurationSeconds: 40,
        renewTime: formatMicroTime(this.#owner.clock.wallMs()),
      },
    });
  }

  /** Creates a pod on this node, mounts its claim's volume, and reports it running. */
  async runPod(pod: NewPod): Promise<StandInPod> {
    const running = await this.createPod(pod);
    await this.mount(running);
    await this.reportRunning(running);
    return running;
  }

  /** Creates a pod on this node, and does nothing for it. */
  async createPod(pod: NewPod): Promise<StandInPod> {
    const { namespace, name, claim, volume } = pod;
    const body: V1Pod = {
      metadata: { name },
      spec: {
        nodeName: this.node,
        terminationGracePeriodSeconds: 0,
        containers: [
          { name: "main", image: "example.invalid/main", volumeMounts: [{ name: "volume", mountPath: "/volume" }] },
        ],
        volumes: [{ name: "volume", persistentVolumeClaim: { claimName: claim } }],
      },
    };
    const { metadata: made } = parse(metadata, await this.#api.create(`/api/v1/namespaces/${namespace}/pods`, body));
    return { namespace, name, uid: made.uid, volume };
  }

  async reportRunning({ namespace, name }: StandInPod): Promise<void> {
    await this.#api.patch(`/api/v1/namespaces/${namespace}/pods/${name}/status`, { status: runningStatus() });
  }

  /** Mounts a pod's volume as a kubelet does: staged first where the driver wants it. */
  async mount({ uid, volume }: StandInPod): Promise<void> {
    const source = `${this.root}/disks/${volume.name}`;
    await this.namespace.exec("mkdir", "-p", source);
    const staging = stagingPath(this.root, volume);
    if (staging !== undefined) await this.#bind(source, staging);
    await this.#bind(staging ?? source, publishPath(this.root, uid, volume));
  }

  /** Unmounts a pod's volume, and says when. */
  async unmount({ uid, volume }: Pick<StandInPod, "uid" | "volume">): Promise<Moment> {
    const { clock } = this.#owner;
    const notBeforeMs = clock.wallMs();
    await this.namespace.exec("umount", publishPath(this.root, uid, volume));
    return { notBeforeMs, notAfterMs: clock.wallMs() };
  }

  /** Unmounts the staging mount, which the kubelet does later, when no pod needs the device any more. */
  async unstage(volume: StandInVolume): Promise<void> {
    const staging = stagingPath(this.root, volume);
    if (staging !== undefined) await this.namespace.exec("umount", staging);
  }

  /** Deletes the pod object at once, as `kubectl delete --force` does. Mounts stay as they are. */
  async forceDelete({ namespace, name }: Pick<StandInPod, "namespace" | "name">): Promise<void> {
    await this.#api.remove(`/api/v1/namespaces/${namespace}/pods/${name}`);
  }

  async #bind(source: string, target: string): Promise<void> {
    await this.namespace.exec("mkdir", "-p", target);
    await this.namespace.exec("mount", "--bind", source, target);
  }

  async #mountTmpfs(path: string): Promise<void> {
    await this.namespace.exec("mkdir", "-p", `${this.root}/${path}`);
    await this.namespace.exec("mount", "-t", "tmpfs", "tmpfs", `${this.root}/${path}`);
  }
}

function nodeInfo(bootID: string): object {
  const unknown = [
    "architecture",
    "containerRuntimeVersion",
    "kernelVersion",
    "kubeProxyVersion",
    "machineID",
    "osImage",
    "systemUUID",
  ];
  const rest = Object.fromEntries(unknown.map((key) => [key, "stand-in"]));
  return { ...rest, bootID, kubeletVersion: "v1.36.3", operatingSystem: "linux" };
}

function runningStatus(): object {
  const state = { running: {} };
  const container = {
    name: "main",
    ready: true,
    started: true,
    restartCount: 0,
    image: "main",
    imageID: "main",
    state,
  };
  // A StatefulSet's controller goes no further with a pod until it is ready: not to its claims either.
  const conditions = [{ type: "Ready", status: "True" }];
  return { phase: "Running", podIP: "192.0.2.1", conditions, containerStatuses: [container] };
}
