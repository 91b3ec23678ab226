import { mkdirSync } from "node:fs";
import { createSystemRandom } from "../../common/runtime/random.ts";
import type { ControlPlane } from "../rig/control-plane/control-plane.ts";
import { freePort } from "../rig/control-plane/ports.ts";
import type { Owner } from "../rig/process/owner.ts";
import { agentAccountOn } from "../rig/stand-in/account-pods.ts";
import { AGGREGATOR_POD } from "../rig/stand-in/aggregator-pod.ts";
import type { ClusterApi } from "../rig/stand-in/cluster-api.ts";
import { createClusterApi } from "../rig/stand-in/cluster-api.ts";
import type { StandInKubelet } from "../rig/stand-in/kubelet.ts";
import { applyManifests } from "../rig/stand-in/mooring.ts";
import { createProgram, type KillableProcess } from "./process.ts";

const NAMESPACE = "mooring";
const REPLICAS = ["aggregator-0", "aggregator-1"] as const;

/** Seconds instead of minutes; the rules are the same. A node stays Stale for ever: it never becomes NoAgent. */
const AGGREGATOR_PACE = ["--leader-elect-lease-duration", "3s", "--node-stale-after", "5s"];
const AGENT_PACE = ["--heartbeat", "1s"];

/** A replica of the aggregator. */
export interface Replica extends KillableProcess {
  /** Its port for reports. */
  readonly port: number;
}

interface Parts {
  readonly plane: ControlPlane;
  readonly api: ClusterApi;
}

/** Creates two replicas of the aggregator with leader election; the caller starts them. */
export async function createAggregators(owner: Owner, { plane, api }: Parts): Promise<readonly Replica[]> {
  await applyManifests(plane);
  const account = { serviceAccount: { namespace: NAMESPACE, name: "mooring-aggregator" } };
  return await Promise.all(
    REPLICAS.map(async (name) => {
      await api.create(`/api/v1/namespaces/${NAMESPACE}/pods`, { metadata: { name }, spec: AGGREGATOR_POD });
      const port = await freePort(createSystemRandom(), "127.0.0.1");
      const args = [
        ["--kubeconfig", await plane.kubeconfigFor(account)],
        ["--api-bind-address", `127.0.0.1:${port}`],
        ["--leader-elect", "--pod-name", name, "--pod-namespace", NAMESPACE],
        AGGREGATOR_PACE,
      ].flat();
      const health = `http://127.0.0.1:${port}/readyz`;
      return { ...createProgram(owner, { name, program: "aggregator", args, health }), port };
    }),
  );
}

/** Creates the agent of a node; the caller starts it. */
export async function createAgent(
  owner: Owner,
  plane: ControlPlane,
  { kubelet, aggregatorUrl }: { readonly kubelet: StandInKubelet; readonly aggregatorUrl: string },
): Promise<KillableProcess> {
  const random = createSystemRandom();
  const account = await agentAccountOn(createClusterApi(plane.api), kubelet.node, random.id().slice(0, 8));
  const port = await freePort(random, "127.0.0.1");
  // On a real node an init container creates it.
  const journal = `${owner.folder}/${kubelet.node}/journal`;
  mkdirSync(journal, { recursive: true });
  const args = [
    ["--kubeconfig", await plane.kubeconfigFor(account)],
    ["--node", kubelet.node],
    ["--pod-uid", kubelet.agentPodUid],
    ["--aggregator-url", aggregatorUrl],
    ["--mountinfo", kubelet.namespace.mountInfo],
    ["--metrics-bind-address", `127.0.0.1:${port}`, "--debug-bind-address", "127.0.0.1:0"],
    AGENT_PACE,
    ["--journal-dir", journal],
  ].flat();
  // Liveness, not readiness: an agent without an aggregator still scans.
  const health = `http://127.0.0.1:${port}/livez`;
  return createProgram(owner, { name: `agent-${kubelet.node}`, program: "agent", args, health });
}
