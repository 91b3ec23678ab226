import { type ControlPlane, startControlPlane } from "../rig/control-plane/control-plane.ts";
import type { Part } from "../rig/control-plane/part.ts";
import type { Owner } from "../rig/process/owner.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { createClusterApi } from "../rig/stand-in/cluster-api.ts";
import { makeClaims, NAMESPACE, NODES } from "./claims.ts";
import { followStore, READABLE } from "./etcd-log.ts";
import { Leadership } from "./leadership.ts";
import { ClaimLog } from "./log.ts";
import { createAgent, createAggregators, type Replica } from "./mooring.ts";
import { CrashNode } from "./node.ts";
import { type KillableProcess, UptimeLog } from "./process.ts";
import type { Uptimes, Victim } from "./record.ts";
import { createRetryingCall } from "./retrying-api.ts";
import { startLeaderService } from "./service.ts";

const START_LIMIT_MS = 60_000;

/** The setup of a campaign: a real API server, two nodes, and Mooring. Everything can be killed. */
export interface CrashWorld {
  readonly nodes: readonly CrashNode[];
  readonly log: ClaimLog;
  readonly processes: readonly KillableProcess[];
  readonly leadership: Leadership;
  /** The present process of a role. */
  readonly findVictim: (victim: Victim) => KillableProcess | undefined;
  readonly uptimes: () => Uptimes;
}

/** Starts everything, and waits until every claim has a status and all processes are up. */
export async function openCrashWorld(owner: Owner): Promise<CrashWorld> {
  const plane = await startControlPlane(owner, { parts: ["kube-controller-manager"], args: READABLE });
  const call = createRetryingCall(owner, plane.api);
  const parts = { call, api: createClusterApi(call) };
  const log = new ClaimLog();
  const leadership = new Leadership(owner.clock.wallMs);
  await follow(owner, plane, { log, leadership });
  const leases = "/api/v1/namespaces/kube-node-lease";
  const check = async (): Promise<void> => void (await parts.api.get(leases));
  await waitUntil(owner, { what: "the namespace of node leases", limitMs: START_LIMIT_MS, check });
  const nodes = await Promise.all(NODES.map((name) => CrashNode.start(owner, name, parts)));
  const [aggregators] = await Promise.all([
    createAggregators(owner, { plane, api: parts.api }),
    makeClaims(owner, parts.api),
  ]);
  const agents = await startMooring(owner, { plane, nodes, aggregators, leadership });
  const server = killableServer(owner, plane.part("kube-apiserver"));
  return {
    nodes,
    log,
    leadership,
    processes: [...agents, ...aggregators, server],
    findVictim: (victim) => findIn(victim, { agents, aggregators, server, leadership }),
    uptimes: () => ({
      agents: Object.fromEntries(NODES.map((name, index) => [name, agents[index]?.uptimes() ?? []])),
      aggregators: aggregators.flatMap((replica) => replica.uptimes()),
      leaders: leadership.uptimes(),
      apiServer: server.uptimes(),
    }),
  };
}

async function follow(
  owner: Owner,
  plane: ControlPlane,
  { log, leadership }: Pick<CrashWorld, "log" | "leadership">,
): Promise<void> {
  const claims = `/registry/persistentvolumeclaims/${NAMESPACE}/`;
  await followStore(owner, { plane }, { prefix: claims, onEvent: (event) => log.note(event) });
  const pods = "/registry/pods/mooring/";
  await followStore(owner, { plane }, { prefix: pods, onEvent: (event) => leadership.note(event) });
}

interface Starting {
  readonly plane: ControlPlane;
  readonly nodes: readonly CrashNode[];
  readonly aggregators: readonly Replica[];
  readonly leadership: Leadership;
}

async function startMooring(
  owner: Owner,
  { plane, nodes, aggregators, leadership }: Starting,
): Promise<readonly KillableProcess[]> {
  const port = (): number | undefined => aggregators.find(({ name }) => name === leadership.leader)?.port;
  const { url } = await startLeaderService(owner, port);
  const agents = await Promise.all(
    nodes.map(({ kubelet }) => createAgent(owner, plane, { kubelet, aggregatorUrl: url })),
  );
  const all = [...agents, ...aggregators];
  await Promise.all(all.map((target) => target.start()));
  await Promise.all(all.map((target) => target.up()));
  return agents;
}

/** The API server as a killable process. */
function killableServer(owner: Owner, part: Part): KillableProcess {
  const { clock } = owner;
  const log = new UptimeLog(clock.wallMs);
  log.begin();
  return {
    name: part.name,
    isRunning: () => part.pid !== undefined,
    start: async () => {
      await part.start();
      log.begin();
    },
    kill: async () => {
      log.end();
      const atMs = clock.wallMs();
      await part.kill();
      return atMs;
    },
    uptimes: () => log.uptimes(),
    up: async () => {},
  };
}

interface Processes {
  readonly agents: readonly KillableProcess[];
  readonly aggregators: readonly KillableProcess[];
  readonly server: KillableProcess;
  readonly leadership: Leadership;
}

function findIn(victim: Victim, { agents, aggregators, server, leadership }: Processes): KillableProcess | undefined {
  const { leader } = leadership;
  const troupe: Readonly<Record<Victim, KillableProcess | undefined>> = {
    "agent of node-a": agents[0],
    "agent of node-b": agents[1],
    leader: aggregators.find(({ name }) => name === leader),
    // Without a leader there is no standby.
    standby: leader === undefined ? undefined : aggregators.find(({ name }) => name !== leader),
    "kube-apiserver": server,
  };
  return troupe[victim];
}
