import { HarnessError } from "../../process/errors.ts";
import { DRIVERS, type NodeName } from "../scenarios/stage.ts";
import type { Told } from "./event-log.ts";
import type { PodState } from "./pod-log.ts";
import { type AffinityStage, copyFolder, makeLocal, untilPod } from "./stage.ts";
import { REASON } from "./verdict.ts";
import { hostname, makeReachable, moveVolume, SLOW_DRIVER } from "./volumes.ts";
import { bind, makeReplicaSet, makeStatefulSet, placeFirst, STALE_SCHEDULER } from "./workloads.ts";

/** A pod whose volume cannot be reached from where the pod is. */
export interface Misplaced {
  readonly uid: string;
  /** What put it there, in a few words. */
  readonly kind: string;
  /** Its label `app`; whoever replaces it keeps it. */
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
}

/** Somebody wrote the node into the first pod of a ReplicaSet. The volume is a folder, which is there as well. */
export async function misplaceLocal(stage: AffinityStage, app: string, { on, home }: Places): Promise<Misplaced> {
  const volume = await makeLocal(stage, app, home);
  await copyFolder(stage, app, on);
  const uid = await placeFirst(stage, { name: app, claim: app }, on);
  return { uid, app, volume, node: on, kind: "local volume, node name set by hand" };
}

/** The same with a CSI volume that is not attached to nodes. */
export async function misplaceCsi(stage: AffinityStage, app: string, { on, home }: Places): Promise<Misplaced> {
  const volume = await makeReachable(stage, app, { driver: DRIVERS.plain, from: hostname(home) });
  const uid = await placeFirst(stage, { name: app, claim: app }, on);
  return { uid, app, volume, node: on, kind: "CSI volume without attachment, node name set by hand" };
}

/** Seven at once, of both kinds: with what else happens on a node, as many as its brake lets go in a minute. */
export function misplaceSeven(stage: AffinityStage, on: NodeName): Promise<readonly Misplaced[]> {
  const home = on === "node-1" ? "node-2" : "node-1";
  const pods = Array.from({ length: 7 }, (_, index) => {
    const misplace = index % 2 === 0 ? misplaceLocal : misplaceCsi;
    return misplace(stage, `batch-${on}-${index}`, { on, home });
  });
  return Promise.all(pods);
}

/** A scheduler that is behind binds the pod of a StatefulSet. */
export async function bindWrongly(stage: AffinityStage, app: string, { on, home }: Places): Promise<Misplaced> {
  const volume = await makeLocal(stage, app, home);
  await makeStatefulSet(stage, { name: app, claim: app, where: { schedulerName: STALE_SCHEDULER } });
  const pod = await untilPod(stage, app, { what: "to be bound", holds: isUnbound });
  await bind(stage, pod, on);
  return { uid: pod.uid, app, volume, node: on, kind: "local volume, bound by a stale scheduler" };
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
    kind: "CSI volume, moved while it was being attached (from the move; heartbeat 5 s)",
  };
}

/** Somebody wrote the node into the template of a ReplicaSet: each of its pods is as wrong as the one before. */
export async function sendAgainAndAgain(
  stage: AffinityStage,
  app: string,
  { on, home }: Places,
): Promise<{ readonly uid: string; readonly pods: () => readonly Misplaced[] }> {
  const volume = await makeLocal(stage, app, home);
  await copyFolder(stage, app, on);
  const uid = await makeReplicaSet(stage, { name: app, claim: app, where: { nodeName: on } });
  const common = { app, volume, node: on, kind: "local volume, node name in the ReplicaSet's template" } as const;
  return { uid, pods: () => stage.pods.ofApp(app).map((pod) => ({ ...common, uid: pod.uid })) };
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

/** Where the kernel told, by the time that is given, of mounts of the pod's volume on its node. Wall clock, milliseconds. */
export function mountsBefore(
  { mounts }: AffinityStage,
  { uid, volume, node }: Misplaced,
  ms: number,
): readonly string[] {
  return mounts(node).flatMap((line) => {
    const isMount = line.kind === "attached" || line.kind === "present";
    if (!isMount || line.after.wallMs > ms) return [];
    return line.mountPoint.includes(uid) && line.mountPoint.includes(volume) ? [line.mountPoint] : [];
  });
}
