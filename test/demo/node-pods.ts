import { statSync } from "node:fs";
import { array, boolean, object, optional, parse, string } from "valibot";
import type { CsiDriver, FaultHandle } from "../rig/csi/harness.ts";
import type { MountOperation } from "../rig/csi/record.ts";
import type { RealNode } from "../rig/node/real-node.ts";
import { WORKLOAD_IMAGE } from "../rig/node/workload.ts";
import { HarnessError } from "../rig/process/errors.ts";
import { waitUntil } from "../rig/process/wait.ts";
import type { Moment } from "../rig/stand-in/kubelet.ts";
import { NAMESPACE } from "../rig/stand-in/stage.ts";
import type { NewPod, PodInUse, World } from "./world.ts";

const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;
const BEAT_LIMIT_MS = 5_000;
/** Writes to the volume until SIGTERM; a container that ignores SIGTERM is killed a second later. */
const WRITE = "while :; do date > /data/beat; sleep 0.1; done";
const LINES = { deaf: `trap '' TERM; ${WRITE}`, obedient: `trap 'exit 0' TERM; ${WRITE}` } as const;

const seen = object({
  metadata: object({ uid: string() }),
  status: object({
    phase: optional(string()),
    containerStatuses: optional(array(object({ ready: boolean() })), []),
  }),
});

/** Access to a real node and its pods. */
export interface NodeGround extends Pick<World, "owner" | "api" | "limitMs"> {
  readonly node: RealNode;
  readonly driver: CsiDriver;
  /** Prints what happens. */
  readonly note: (text: string) => void;
}

/** Creates a pod with its claim's volume on a real node, and waits until its container runs. */
export async function runNodePod(ground: NodeGround, pod: NewPod): Promise<PodInUse> {
  const { owner, api, limitMs } = ground;
  await api.create(PODS, podObject(ground.node.name, pod));
  let uid = "";
  const check = async (): Promise<void> => {
    const { metadata, status } = parse(seen, await api.get(`${PODS}/${pod.name}`));
    if (status.containerStatuses[0]?.ready !== true) throw new HarnessError(`it is ${status.phase ?? "new"}`);
    uid = metadata.uid;
  };
  await waitUntil(owner, { what: `the start of ${pod.name}`, limitMs, check });
  const use: Use = { ground, pod, uid, target: publishedAt(ground.driver, uid) };
  if (pod.keptBy === undefined) return keptByNothing(use);
  return pod.keptBy === "kubelet" ? keptByKubelet(use) : keptByDriver(use);
}

/** The name of a claim's volume, which is also its handle. */
export function nodeVolumeOf(claim: string): string {
  return `pv-${claim}`;
}

function podObject(node: string, { name, claim, keptBy }: NewPod): object {
  const line = keptBy === "kubelet" ? LINES.deaf : LINES.obedient;
  const main = { name: "main", image: WORKLOAD_IMAGE, command: ["/bin/sh", "-c", line] };
  return {
    metadata: { name },
    spec: {
      nodeSelector: { "kubernetes.io/hostname": node },
      automountServiceAccountToken: false,
      restartPolicy: "Never",
      containers: [{ ...main, volumeMounts: [{ name: "data", mountPath: "/data" }] }],
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: claim } }],
    },
  };
}

/** A pod, and where its volume is mounted on the node. */
interface Use {
  readonly ground: NodeGround;
  readonly pod: NewPod;
  readonly uid: string;
  readonly target: string;
}

function keptByNothing(use: Use): PodInUse {
  return {
    forceDelete: async () => {
      use.ground.note(`kubectl -n ${NAMESPACE} delete pod ${use.pod.name} --force`);
      await use.ground.api.remove(`${PODS}/${use.pod.name}`);
    },
    isWriting: () => isWriting(use),
    unmount: () => endOf(use),
  };
}

/** The kubelet hangs, like one with a hanging disk; the container runs on. */
function keptByKubelet(use: Use): PodInUse {
  const { node, note } = use.ground;
  const plain = keptByNothing(use);
  return {
    ...plain,
    forceDelete: async () => {
      node.kubelet.freeze();
      note(`the kubelet of ${node.name} hangs (SIGSTOP)`);
      await plain.forceDelete();
    },
    unmount: async () => {
      node.kubelet.thaw();
      note("the kubelet goes on; the container ignores SIGTERM and is killed");
      return await plain.unmount();
    },
  };
}

/** The driver's unmount is delayed right before it would happen. */
function keptByDriver(use: Use): PodInUse {
  const { driver, note } = use.ground;
  const plain = keptByNothing(use);
  const held: FaultHandle[] = [];
  return {
    ...plain,
    forceDelete: async () => {
      const volume = nodeVolumeOf(use.pod.claim);
      const fault = driver.misbehave({ call: "NodeUnpublishVolume", volume, effect: { kind: "hang" } });
      held.push(fault);
      await plain.forceDelete();
      await driver.until("the unmount", (line) => line.kind === "fault-met" && line.fault === fault.id);
      note("its container has ended, its driver is slow to unmount");
    },
    unmount: async () => {
      for (const fault of held.splice(0)) fault.release();
      return await plain.unmount();
    },
  };
}

/** Whether the container still writes: twenty times its interval is enough to see a write. */
async function isWriting({ ground: { owner, node }, target }: Use): Promise<boolean> {
  const begunAtMs = owner.clock.wallMs();
  const check = async (): Promise<void> => {
    if (statSync(node.path(`${target}/beat`)).mtimeMs <= begunAtMs) throw new HarnessError("nothing was written");
  };
  return await waitUntil(owner, { what: "a write", limitMs: BEAT_LIMIT_MS, check }).then(
    () => true,
    () => false,
  );
}

/** Waits until the driver has unmounted it, and returns the time from the driver's own record. */
async function endOf({ ground: { owner, driver, limitMs }, pod, uid }: Use): Promise<Moment> {
  let moment: Moment | undefined;
  const check = async (): Promise<void> => {
    const umount = operationFor(driver, uid, { operation: "umount", call: "NodeUnpublishVolume" });
    if (umount?.ended === undefined) throw new HarnessError("the driver's record does not show it");
    moment = { notBeforeMs: umount.began.wallMs, notAfterMs: umount.ended.wallMs };
  };
  await waitUntil(owner, { what: `the unmount of ${pod.name}`, limitMs, everyMs: 10, check });
  if (moment === undefined) throw new Error("unreachable: waitUntil returns only after a check that set it");
  return moment;
}

function publishedAt(driver: CsiDriver, uid: string): string {
  const mount = operationFor(driver, uid, { operation: "mount", call: "NodePublishVolume" });
  if (mount === undefined) throw new HarnessError(`the driver's record shows no mount for the pod ${uid}`);
  return mount.target;
}

/** The driver's successful calls for a pod; each mount point of a pod contains its UID. */
function operationFor(
  driver: CsiDriver,
  uid: string,
  { operation, call }: Pick<MountOperation, "operation" | "call">,
): MountOperation | undefined {
  return driver
    .operations()
    .find(
      (one) => one.operation === operation && one.call === call && one.target.includes(uid) && one.error === undefined,
    );
}
