import { readdirSync, readFileSync } from "node:fs";
import * as v from "valibot";
import { parseTimestamp } from "../../../../common/storage/timestamp.ts";
import { throughForwardedPort } from "../../../rig/node/forwarded-port.ts";
import { codeOf, HarnessError } from "../../../rig/process/errors.ts";
import { readList } from "../../../rig/stand-in/listed.ts";
import { kubectl } from "../../kubectl.ts";
import { NODES, type NodeName, type Stage } from "../stage.ts";

/** A pod of Mooring's. */
export interface MooringPod {
  readonly namespace: "mooring" | "mooring-agents";
  readonly name: string;
  readonly uid: string;
  readonly node: NodeName;
}

const podList = v.object({
  items: v.array(
    v.object({
      metadata: v.object({ name: v.string(), uid: v.string(), deletionTimestamp: v.optional(v.string()) }),
      spec: v.object({ nodeName: v.optional(v.string()) }),
    }),
  ),
});

/** The agent of a node. */
export async function agentOn(stage: Stage, node: NodeName): Promise<MooringPod> {
  const agents = await podsOf(stage, "mooring-agents");
  return only(
    agents.filter((pod) => pod.node === node),
    `agent on ${node}`,
  );
}

/** The aggregator that Mooring's Service leads to; waits until there is one. */
export async function leadingAggregator(stage: Stage): Promise<MooringPod> {
  let leader: MooringPod | undefined;
  await stage.until("a leader", async () => {
    leader = only(await podsOf(stage, "mooring", "mooring.dev/role=leader"), "leader");
  });
  return found(leader, "leader");
}

/** The node on which no leader is. */
export async function nodeWithoutLeader(stage: Stage): Promise<NodeName> {
  const { node } = await leadingAggregator(stage);
  return found(
    NODES.find((name) => name !== node),
    "other node",
  );
}

/** Kills the program of a pod (SIGKILL) and waits until it is gone; the kubelet starts it again. */
export async function killProgram(stage: Stage, { namespace, name, uid }: MooringPod): Promise<void> {
  const title = namespace === "mooring" ? "mooring-aggregator" : "mooring-agent";
  const pids = readdirSync("/proc").filter((pid) => isProgramOf(pid, { title, uid }));
  const pid = Number(only(pids, `${title} in ${name}`));
  process.kill(pid, "SIGKILL");
  await stage.until(`the end of ${name}`, () => {
    if (isProgramOf(String(pid), { title, uid })) throw new HarnessError("it still runs");
  });
}

/** What an agent says of its readiness, and whether it is ready. */
export async function readinessOf(
  { cluster }: Stage,
  { namespace, name }: MooringPod,
): Promise<{ readonly isReady: boolean; readonly text: string }> {
  const path = `/api/v1/namespaces/${namespace}/pods/${name}:9808/proxy/readyz?verbose`;
  const { status, text } = await cluster.plane.api({ path });
  return { isReady: status === 200, text };
}

