import type { Step } from "../plan/step.ts";
import type { SimNode } from "./sim-node.ts";
import type { World } from "./world.ts";

/** After a snapshot was restored, an agent notices that within this time. Milliseconds. */
const PUT_BACK_MS = 10_000;

type StepOf<K extends Step["kind"]> = Extract<Step, { kind: K }>;

/** Faults of machines, their kubelets and their API objects. False for any other step. */
export function actOnNodes(world: World, step: Step): boolean {
  switch (step.kind) {
    case "freeze-kubelet":
      return freeze(world, step);
    case "power-cut":
      return cutPower(world, step);
    case "put-back":
      world.node(step.node).putBack(step);
      world.health.noteFault(`agent-${world.node(step.node).name}`, PUT_BACK_MS);
      return true;
    case "suspend-node":
      return suspend(world, step);
    case "cut-off-node":
      return cutOff(world, step);
    case "delete-node":
      return deleteNode(world, step);
    case "out-of-service":
      return giveUp(world, step);
    case "step-clock":
      machineOf(world, step.node).stepWall(step.byMs);
      return true;
    case "drift-clock":
      machineOf(world, step.node).drift(step.ppm);
      return true;
    default:
      return false;
  }
}

function machineOf(world: World, index: number): World["control"] {
  return index < 0 ? world.control : world.node(index).machine;
}

/** This is no fault for Mooring: mounts stay, and the agent sees them. */
function freeze(world: World, { node: index, forMs }: StepOf<"freeze-kubelet">): true {
  const node = world.node(index);
  node.power.freeze();
  world.windows.begin(forMs, () => node.thaw());
  return true;
}

function cutPower(world: World, { node: index, forMs, lostWrites }: StepOf<"power-cut">): true {
  const node = world.node(index);
  node.cutPower(lostWrites);
  world.windows.begin(forMs, () => node.boot());
  return true;
}

function suspend(world: World, { node: index, forMs }: StepOf<"suspend-node">): true {
  const node = world.node(index);
  if (node.machine.isSuspended() || !node.power.isOn) return true;
  node.suspend();
  world.windows.begin(forMs, () => node.resume());
  return true;
}

function cutOff(world: World, { node: index, forMs }: StepOf<"cut-off-node">): true {
  const { name, kubelet } = world.node(index);
  const active = { kind: "cut-off", from: name, to: "both", probability: 1 } as const;
  world.injector.begin(active);
  world.cluster.cutOff.add(name);
  world.windows.begin(forMs, () => {
    world.injector.end(active);
    world.cluster.cutOff.delete(name);
    kubelet.sync();
  });
  return true;
}

function deleteNode(world: World, { node: index, forMs }: StepOf<"delete-node">): true {
  const node = world.node(index);
  world.deleteNode(node);
  world.noteDeclaredGone(node.name, forMs);
  world.windows.begin(forMs, () => registerAgain(world, node));
  return true;
}

/** A running kubelet creates its Node object again when it restarts. */
function registerAgain({ cluster }: World, node: SimNode): void {
  if (node.power.isOn) cluster.register(node.name, node.machine.bootId());
}

/** The machine is off, or an administrator only believes so: its kubelet hangs and its pods run on. */
function giveUp(world: World, { node: index, forMs, isOff }: StepOf<"out-of-service">): true {
  const node = world.node(index);
  const { cluster } = world;
  if (isOff) node.cutPower(1);
  else node.power.freeze();
  cluster.statuses.set(node.name, node.machine.bootId(), "Unknown");
  cluster.taint(node.name, true);
  world.outOfService.add(node.name);
  world.noteDeclaredGone(node.name, forMs);
  world.collectPods(node.name, 1_000, () => world.outOfService.has(node.name));
  world.windows.begin(forMs, () => {
    world.outOfService.delete(node.name);
    cluster.taint(node.name, false);
    if (isOff) {
      node.boot();
      return;
    }
    node.thaw();
    cluster.statuses.set(node.name, node.machine.bootId(), "True");
  });
  return true;
}
