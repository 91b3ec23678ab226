import { textAt } from "../engine/api/json.ts";
import type { Of } from "./plan.ts";
import { NODE_LABEL } from "./world/controllers.ts";
import { imageName } from "./world/judge.ts";
import type { LocalKubelet } from "./world/kubelet.ts";
import type { ProvisionerNode } from "./world/node.ts";
import type { ProvisionerWorld } from "./world/world.ts";

type DiskAction = Of<"fill-disk" | "kill" | "power-cut" | "reboot" | "pool-away" | "older-disk" | "node-rebuilt">;
type TemporaryFault = Of<
  "kubelet-hangs" | "private-copies" | "update" | "keeper-slow" | "keeper-lost" | "step-clock" | "node-deleted"
>;

/** The longest time for slow requests: two to the keeper, or some to the API server. Milliseconds. */
export const SLOW_MS = 150_000;

/** Acts on a node. */
export function onNode(world: ProvisionerWorld, action: DiskAction | TemporaryFault): void {
  const index = action.index % world.nodes.length;
  const [node, kubelet] = [world.nodes[index], world.kubelets[index]];
  if (node === undefined || kubelet === undefined) return;
  switch (action.kind) {
    case "fill-disk": {
      const disk = node.disks[action.index % node.disks.length];
      if (disk === undefined) break;
      disk.otherBytes = Math.floor((disk.freeBytes + disk.otherBytes) * action.share);
      disk.filledMs = world.now;
      break;
    }
    case "kill":
      node.processes.get(`${action.role}-${node.name}`)?.crash();
      break;
    case "power-cut":
    case "reboot":
      offFor(world, node, { ms: action.ms, isClean: action.kind === "reboot", meanwhile: () => {} });
      break;
    case "pool-away":
      node.isAway.add("one");
      offFor(world, node, { ms: 500, isClean: true, meanwhile: () => {} });
      world.engine.scheduler.after(action.ms, () => bringBack(world, node));
      break;
    case "older-disk":
      olderDisk(world, node, action.ms);
      break;
    case "node-rebuilt":
      offFor(world, node, { ms: action.ms, isClean: true, meanwhile: () => wipe(world, node) });
      break;
    default:
      startTemporary(world, action, { node, kubelet });
  }
}

function startTemporary(
  world: ProvisionerWorld,
  action: TemporaryFault,
  { node, kubelet }: { readonly node: ProvisionerNode; readonly kubelet: LocalKubelet },
): void {
  const end = endOf(world, action, { node, kubelet });
  if (end !== undefined) world.engine.scheduler.after(action.ms, end);
}

/** Starts the fault, and returns a function that ends it. */
function endOf(
  world: ProvisionerWorld,
  action: TemporaryFault,
  { node, kubelet }: { readonly node: ProvisionerNode; readonly kubelet: LocalKubelet },
): (() => void) | undefined {
  switch (action.kind) {
    case "kubelet-hangs":
      kubelet.hangsUntilMs = world.now + action.ms;
      return undefined;
    case "private-copies":
      kubelet.copiesMounts = true;
      return () => {
        kubelet.copiesMounts = false;
      };
    case "update":
      if (!node.machine.isUp() || node.processes.has(`provisioner-${node.name}-new`)) return undefined;
      node.startProvisioner("-new");
      return () => node.dismiss("-new");
    case "keeper-slow":
    case "keeper-lost":
      world.graceMs = SLOW_MS;
      node.fault = action.kind === "keeper-slow" ? "slow" : "lost";
      return () => {
        node.fault = "none";
      };
    case "step-clock":
      node.machine.stepWall(action.ms);
      return undefined;
    case "node-deleted":
      world.engine.api.delete({ resource: "nodes", name: node.name });
      collect(world, node.name);
      return () => comesBack(world, node);
    default:
      return undefined;
  }
}

function offFor(
  world: ProvisionerWorld,
  node: ProvisionerNode,
  { ms, isClean, meanwhile }: { readonly ms: number; readonly isClean: boolean; readonly meanwhile: () => void },
): void {
  if (!node.machine.isUp()) return;
  node.powerOff(isClean);
  world.judge.count(isClean ? "reboots" : "power cuts");
  meanwhile();
  world.engine.scheduler.after(ms, () => {
    node.powerOn();
    world.syncAll();
  });
}

export function bringBack(world: ProvisionerWorld, node: ProvisionerNode): void {
  if (node.isAway.size === 0) return;
  node.isAway.clear();
  if (node.machine.isUp()) offFor(world, node, { ms: 500, isClean: true, meanwhile: () => {} });
}

export function comesBack(world: ProvisionerWorld, node: ProvisionerNode): void {
  if (world.engine.api.get({ resource: "nodes", name: node.name }) === undefined) world.makeNode(node.name);
}

/** The garbage collector: objects that the Node owned go with it. */
function collect({ engine: { api } }: ProvisionerWorld, name: string): void {
  for (const one of api.list("csistoragecapacities"))
    if (textAt(one.metadata.labels, NODE_LABEL) === name)
      api.delete({ resource: "csistoragecapacities", namespace: "mooring", name: one.metadata.name });
}

function excuse(world: ProvisionerWorld, node: ProvisionerNode): void {
  for (const volume of world.engine.api.list("persistentvolumes"))
    if (textAt(volume.metadata.labels, NODE_LABEL) === node.name) world.judge.excuse(volume.metadata.name);
  for (const disk of node.disks)
    for (const pool of ["one", "two"])
      for (const name of disk.folder(pool).names.keys()) world.judge.excuse(imageName(name)?.volume ?? "");
}

function wipe(world: ProvisionerWorld, node: ProvisionerNode): void {
  excuse(world, node);
  for (const disk of node.disks) disk.wipe();
}

/** Takes a copy of the disk now, and restores it later. */
function olderDisk(world: ProvisionerWorld, node: ProvisionerNode, ms: number): void {
  const back = node.disks.map((disk) => disk.copy());
  world.engine.scheduler.after(ms, () =>
    offFor(world, node, {
      ms: 1_000,
      isClean: true,
      meanwhile: () => {
        excuse(world, node);
        for (const put of back) put();
        excuse(world, node);
      },
    }),
  );
}