/** A pod's metrics, as Prometheus reads them. Throws a HarnessError where it does not answer. */
export async function metricsOf({ cluster }: Stage, { namespace, name }: MooringPod): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/pods/${name}:9808/proxy/metrics`;
  const { status, text } = await cluster.plane.api({ path });
  if (status !== 200) throw new HarnessError(`${name} answers ${status}: ${text.slice(0, 200)}`);
  return text;
}

/** A value of a pod's metrics; nothing where there is no such line. */
export async function metricOf(stage: Stage, pod: MooringPod, metric: string): Promise<number | undefined> {
  return valueIn(await metricsOf(stage, pod), metric);
}

/** The same in metrics that were read. */
export function valueIn(metrics: string, metric: string): number | undefined {
  const line = metrics.split("\n").find((one) => one.startsWith(`${metric} `));
  return line === undefined ? undefined : Number(line.slice(metric.length + 1));
}

/** Waits until an agent that was started has read its node's mount table completely; answers when that was seen, wall clock. */
export async function untilSighted(stage: Stage, agent: () => Promise<MooringPod>): Promise<number> {
  await stage.until("the first complete scan of the agent", async () => {
    const { text } = await readinessOf(stage, await agent());
    if (!text.includes("[+]mount-table ok")) throw new HarnessError(text);
  });
  return stage.owner.clock.wallMs();
}

/** Waits until an agent that was started has had a report accepted; answers when that was seen, wall clock. */
export async function untilReporting(stage: Stage, agent: () => Promise<MooringPod>): Promise<number> {
  await stage.until("the first report of the agent", async () => {
    const { isReady, text } = await readinessOf(stage, await agent());
    if (!isReady) throw new HarnessError(text);
  });
  return stage.owner.clock.wallMs();
}

/** A list of the read API, as the leader answers it. */
export async function listOf({ owner, cluster }: Stage, path: string): Promise<readonly unknown[]> {
  return await throughForwardedPort(owner, cluster, async (url) => {
    const answer = await fetch(`${url}${path}`);
    const text = await answer.text();
    if (!answer.ok) throw new HarnessError(`${path} answers ${answer.status}: ${text.slice(0, 200)}`);
    return readList(text).items;
  });
}

/** Waits until another process than the holder that is named holds the Lease. */
export async function untilLedByAnother(stage: Stage, holder: string): Promise<void> {
  await stage.until("another leader", async () => {
    if ((await leaseHolder(stage)) === holder) throw new HarnessError(`${holder} still holds the Lease`);
  });
}

/** Who holds the aggregators' Lease. */
export async function leaseHolder({ api }: Stage): Promise<string> {
  const lease = await api.get(LEASE);
  return v.parse(v.object({ spec: v.object({ holderIdentity: v.string() }) }), lease).spec.holderIdentity;
}

/**
 * Waits until pods are watched again after all watches broke off, and all that nodes told of the time between is dealt with: a node that
 * is blind before that takes part in it. `goneMs` is when they could still be watched, wall clock.
 */
export async function untilNothingIsOpen(stage: Stage, goneMs: number): Promise<void> {
  await stage.until("pods that are watched", async () => {
    const text = v.parse(watchedBy, await stage.api.get(LEASE)).metadata.annotations["mooring.dev/pod-coverage"];
    const { since, reachedAt, gap } = v.parse(coverage, JSON.parse(text));
    if (Math.max(since, reachedAt) <= goneMs || gap !== undefined) throw new HarnessError(text);
  });
}

const LEASE = "/apis/coordination.k8s.io/v1/namespaces/mooring/leases/mooring-aggregator";
const watchedBy = v.object({
  metadata: v.object({ annotations: v.object({ "mooring.dev/pod-coverage": v.string() }) }),
});
const time = v.pipe(
  v.string(),
  v.transform((text) => parseTimestamp(text) ?? Number.NaN),
  v.finite(),
);
const coverage = v.object({ since: time, reachedAt: time, gap: v.optional(v.unknown()) });

/** Changes environment variables of a workload as an administrator does (`NAME=value`); does not wait for it. */
export async function setVariables(
  { cluster }: Stage,
  { namespace, workload }: { readonly namespace: string; readonly workload: string },
  ...variables: readonly string[]
): Promise<void> {
  await kubectl(cluster, "set", "env", `--namespace=${namespace}`, workload, ...variables);
}

async function podsOf(
  { api }: Stage,
  namespace: MooringPod["namespace"],
  selector = "",
): Promise<readonly MooringPod[]> {
  const list = await api.get(`/api/v1/namespaces/${namespace}/pods?labelSelector=${encodeURIComponent(selector)}`);
  return v.parse(podList, list).items.flatMap(({ metadata: { name, uid, deletionTimestamp }, spec }) => {
    const node = NODES.find((one) => one === spec.nodeName);
    return node === undefined || deletionTimestamp !== undefined ? [] : [{ namespace, name, uid, node }];
  });
}

/** Cgroups of containers are named after their pods. */
function isProgramOf(pid: string, { title, uid }: { readonly title: string; readonly uid: string }): boolean {
  if (!/^\d+$/.test(pid)) return false;
  return textOf(`/proc/${pid}/cmdline`).startsWith(`${title}\0`) && textOf(`/proc/${pid}/cgroup`).includes(uid);
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ESRCH") return "";
    throw error;
  }
}

function only<T>(found: readonly T[], what: string): T {
  const [one, ...more] = found;
  if (one === undefined || more.length > 0) throw new HarnessError(`there are ${found.length} of ${what}`);
  return one;
}

function found<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new HarnessError(`there is no ${what}`);
  return value;
}
