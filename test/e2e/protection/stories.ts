import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { HarnessError } from "../../rig/process/errors.ts";
import { STUBBORN } from "../scenarios/failures/stubborn.ts";
import { deletePod, HOLD, type MadePod, podObject, runPod, untilRunning } from "../scenarios/pods.ts";
import type { NodeName } from "../scenarios/stage.ts";
import { type BoundClaim, boundClaim, keyOf, makeClaim, untilGone, untilKept } from "./claims.ts";
import { CLASS, type ProtectionStage } from "./stage.ts";

const run = promisify(execFile);

/** A pod that uses a claim. */
export interface Use {
  readonly claim: BoundClaim;
  readonly pod: MadePod;
}

/** How a pod is run that writes twenty times a second, whatever it is asked. */
export interface WriterOptions {
  readonly namespace?: string;
  readonly name: string;
  readonly node: NodeName;
}

/** Runs such a pod on a claim of its own. */
export async function runWriter(
  stage: ProtectionStage,
  { namespace = "default", name, node }: WriterOptions,
): Promise<Use> {
  const claim = await makeClaim(stage, { namespace, name });
  const pod = await runPod(stage, { namespace, name, node, claim: name, line: STUBBORN });
  return { claim, pod };
}

/** Lets the driver hang when it is to unmount the volume of a use, until the answer is called: a live kubelet kills within 2 s. */
export function hangUnmount(stage: ProtectionStage, { claim: { volume }, pod }: Use): () => void {
  const hang = { call: "NodeUnpublishVolume", volume, effect: { kind: "hang" } } as const;
  return stage.destroying(pod.node).misbehave(hang).release;
}

/** The same, and the claim is kept from now on. */
export async function runKeptWriter(stage: ProtectionStage, options: WriterOptions): Promise<Use> {
  const use = await runWriter(stage, options);
  await untilKept(stage, use.claim);
  return use;
}

/** Runs a pod on a claim of its own that ends when it is asked to. */
export async function runHolder(
  stage: ProtectionStage,
  { name, node }: { readonly name: string; readonly node: NodeName },
): Promise<Use> {
  const claim = await makeClaim(stage, { name });
  const pod = await runPod(stage, { name, node, claim: name, line: HOLD });
  return { claim, pod };
}

/** Whether the kubelet's log of a writer shows that it could not write. */
export function hasFailedToWrite(stage: ProtectionStage, { pod }: Use): boolean {
  const { namespace = "default", name, uid, node } = pod;
  const log = stage.node(node).path(`/var/log/pods/${namespace}_${name}_${uid}/main-0/0.log`);
  return readFileSync(log, "utf8").includes("No such file or directory");
}

/** What kubectl said, and when it was done. */
export interface KubectlEnd {
  readonly warnings: string;
  readonly endedMs: number;
}

/** Deletes as an administrator does, and waits until kubectl is done. Throws where it fails. */
export async function kubectlDelete(
  { cluster, owner }: ProtectionStage,
  ...what: readonly string[]
): Promise<KubectlEnd> {
  const { stderr } = await run(cluster.kubectl, [`--kubeconfig=${cluster.kubeconfig}`, "delete", ...what]);
  return { warnings: stderr, endedMs: owner.clock.wallMs() };
}

/** Deletes pods together with their claims; answers by how much each claim outlasted the object of its pod, milliseconds of the machine's time. */
export async function deleteTogether(stage: ProtectionStage, uses: readonly Use[]): Promise<readonly number[]> {
  const names = uses.flatMap(({ claim: { name } }) => [`pod/${name}`, `pvc/${name}`]);
  await kubectlDelete(stage, "--wait=false", ...names);
  return await Promise.all(
    uses.map(async ({ claim, pod }) => {
      const goneMs = await untilGone(stage, claim);
      const podGoneMs = podGoneAt(stage, pod);
      return Math.round(goneMs - podGoneMs - stage.starvation(podGoneMs, goneMs));
    }),
  );
}

function podGoneAt(stage: ProtectionStage, { namespace = "default", name, uid }: MadePod): number {
  const gone = stage.pods(`${namespace}/${name}`).find((one) => one.uid === uid && one.value === "gone");
  if (gone === undefined) throw new HarnessError(`${name} is still there`);
  return gone.seenMs;
}

/** Makes a StatefulSet of one pod that writes, whose claim is deleted with it when the set is scaled down. */
export async function makeSet(
  stage: ProtectionStage,
  { name, node }: { readonly name: string; readonly node: NodeName },
): Promise<Use> {
  const labels = { app: name };
  const { spec } = Object.assign({ spec: {} }, podObject({ name, node, line: STUBBORN }));
  const claimSpec = {
    accessModes: ["ReadWriteOnce"],
    storageClassName: CLASS,
    resources: { requests: { storage: "16Mi" } },
  };
  await stage.api.create("/apis/apps/v1/namespaces/default/statefulsets", {
    metadata: { name },
    spec: {
      replicas: 1,
      serviceName: name,
      selector: { matchLabels: labels },
      persistentVolumeClaimRetentionPolicy: { whenScaled: "Delete", whenDeleted: "Delete" },
      volumeClaimTemplates: [{ metadata: { name: "data" }, spec: claimSpec }],
      template: { metadata: { labels }, spec: { ...spec, restartPolicy: "Always", volumes: [] } },
    },
  });
  return await useOfSet(stage, { name, node });
}

/** The use of the set's one pod once it runs; another claim than the one with that UID where it is to be a later one. */
export async function useOfSet(
  stage: ProtectionStage,
  { name, node, after }: { readonly name: string; readonly node: NodeName; readonly after?: string },
): Promise<Use> {
  const namespace = "default";
  const claim = await boundClaim(stage, { namespace, name: `data-${name}-0`, ...(after && { after }) });
  await untilRunning(stage, { name: `${name}-0` });
  const pod = stage.pods(keyOf({ namespace, name: `${name}-0` })).findLast(({ value }) => value !== "gone");
  if (pod === undefined) throw new HarnessError(`there is no ${name}-0`);
  return { claim, pod: { namespace, name: `${name}-0`, uid: pod.uid, node } };
}

/** Scales a StatefulSet. */
export async function scaleSet(stage: ProtectionStage, name: string, replicas: number): Promise<void> {
  await stage.api.patch(`/apis/apps/v1/namespaces/default/statefulsets/${name}`, { spec: { replicas } });
}

/**
 * Has the controller look at a StatefulSet again: it waits for a claim that belongs to a pod that is gone (`PodClaimIsStale`, 1.36), and hears
 * nothing of the end of claims.
 */
export async function touchSet(stage: ProtectionStage, name: string): Promise<void> {
  const annotations = { "mooring.test/touched": "once" };
  await stage.api.patch(`/apis/apps/v1/namespaces/default/statefulsets/${name}`, { metadata: { annotations } });
}

/** Waits until the deletion of a pod was asked for. */
export async function untilDeleting(stage: ProtectionStage, { pod }: Use): Promise<void> {
  const { namespace = "default", name } = pod;
  await stage.until(`the deletion of ${name}`, () => {
    const last = stage.pods(keyOf({ namespace, name })).at(-1);
    if (last?.value !== "deleting") throw new HarnessError(`it is ${last?.value}`);
  });
}

/** Deletes the object of a pod at once; a kubelet that works kills its container 2 s later. */
export async function forceDelete(stage: ProtectionStage, { pod }: Use): Promise<void> {
  await deletePod(stage, pod, 0);
}
