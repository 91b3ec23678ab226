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
import { LifeBook, type Mortal } from "./process.ts";
import type { Lives, Victim } from "./record.ts";
import { startLeaderService } from "./service.ts";
import { createSteadyCall } from "./steady-api.ts";

const START_LIMIT_MS = 60_000;

/** Everything that a campaign is waged on: a real API server, two nodes, and Mooring, of which all can be killed. */
export interface CrashWorld {
  readonly nodes: readonly CrashNode[];
  readonly log: ClaimLog;
  readonly mortals: readonly Mortal[];
  readonly leadership: Leadership;
  /** Who that is at the moment. */
  readonly cast: (victim: Victim) => Mortal | undefined;
  readonly lives: () => Lives;
}

/** Starts everything, and waits until every claim is known and all are up. */
export async function openCrashWorld(owner: Owner): Promise<CrashWorld> {
  const plane = await startControlPlane(owner, { parts: ["kube-controller-manager"], args: READABLE });
  const call = createSteadyCall(owner, plane.api);
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
  const server = mortalServer(owner, plane.part("kube-apiserver"));
  return {
    nodes,
    log,
    leadership,
    mortals: [...agents, ...aggregators, server],
    cast: (victim) => castOf(victim, { agents, aggregators, server, leadership }),
    lives: () => ({
      agents: Object.fromEntries(NODES.map((name, index) => [name, agents[index]?.lives() ?? []])),
      aggregators: aggregators.flatMap((replica) => replica.lives()),
      leaders: leadership.lives(),
      apiServer: server.lives(),
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
): Promise<readonly Mortal[]> {
  const port = (): number | undefined => aggregators.find(({ name }) => name === leadership.leader)?.port;
  const { url } = await startLeaderService(owner, port);
  const agents = await Promise.all(
    nodes.map(({ kubelet }) => createAgent(owner, plane, { kubelet, aggregatorUrl: url })),
  );
  const all = [...agents, ...aggregators];
  await Promise.all(all.map((mortal) => mortal.start()));
  await Promise.all(all.map((mortal) => mortal.up()));
  return agents;
}

/** The API server as one of those that die. */
function mortalServer(owner: Owner, part: Part): Mortal {
  const { clock } = owner;
  const book = new LifeBook(clock.wallMs);
  book.begin();
  return {
    name: part.name,
    isRunning: () => part.pid !== undefined,
    start: async () => {
      await part.start();
      book.begin();
    },
    kill: async () => {
      book.end();
      const atMs = clock.wallMs();
      await part.kill();
      return atMs;
    },
    lives: () => book.lives(),
    up: async () => {},
  };
}

interface Troupe {
  readonly agents: readonly Mortal[];
  readonly aggregators: readonly Mortal[];
  readonly server: Mortal;
  readonly leadership: Leadership;
}

function castOf(victim: Victim, { agents, aggregators, server, leadership }: Troupe): Mortal | undefined {
  const { leader } = leadership;
  const troupe: Readonly<Record<Victim, Mortal | undefined>> = {
    "agent of node-a": agents[0],
    "agent of node-b": agents[1],
    leader: aggregators.find(({ name }) => name === leader),
    // As long as nobody leads, nobody stands by.
    standby: leader === undefined ? undefined : aggregators.find(({ name }) => name !== leader),
    "kube-apiserver": server,
  };
  return troupe[victim];
}
