import { globSync, readFileSync } from "node:fs";
import * as v from "valibot";
import { processOfPod } from "../../rig/node/processes.ts";
import { HarnessError } from "../../rig/process/errors.ts";
import { valueIn } from "../scenarios/failures/mooring.ts";
import { NODES, type NodeName } from "../scenarios/stage.ts";
import type { ClassName, ProvisionerStage } from "./stage.ts";

const NAMESPACE = "mooring-provisioner";

const pods = v.object({
  items: v.array(
    v.object({
      metadata: v.object({ name: v.string(), uid: v.string(), deletionTimestamp: v.optional(v.string()) }),
      spec: v.object({ nodeName: v.optional(v.string()) }),
    }),
  ),
});
const capacities = v.object({
  items: v.array(
    v.object({
      storageClassName: v.string(),
      capacity: v.string(),
      nodeTopology: v.object({ matchLabels: v.record(v.string(), v.string()) }),
    }),
  ),
});

/** The pod of the provisioner on a node that is not being deleted; nothing where there is none. */
export async function podOn(
  { api }: ProvisionerStage,
  node: NodeName,
): Promise<{ readonly name: string; readonly uid: string } | undefined> {
  const { items } = v.parse(pods, await api.get(`/api/v1/namespaces/${NAMESPACE}/pods`));
  const [pod, ...more] = items.filter(
    ({ metadata, spec }) => spec.nodeName === node && metadata.deletionTimestamp === undefined,
  );
  if (more.length > 0) throw new HarnessError(`there are ${more.length} more pods on ${node}`);
  return pod?.metadata;
}

/** The pod of the provisioner on a node that is not being deleted. Throws a HarnessError where there is none. */
export async function provisionerOn(
  stage: ProvisionerStage,
  node: NodeName,
): Promise<{ readonly name: string; readonly uid: string }> {
  const pod = await podOn(stage, node);
  if (pod === undefined) throw new HarnessError(`there is no pod on ${node}`);
  return pod;
}

/** Waits until the provisioner with this UID is going or gone. */
export async function untilGoing({ api, until }: ProvisionerStage, uid: string): Promise<void> {
  await until(`the end of provisioner ${uid}`, async () => {
    const { items } = v.parse(pods, await api.get(`/api/v1/namespaces/${NAMESPACE}/pods`));
    const stays = items.some(({ metadata }) => metadata.uid === uid && metadata.deletionTimestamp === undefined);
    if (stays) throw new HarnessError("it is there");
  });
}

/** Kills the program of a container of the provisioner (SIGKILL); the kubelet starts it again. */
export async function killContainer(
  stage: ProvisionerStage,
  node: NodeName,
  container: "provisioner" | "keeper",
): Promise<void> {
  const { uid } = await provisionerOn(stage, node);
  process.kill(processOfPod(uid, `mooring-${container}`), "SIGKILL");
}

/** What the provisioner of a node says of its readiness. */
export async function readinessOf(stage: ProvisionerStage, node: NodeName): Promise<string> {
  return await askProvisioner(stage, node, "readyz?verbose");
}

/** A metric of the provisioner of a node; nothing where there is none of that name. */
export async function metricOf(stage: ProvisionerStage, node: NodeName, metric: string): Promise<number | undefined> {
  return valueIn(await askProvisioner(stage, node, "metrics"), metric);
}

async function askProvisioner(stage: ProvisionerStage, node: NodeName, what: string): Promise<string> {
  const { name } = await provisionerOn(stage, node);
  const path = `/api/v1/namespaces/${NAMESPACE}/pods/${name}:9808/proxy/${what}`;
  return (await stage.cluster.plane.api({ path })).text;
}

/** Waits until the provisioner of a node says something of its readiness. */
export async function untilReadiness(stage: ProvisionerStage, node: NodeName, words: string): Promise<void> {
  await stage.until(`"${words}" by the provisioner of ${node}`, async () => {
    const text = await readinessOf(stage, node);
    if (!text.includes(words)) throw new HarnessError(text);
  });
}

/** The room for a class on a node, as the scheduler is told; nothing without an object. */
export async function roomFor(
  { api }: ProvisionerStage,
  storageClass: ClassName,
  node: NodeName,
): Promise<number | undefined> {
  const path = `/apis/storage.k8s.io/v1/namespaces/${NAMESPACE}/csistoragecapacities`;
  const { items } = v.parse(capacities, await api.get(path));
  const one = items.find(
    ({ storageClassName, nodeTopology }) =>
      storageClassName === storageClass && nodeTopology.matchLabels["kubernetes.io/hostname"] === node,
  );
  return one === undefined ? undefined : bytesIn(one.capacity);
}

function bytesIn(quantity: string): number {
  const [, number = "", unit = ""] = /^(\d+)(Ki|Mi|Gi)?$/.exec(quantity) ?? [];
  if (number === "") throw new HarnessError(`a capacity is ${quantity}`);
  return Number(number) * 1024 ** ["", "Ki", "Mi", "Gi"].indexOf(unit);
}

/** Lines of the provisioners' logs, of both containers and of earlier ones of these pods. */
export function provisionerLogs({ node }: ProvisionerStage): readonly string[] {
  return NODES.flatMap((name) =>
    globSync(`${node(name).path("/var/log/pods")}/${NAMESPACE}_*/*/*.log`).flatMap((file) =>
      readFileSync(file, "utf8").split("\n"),
    ),
  );
}

/** Lines that say that the API server refused something, or that something in the program is wrong. */
export function faultsIn(lines: readonly string[]): readonly string[] {
  return lines.filter((line) => /forbidden|\b403\b|"level":"(?:error|fatal)"|internal error/i.test(line));
}
