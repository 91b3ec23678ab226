import { TOKEN_LENGTH } from "../engine/api/protection.ts";
import type { Step, StepKind } from "../plan/step.ts";
import { actOnApi } from "./api-actions.ts";
import type { ClaimRecord } from "./claims.ts";
import { foreignMounts } from "./kubelet-paths.ts";
import { actOnMooring } from "./mooring-actions.ts";
import { actOnNodes } from "./node-actions.ts";
import type { PodVolume } from "./objects.ts";
import { actOnPlacement } from "./placement-actions.ts";
import type { PodRecord } from "./pods.ts";
import type { SimNode } from "./sim-node.ts";
import type { World } from "./world.ts";

/** Steps that need an API server that is up. */
const NEEDS_API: readonly StepKind[] = [
  ...(["new-pod", "waiting-pod", "delete-pod", "delete-node", "out-of-service"] as const),
  ...(["delete-claim", "force-release", "take-finalizer", "tamper-lease", "forge-binding", "forge-status"] as const),
  ...(["move-volume", "relabel-node", "attach-volume", "pinned-pods"] as const),
];

/** Does what a step says. A step without a target does nothing. */
export function act(world: World, step: Step, number: number): void {
  if (NEEDS_API.includes(step.kind) && !world.engine.api.servers.some(({ isUp }) => isUp)) return;
  if (actOnPods(world, step, number) || actOnClaims(world, step) || actOnNodes(world, step)) return;
  if (actOnApi(world, step) || actOnPlacement(world, step, number)) return;
  actOnMooring(world, step);
}

function actOnPods(world: World, step: Step, number: number): boolean {
  const { pods } = world.cluster;
  switch (step.kind) {
    case "rest":
      return true;
    case "recover":
      world.heal();
      return true;
    case "new-pod": {
      const { pace } = step;
      const volumes = withoutTwins(world, step.volumes);
      pods.create({ name: `pod-${number}`, node: world.node(step.node).name, volumes, pace });
      return true;
    }
    case "pod-ends": {
      const pod = picked(
        pods.there.filter(({ isOver }) => !isOver),
        step.pick,
      );
      if (pod !== undefined) kubeletOf(world, pod)?.exit(pod.uid);
      return true;
    }
    case "delete-pod": {
      const pod = picked(pods.there, step.pick);
      if (pod !== undefined) pods.delete(pod, step.isForced);
      return true;
    }
    case "waiting-pod": {
      const { pace } = step;
      const volumes = withoutTwins(world, step.volumes);
      const pod = pods.create({ name: `pod-${number}`, node: "", volumes, pace });
      schedule(world, { pod, node: world.node(step.node).name, afterMs: step.forMs });
      return true;
    }
    case "unmount-behind":
      unmountBehind(world, step);
      return true;
    case "other-mounts":
      otherMounts(world, world.node(step.node), step.count);
      return true;
    default:
      return false;
  }
}

/** What users do to claims. False for any other step. */
function actOnClaims({ cluster: { claims } }: World, step: Step): boolean {
  switch (step.kind) {
    case "delete-claim": {
      const claim = picked(claims.all, step.pick);
      if (claim !== undefined) claims.delete(claim.name, step.next);
      return true;
    }
    case "force-release": {
      const claim = picked(claims.all, step.pick);
      if (claim !== undefined) claims.setOverride(claim.name, overrideOf(claim, claims.all, step.uid));
      return true;
    }
    case "take-finalizer": {
      const deleting = claims.all.filter(({ isDeleting }) => isDeleting);
      const claim = picked(deleting, step.pick);
      if (claim !== undefined) claims.takeFinalizer(claim.name);
      return true;
    }
    default:
      return false;
  }
}

function overrideOf({ uid }: ClaimRecord, all: readonly ClaimRecord[], whose: "own" | "other" | "short"): string {
  if (whose === "own") return `${uid.slice(0, TOKEN_LENGTH)} lost anyway`;
  if (whose === "short") return uid.slice(0, TOKEN_LENGTH - 1);
  const other = all.find((claim) => claim.uid !== uid)?.uid ?? "00000000";
  return `${other.slice(0, TOKEN_LENGTH)} of another claim`;
}

/** Time between two attempts of the scheduler. Milliseconds. */
const SCHEDULES_MS = 3_000;

interface Scheduling {
  readonly pod: PodRecord;
  readonly node: string;
  readonly afterMs: number;
}

function schedule(world: World, { pod, node, afterMs }: Scheduling): void {
  const { engine, cluster } = world;
  engine.scheduler.after(afterMs, () => {
    if (!pod.isThere) return;
    const isUp = engine.api.servers.some((server) => server.isUp);
    if (isUp && cluster.canSchedule(pod)) cluster.pods.schedule(pod, node);
    else schedule(world, { pod, node, afterMs: SCHEDULES_MS });
  });
}

/**
 * A pod cannot mount two volumes of the same name: they would share a path. A claim that does not exist yet may get a volume of any name.
 */
function withoutTwins({ cluster }: World, volumes: readonly PodVolume[]): readonly PodVolume[] {
  const claims = volumes.flatMap((volume) => (volume.by === "claim" ? [cluster.claims.get(volume.claim)] : []));
  const names = claims.map((claim) => claim?.volume.pv);
  return volumes.filter(
    (volume) => volume.by !== "inline" || !(names.includes(volume.name) || names.includes(undefined)),
  );
}

function picked<T>(list: readonly T[], pick: number): T | undefined {
  return list[pick % Math.max(1, list.length)];
}

function kubeletOf({ nodes }: World, pod: PodRecord): SimNode["kubelet"] | undefined {
  const node = nodes.find(({ name }) => name === pod.node);
  return node?.power.isOn ? node.kubelet : undefined;
}

function unmountBehind(world: World, { pick, againAfterMs }: Extract<Step, { kind: "unmount-behind" }>): void {
  const pod = picked(
    world.cluster.pods.there.filter(({ isOver }) => !isOver),
    pick,
  );
  const kubelet = pod && kubeletOf(world, pod);
  if (pod === undefined || kubelet === undefined) return;
  world.unmountedBehind.add(pod.uid);
  for (const claimUid of kubelet.unmountBehind(pod.uid)) world.unclear.add(claimUid);
  if (againAfterMs !== undefined) world.engine.scheduler.after(againAfterMs, () => kubelet.mountAgain(pod.uid));
}

const CONTAINERS = "/run/containerd/io.containerd.runtime.v2.task/k8s.io";

/** Time between two of these unmounts. Milliseconds. */
const GOES_MS = 350;

/** Mounts of containers come and go, also during a scan. The oldest goes first: it stands before everything that was mounted later. */
function otherMounts({ engine }: World, { table, root }: SimNode, count: number): void {
  for (let index = 0; index < count; index += 1) {
    const point = `${CONTAINERS}/c${table.all.length}-${index}/rootfs`;
    table.mount({ point, fsType: "overlay", source: "overlay" });
    engine.scheduler.after(GOES_MS * (index + 1), () => {
      const oldest = table.all.find((mount) => mount.point.startsWith(`${CONTAINERS}/c`));
      if (oldest !== undefined) table.unmount(oldest.point);
    });
  }
  const [folder] = foreignMounts(root).slice(-1);
  if (folder !== undefined) table.remount(folder.point, count % 2 === 0 ? "ro" : "rw");
}
