import { HarnessError } from "../../rig/process/errors.ts";
import { DRIVERS, type NodeName } from "../scenarios/stage.ts";
import { useMounts } from "../scenarios/truth.ts";
import type { Told } from "./event-log.ts";
import type { PodState } from "./pod-log.ts";
import { type AffinityStage, copyFolder, joinAnew, untilPod } from "./stage.ts";
import { REASON } from "./verdict.ts";
import { hostname, makeLocal, makeReachable, moveVolume, SLOW_DRIVER } from "./volumes.ts";
import { bind, makeReplicaSet, makeStatefulSet, placeFirst, STALE_SCHEDULER, type Workload } from "./workloads.ts";

/** A pod whose volume cannot be reached from where the pod is. */
export interface Misplaced {
  readonly uid: string;
  /** What put it there, in a few words. */
  readonly kind: string;
  /** Its label `app`; a pod that replaces it keeps it. */
  readonly app: string;
  readonly node: NodeName;
  readonly volume: string;
  /** When the volume was moved, wall clock, milliseconds; nothing where the pod was wrong from the begin. */
  readonly movedMs?: number;
}

/** Where a pod is put, and where its volume is. */
export interface Places {
  readonly on: NodeName;
  readonly home: NodeName;
  /** Nobody binds what replaces it: one pod, and not the start of another one, is what the machine has to do. */
  readonly isAlone?: boolean;
}

/** Somebody wrote the node into the first pod of a ReplicaSet. The volume is a folder, which is there as well. */
export async function misplaceLocal(stage: AffinityStage, app: string, places: Places): Promise<Misplaced> {
  const { on, home } = places;
  const volume = await makeLocal(stage, app, home);
  await copyFolder(stage, app, on);
  const uid = await placeFirst(stage, { name: app, claim: app, where: whereOf(places) }, on);
  return { uid, app, volume, node: on, kind: "local volume, node name set by hand" };
}

/** The same; a second volume of it is right there, and mounted. */
export async function misplaceHalf(
  stage: AffinityStage,
  app: string,
  { on, home }: Places,
): Promise<{ readonly pod: Misplaced; readonly right: Use }> {
  const [volume, other] = [await makeLocal(stage, app, home), await makeLocal(stage, `right-of-${app}`, on)];
  const uid = await placeFirst(stage, { name: app, claim: app, other: `right-of-${app}` }, on);
  const pod = { uid, app, volume, node: on, kind: "local volume, node name set by hand" };
  return { pod, right: { uid, volume: other, node: on } };
}

/** The same with a CSI volume that is not attached to nodes. */
export async function misplaceCsi(stage: AffinityStage, app: string, places: Places): Promise<Misplaced> {
  const { on, home } = places;
  const volume = await makeReachable(stage, app, { driver: DRIVERS.plain, from: hostname(home) });
  const uid = await placeFirst(stage, { name: app, claim: app, where: whereOf(places) }, on);
  return { uid, app, volume, node: on, kind: "CSI volume without attachment, node name set by hand" };
}

/** One of many: on either node, of either kind. */
export function misplaceOne(stage: AffinityStage, index: number): Promise<Misplaced> {
  const misplace = index % 4 < 2 ? misplaceLocal : misplaceCsi;
  const [on, home] = index % 2 === 0 ? (["node-1", "node-2"] as const) : (["node-2", "node-1"] as const);
  return misplace(stage, `batch-${index}`, { on, home, isAlone: true });
}

function whereOf({ isAlone = false }: Places): NonNullable<Workload["where"]> {
  return isAlone ? { schedulerName: STALE_SCHEDULER } : {};
}

/** A scheduler that is behind binds the pod of a StatefulSet. */
export async function bindWrongly(stage: AffinityStage, app: string, { on, home }: Places): Promise<Misplaced> {
  const volume = await makeLocal(stage, app, home);
  await makeStatefulSet(stage, { name: app, claim: app, where: { schedulerName: STALE_SCHEDULER } });
  const pod = await untilPod(stage, app, { what: "to be bound", holds: isUnbound });
  await bind(stage, pod, on);
  return { uid: pod.uid, app, volume, node: on, kind: "local volume, bound by a stale scheduler" };
}

/** A pod waits for a node to join, as where an autoscaler makes one for it, and is bound to that by the same scheduler. */
export async function bindAfterJoin(stage: AffinityStage, app: string, { on, home }: Places): Promise<Misplaced> {
  const volume = await makeLocal(stage, app, home);
  await makeStatefulSet(stage, { name: app, claim: app, where: { schedulerName: STALE_SCHEDULER } });
  const pod = await untilPod(stage, app, { what: "to wait for a node", holds: isUnbound });
  await joinAnew(stage, on);
  await bind(stage, pod, on);
  return { uid: pod.uid, app, volume, node: on, kind: "local volume, bound to a node that joined later" };
}

