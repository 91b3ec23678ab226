import type { Step } from "../plan/step.ts";
import { RECOVERS_MS, senderOf } from "./api-actions.ts";
import type { ActiveFault } from "./fault-injector.ts";
import { scansOf } from "./health.ts";
import type { Replica } from "./replica.ts";
import { USUAL_READ_MS } from "./sim-node.ts";
import type { World } from "./world.ts";

/** How long the Service takes to follow a change of the leader's label. Milliseconds. */
const SERVICE_MS = 5;
/** After an outage of the API servers, clients reconnect with growing delays. Milliseconds. */
const RESTARTED_MS = 45_000;
/** An agent repeats a bad scan within this time. Milliseconds. */
const READ_MS = 6_000;

type StepOf<K extends Step["kind"]> = Extract<Step, { kind: K }>;

/** Faults of agents and aggregators, and of their connections to each other and to the API server. */
export function actOnMooring(world: World, step: Step): void {
  switch (step.kind) {
    case "crash-agent":
      world.node(step.node).agent?.crash();
      return;
    case "pause-agent":
      pause(world, () => world.node(step.node).agent, step.forMs);
      return;
    case "roll-agent":
      rollAgent(world, step);
      return;
    case "remove-agent":
      removeAgent(world, step);
      return;
    case "damaged-reads":
      world.node(step.node).damage.push(...step.damage);
      world.health.noteFault(scansOf(world.node(step.node).name), READ_MS);
      return;
    case "slow-reads":
      slowReads(world, step);
      return;
    case "disk":
      spoilDisk(world, step);
      return;
    case "crash-aggregator":
      keepDown(world, [replicaOf(world, step.replica)], step);
      return;
    case "pause-aggregator":
      pause(world, () => replicaOf(world, step.replica).process, step.forMs);
      return;
    case "stop-aggregators":
      keepDown(world, world.replicas, step);
      return;
    case "upgrade-all":
      upgradeAll(world);
      return;
    default:
      actOnWays(world, step);
      return;
  }
}

function actOnWays(world: World, step: Step): void {
  const { api } = world.engine;
  switch (step.kind) {
    case "network":
      disturb(world, step);
      return;
    case "restart-api":
      api.restart(step.forMs);
      world.health.noteApiFault(step.forMs + RESTARTED_MS);
      // Also where everything else is healed: this takes its time.
      world.engine.scheduler.after(step.forMs + 1, () => world.syncKubelets());
      return;
    case "compact-api":
      world.health.noteApiFault(RESTARTED_MS);
      api.compact();
      return;
    case "late-copies":
      world.copies.arm();
      world.leader?.process?.stop();
      return;
    case "lagging-watches":
      lag(world, step);
      return;
    case "crash-at":
      world.crashPoints.push({ site: step.site, skip: step.skip });
      return;
    default:
      return;
  }
}

/** Watches deliver late, and so does the Service's watch of the leader's label. */
function lag({ engine, health, windows }: World, { lagMs, forMs }: StepOf<"lagging-watches">): void {
  const { servers } = engine.api;
  for (const server of servers) server.lagMs = () => lagMs;
  engine.serviceLagMs = lagMs;
  health.lag(lagMs, forMs);
  health.noteApiFault(forMs + lagMs + RESTARTED_MS);
  windows.begin(forMs, () => {
    for (const server of servers) server.lagMs = () => 0;
    engine.serviceLagMs = SERVICE_MS;
  });
}

function replicaOf({ replicas }: World, index: number): Replica {
  const replica = replicas[index % replicas.length];
  if (replica === undefined) throw new Error("a world without aggregators");
  return replica;
}

function pause(world: World, present: () => Replica["process"], forMs: number): void {
  const process = present();
  if (process === undefined) return;
  process.pause();
  world.health.down(process.name);
  world.windows.begin(forMs, () => {
    process.resume();
    // One that was replaced meanwhile only ends now, and its successor may be paused itself.
    if (process.state() === "running" && process === present()) world.health.up(process.name);
  });
}

function rollAgent(world: World, { node: index, isSurge }: StepOf<"roll-agent">): void {
  const node = world.node(index);
  if (node.agentPodUid === undefined || node.power.isFrozen) return;
  if (isSurge) {
    node.surgeAgent();
    return;
  }
  node.removeAgent();
  world.windows.begin(2_000, () => node.installAgent());
}

function removeAgent(world: World, { node: index, forMs }: StepOf<"remove-agent">): void {
  const node = world.node(index);
  if (node.agentPodUid === undefined || node.power.isFrozen) return;
  node.removeAgent();
  world.noteNoAgent(node.name, forMs);
  world.windows.begin(forMs, () => node.installAgent());
}

function slowReads(world: World, { node: index, readMs, forMs }: StepOf<"slow-reads">): void {
  const node = world.node(index);
  node.readMs = [readMs, readMs];
  world.health.noteFault(scansOf(node.name), forMs + READ_MS);
  world.windows.begin(forMs, () => {
    node.readMs = USUAL_READ_MS;
  });
}

function spoilDisk(world: World, { node: index, fault, forMs }: StepOf<"disk">): void {
  const { disk } = world.node(index);
  world.health.noteFault(scansOf(world.node(index).name), forMs + READ_MS);
  if (fault === "wiped") disk.wipe();
  if (fault === "older") disk.loseLast(3);
  if (fault === "wiped" || fault === "older") return;
  disk.fault = fault;
  world.windows.begin(forMs, () => {
    // The agent sets a damaged file aside.
    if (fault === "torn") disk.wipe();
    disk.fault = undefined;
  });
}

function keepDown(
  world: World,
  replicas: readonly Replica[],
  { forMs, kind }: { readonly forMs: number; readonly kind: Step["kind"] },
): void {
  for (const replica of replicas) replica.keepDown(kind === "crash-aggregator" ? "crash" : "stop");
  world.windows.begin(forMs, () => {
    for (const replica of replicas) replica.start();
  });
}

/** A rollout as Kubernetes does it for a DaemonSet and a Deployment: one pod after the other. */
function upgradeAll(world: World): void {
  const { scheduler } = world.engine;
  for (const [index, node] of world.nodes.entries()) {
    scheduler.after(index * 1_500, () => {
      if (node.agentPodUid !== undefined && node.power.isOn && !node.power.isFrozen) node.surgeAgent();
    });
  }
  for (const [index, replica] of world.replicas.entries())
    scheduler.after(index * 4_000, () => replica.process?.stop());
}

function disturb(world: World, { fault, from, to, probability, forMs }: StepOf<"network">): void {
  const active: ActiveFault = {
    kind: fault,
    from: senderOf(world, from),
    to,
    probability: fault === "cut-off" ? 1 : probability,
  };
  world.injector.begin(active);
  // A client checks only now and then whether a missing permission is back.
  if (fault === "forbidden-writes") world.health.noteApiFault(forMs + RECOVERS_MS);
  world.windows.begin(forMs, () => world.injector.end(active));
}
