import * as v from "valibot";
import type { ApiRequest, KubeClient } from "../../../common/kube/client.ts";
import type { Printer } from "../../demo/print.ts";
import { createFakeKeeper } from "../../fakes/keeper.ts";
import { CLAIMS, GiB, ProvisionerStage } from "../../integration/provisioner-stage.ts";
import { type ApiCall, accepted } from "../../rig/control-plane/api.ts";
import { startControlPlane } from "../../rig/control-plane/control-plane.ts";
import { type Owner, openOwner } from "../../rig/process/owner.ts";
import { waitUntil } from "../../rig/process/wait.ts";
import { forEachIndex } from "../cluster/concurrency.ts";
import { parseExposition, total } from "../exposition.ts";

/** How many provisioners follow one API server, and for how many claims. */
export interface FleetSizes {
  readonly nodes: number;
  readonly claims: number;
}

const WORKERS = 16;
const LIMIT_MS = 600_000;
/** Longer than a provisioner waits before it writes or reads anything by itself. */
const REST_MS = 60_000;
/** The baseline. */
const FEW_NODES = 2;

interface Figures {
  readonly nodes: number;
  /** Requests of all provisioners, by what they ask for. */
  readonly made: ReadonlyMap<string, number>;
  readonly rest: ReadonlyMap<string, number>;
  readonly serverMs: number;
  readonly ownMs: number;
}

/** What claims cost the API server with many nodes, beside the same with two: real API server, scheduler and controllers, nodes without kubelets. */
export async function benchProvisionerFleet(owner: Owner, printer: Printer, sizes: FleetSizes): Promise<void> {
  const few = await measure(owner, { ...sizes, nodes: FEW_NODES });
  const many = await measure(owner, sizes);
  const { claims } = sizes;
  printer.title(`\n${claims} claims made, bound and deleted: requests of all provisioners for one claim`);
  const kinds = [...new Set([...few.made.keys(), ...many.made.keys()])].sort();
  const per = ({ made }: Figures, kind: string): string => ((made.get(kind) ?? 0) / claims).toFixed(2);
  const sum = (counts: ReadonlyMap<string, number>): number => [...counts.values()].reduce((all, one) => all + one, 0);
  printer.table([
    ["REQUEST", `${many.nodes} NODES`, `baseline: ${few.nodes} NODES`],
    ...kinds.map((kind) => [kind, per(many, kind), per(few, kind)]),
    ["all", (sum(many.made) / claims).toFixed(2), (sum(few.made) / claims).toFixed(2)],
  ]);
  printer.title("\nWhat else it takes");
  const row = ({ nodes, serverMs, ownMs, rest }: Figures): readonly string[] => [
    String(nodes),
    `${(serverMs / claims).toFixed(1)} ms`,
    `${(ownMs / claims / nodes).toFixed(2)} ms`,
    `${sum(rest)} (${[...rest].map(([kind, count]) => `${kind} ${count}`).join(", ")})`,
  ];
  printer.table([
    ["NODES", "API SERVER, CPU PER CLAIM", "ONE PROVISIONER, CPU PER CLAIM", `REQUESTS IN ${REST_MS / 1000} s OF REST`],
    row(many),
    [...row(few).with(0, `baseline: ${few.nodes}`)],
  ]);
}

async function measure(parent: Owner, { nodes, claims }: FleetSizes): Promise<Figures> {
  await using owner = await openOwner({ say: parent.say });
  parent.defer(() => owner.close());
  const plane = await startControlPlane(owner, { parts: ["kube-controller-manager", "kube-scheduler"] });
  const stage = new ProvisionerStage(owner, plane);
  const counts = new Map<string, number>();
  const names = Array.from({ length: nodes }, (_, index) => `node-${index}`);
  owner.say(`${nodes} nodes start`);
  await stage.prepare(names);
  await forEachIndex({ count: nodes, workers: WORKERS, signal: owner.signal }, async (index) => {
    const keeper = createFakeKeeper([{ totalBytes: 1_000 * GiB }]);
    await stage.start(names[index] ?? "", keeper, { wrap: (client) => counting(client, counts) });
  });
  await until(owner, "the room of all nodes", async () => (await stage.capacities()).length === nodes);
  const serverMs = await serverCpuMs(plane.api);
  const own = process.cpuUsage();
  const made = await during(owner, counts, () => useAll(owner, stage, claims));
  const { user, system } = process.cpuUsage(own);
  const spentMs = (await serverCpuMs(plane.api)) - serverMs;
  const rest = await during(owner, counts, () => owner.clock.sleep(REST_MS, owner.signal));
  return { nodes, made, rest, serverMs: spentMs, ownMs: (user + system) / 1000 };
}

async function useAll(owner: Owner, stage: ProvisionerStage, claims: number): Promise<void> {
  const each = (work: (name: string) => Promise<unknown>): Promise<void> =>
    forEachIndex({ count: claims, workers: WORKERS, signal: owner.signal }, async (index) => {
      await work(`claim-${index}`);
    });
  owner.say(`${claims} claims`);
  await each((name) => stage.createClaim(name));
  await each((name) => stage.createPod(name));
  await until(owner, "all bound", async () => (await phases(stage)).filter((one) => one === "Bound").length === claims);
  await each((name) => stage.removePod(name));
  await each((name) => stage.api.remove(`${CLAIMS}/${name}`));
  await until(owner, "all volumes gone", async () => (await stage.volumes()).length === 0);
}

const claimList = v.object({ items: v.array(v.object({ status: v.object({ phase: v.string() }) })) });

async function phases(stage: ProvisionerStage): Promise<readonly string[]> {
  return v.parse(claimList, await stage.api.get(CLAIMS)).items.map(({ status }) => status.phase);
}

function until(owner: Owner, what: string, holds: () => Promise<boolean>): Promise<void> {
  const check = async (): Promise<void> => {
    if (!(await holds())) throw new Error("not yet");
  };
  return waitUntil(owner, { what, limitMs: LIMIT_MS, everyMs: 500, check });
}

/** The requests in the meantime. */
async function during(
  owner: Owner,
  counts: Map<string, number>,
  work: () => Promise<void>,
): Promise<ReadonlyMap<string, number>> {
  const before = new Map(counts);
  await work();
  // Events are sent a moment later.
  await owner.clock.sleep(2_000, owner.signal);
  const more = [...counts].map(([kind, count]) => [kind, count - (before.get(kind) ?? 0)] as const);
  return new Map(more.filter(([, count]) => count > 0));
}

function counting(client: KubeClient, counts: Map<string, number>): KubeClient {
  const count = ({ method, path, query }: ApiRequest): void => {
    const verb = query?.watch === undefined ? method : "WATCH";
    const kind = `${verb} ${/\/(?:namespaces\/[^/]+\/)?([a-z]+)(?:\/[^/]+(\/status)?)?$/.exec(path)?.slice(1).join("") ?? path}`;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  };
  return {
    ...client,
    request: (request, signal) => {
      count(request);
      return client.request(request, signal);
    },
    open: (request, signal) => {
      count(request);
      return client.open(request, signal);
    },
  };
}

async function serverCpuMs(api: ApiCall): Promise<number> {
  const text = await accepted(api({ path: "/metrics" }), "GET /metrics");
  return total(parseExposition(text), "process_cpu_seconds_total") * 1000;
}