/** The same scheduler has caught up: it binds the next pod of the StatefulSet to where the volume is. */
export async function bindRightly(stage: AffinityStage, { app, uid }: Misplaced, home: NodeName): Promise<void> {
  const next = await untilPod(stage, app, {
    what: "that is made anew",
    holds: (pod) => pod.uid !== uid && isUnbound(pod),
  });
  await bind(stage, next, home);
}

/** The volume is moved while the pod waits for it to be attached, on a node that was right until then. */
export async function moveAway(stage: AffinityStage, app: string, { on, home }: Places): Promise<Misplaced> {
  const volume = await makeReachable(stage, app, { driver: SLOW_DRIVER, from: hostname(on) });
  await makeReplicaSet(stage, { name: app, claim: app });
  const pod = await untilPod(stage, app, { what: `on ${on}`, holds: ({ node }) => node === on });
  await untilAttaching(stage, volume);
  const movedMs = stage.owner.clock.wallMs();
  await moveVolume(stage, volume, hostname(home));
  return {
    uid: pod.uid,
    movedMs,
    app,
    volume,
    node: on,
    kind: "CSI volume, moved while it was being attached (from the move; checked each 60 s)",
  };
}

/** Somebody wrote the node into the template of a ReplicaSet: each of its pods is as wrong as the one before. */
export async function sendAgainAndAgain(
  stage: AffinityStage,
  app: string,
  { on, home }: Places,
): Promise<{ readonly uid: string; readonly pods: () => readonly (Misplaced & Pick<PodState, "phase">)[] }> {
  const volume = await makeLocal(stage, app, home);
  await copyFolder(stage, app, on);
  const uid = await makeReplicaSet(stage, { name: app, claim: app, where: { nodeName: on } });
  const common = { app, volume, node: on, kind: "local volume, node name in the ReplicaSet's template" } as const;
  // A kubelet that takes a rejection back for a moment has the ReplicaSet delete one that it had made meanwhile.
  const present = (): readonly PodState[] =>
    stage.pods.ofApp(app).filter(({ isGone, isDeleting }) => !isGone && !isDeleting);
  return { uid, pods: () => present().map((pod) => ({ ...common, uid: pod.uid, phase: pod.phase })) };
}

async function untilAttaching({ api, until }: AffinityStage, volume: string): Promise<void> {
  await until(`the attachment of ${volume}`, async () => {
    const text = JSON.stringify(await api.get("/apis/storage.k8s.io/v1/volumeattachments"));
    if (!text.includes(`"persistentVolumeName":"${volume}"`)) throw new HarnessError("nobody has asked for it");
  });
}

function isUnbound({ node, isGone }: PodState): boolean {
  return node === "" && !isGone;
}

/** Waits until Mooring has told of the object with this UID in these words; answers the event. */
export async function untilTold(
  stage: AffinityStage,
  uid: string,
  { action, limitMs }: { readonly action: Action; readonly limitMs?: number },
): Promise<Told> {
  let found: Told | undefined;
  const check = (): void => {
    const told = stage.events.on(uid);
    found = told.find((one) => one.reason.startsWith(REASON) && one.action === action);
    if (found === undefined) throw new HarnessError(`there are ${told.map(({ note }) => note).join("; ") || "none"}`);
  };
  await stage.until(`an event ${action}`, check, limitMs);
  if (found === undefined) throw new HarnessError(`there is no event ${action}`);
  return found;
}

/** What Mooring's events say was done. */
export type Action = "Rejected" | "WouldReject" | "Waiting" | "Running" | "BackingOff";

/** Removes the object of a pod that is over. */
export async function removePod({ api, pods }: AffinityStage, { uid }: Pick<Misplaced, "uid">): Promise<void> {
  const name = pods.states(uid)[0]?.name;
  if (name === undefined) throw new HarnessError(`there is no pod ${uid}`);
  await api.remove(`/api/v1/namespaces/default/pods/${name}`);
}

/** A volume of a pod on its node. */
type Use = Pick<Misplaced, "uid" | "volume" | "node">;

/** Where the kernel told, by the time that is given, of mounts of the pod's volume on its node. Wall clock, milliseconds. */
export function mountsBefore({ mounts }: AffinityStage, { uid, volume, node }: Use, ms: number): readonly string[] {
  return mounts(node).flatMap((line) => {
    const isMount = line.kind === "attached" || line.kind === "present";
    if (!isMount || line.after.wallMs > ms) return [];
    return line.mountPoint.includes(uid) && line.mountPoint.includes(volume) ? [line.mountPoint] : [];
  });
}

/** Waits until the kernel has told of mounts of the pod's volume and of the end of each. */
export async function untilUnmounted({ mounts, until }: AffinityStage, { uid, volume, node }: Use): Promise<void> {
  await until(`the unmount of ${volume}`, () => {
    const { left, ended } = useMounts(mounts(node), { podUid: uid, volume });
    if (ended.length === 0 || left.length > 0) throw new HarnessError(`${left.length} left, ${ended.length} ended`);
  });
}
