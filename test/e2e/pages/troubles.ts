import { claimObject, STORAGE_PATHS, volumeObject } from "../../rig/csi/objects.ts";
import { WORKLOAD_IMAGE } from "../../rig/node/workload.ts";
import { HarnessError } from "../../rig/process/errors.ts";
import type { Owner } from "../../rig/process/owner.ts";
import { setAgents } from "../affinity/stage.ts";
import { apply, kubectl } from "../kubectl.ts";
import { agentOn } from "../scenarios/failures/mooring.ts";
import { DRIVERS, NODES, openStage, type Stage } from "../scenarios/stage.ts";

/** Where the claims and pods of the pages are. */
export const SHOP = "shop";
/** The node whose reports do not arrive, and the one on which everything else happens. */
export const [SILENT, WORKER] = NODES;

/** A cluster in every trouble that a page of docs/troubleshooting is about. */
export interface Troubles extends Stage {
  /** One of the pods that were rejected. */
  readonly rejected: string;
}

/** Opens a stage and makes the troubles; a node counts as silent a minute and a half later. */
export async function makeTroubles(owner: Owner): Promise<Troubles> {
  const stage = await openStage(owner);
  await setAgents(stage, "MOORING_AFFINITY=enforce");
  await apply(stage.cluster, { apiVersion: "v1", kind: "Namespace", metadata: { name: SHOP } });
  await Promise.all(["orders", "left", "reports"].map((name) => makeShopClaim(stage, name)));
  await makeShopClaim(stage, "web", [SILENT]);
  await runPods(stage, { orders: WORKER, left: WORKER, reports: SILENT });

  await cutReports(stage);
  await leaveMount(stage);
  await kubectl(stage.cluster, "delete", "pod", "orders", `--namespace=${SHOP}`, "--wait=false");
  return { ...stage, rejected: await rejectPods(stage) };
}

/** A claim of the shop and its volume `pv-<name>`, of a driver that says when it unmounts. */
async function makeShopClaim({ api }: Stage, name: string, nodes?: readonly string[]): Promise<void> {
  const names = { name: `pv-${name}`, driver: DRIVERS.plain, claim: { namespace: SHOP, name } };
  await api.create(STORAGE_PATHS.volumes, volumeObject({ ...names, ...(nodes && { nodes }) }));
  await api.create(STORAGE_PATHS.claims(SHOP), claimObject({ name, volume: names.name }));
}

/** What a pod on a node consists of that uses a claim; no scheduler is asked. */
function podOf(claim: string, nodeName: string): object {
  const main = { name: "main", image: WORKLOAD_IMAGE, command: ["sleep", "infinity"] };
  return {
    nodeName,
    terminationGracePeriodSeconds: 0,
    containers: [{ ...main, volumeMounts: [{ name: "data", mountPath: "/data" }] }],
    volumes: [{ name: "data", persistentVolumeClaim: { claimName: claim } }],
  };
}

async function runPods(stage: Stage, nodes: Readonly<Record<string, string>>): Promise<void> {
  const pods = Object.entries(nodes).map(([name, node]) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: SHOP },
    spec: podOf(name, node),
  }));
  await apply(stage.cluster, ...pods);
  for (const claim of Object.keys(nodes)) await untilMounted(stage, claim);
}

async function untilMounted({ cluster, until }: Stage, claim: string): Promise<void> {
  const reason = '{.status.conditions[?(@.type=="mooring.dev/Unused")].reason}';
  await until(`the mount of ${claim}`, async () => {
    const said = await kubectl(cluster, "get", "pvc", claim, `--namespace=${SHOP}`, `--output=jsonpath=${reason}`);
    if (said !== "Mounted") throw new HarnessError(`it is ${said || "nothing"}`);
  });
}

/** The network takes what the agent of the silent node sends to the aggregator, as a NetworkPolicy does that was written wrongly. */
async function cutReports(stage: Stage): Promise<void> {
  const { name } = await agentOn(stage, SILENT);
  const address = await kubectl(
    stage.cluster,
    ...["get", "pod", name, "--namespace=mooring-agents", "--output=jsonpath={.status.podIP}"],
  );
  const nft = (...words: readonly string[]): Promise<string> => stage.node(SILENT).run("nft", words.join(" "));
  await nft("add table inet cut");
  await nft("add chain inet cut way { type filter hook forward priority -300 ; }");
  await nft(`add rule inet cut way ip saddr ${address} tcp dport 8443 drop`);
}

/** The driver does not unmount what a pod had that is deleted by force. */
async function leaveMount(stage: Stage): Promise<void> {
  stage
    .driver("plain", WORKER)
    .misbehave({ call: "NodeUnpublishVolume", volume: "pv-left", effect: { kind: "fail", code: "UNAVAILABLE" } });
  await kubectl(stage.cluster, "delete", "pod", "left", `--namespace=${SHOP}`, "--grace-period=0", "--force");
}

/** Pods come again and again to a node that their volume excludes; answers the name of the first that was rejected. */
async function rejectPods({ cluster, until }: Stage): Promise<string> {
  const labels = { app: "web" };
  const template = { metadata: { labels }, spec: podOf("web", WORKER) };
  const spec = { replicas: 1, selector: { matchLabels: labels }, template };
  await apply(cluster, { apiVersion: "apps/v1", kind: "ReplicaSet", metadata: { name: "web", namespace: SHOP }, spec });
  let name = "";
  await until("a rejected pod", async () => {
    const failed = ["get", "pods", `--namespace=${SHOP}`, "--field-selector=status.phase=Failed"];
    name = await kubectl(cluster, ...failed, "--output=jsonpath={.items[0].metadata.name}");
    if (name === "") throw new HarnessError("there is none");
  });
  return name;
}
