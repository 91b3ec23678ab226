import { join } from "node:path";
import * as v from "valibot";
import { accepted } from "../../rig/control-plane/api.ts";
import { WORKLOAD_IMAGE } from "../../rig/node/workload.ts";
import { HarnessError } from "../../rig/process/errors.ts";
import { kubectl } from "../kubectl.ts";
import { HOLD } from "../scenarios/pods.ts";
import { NODES, type NodeName } from "../scenarios/stage.ts";
import { type ClaimTerms, type MadeClaim, makeClaim, untilBound } from "./claims.ts";
import type { ProvisionerStage } from "./stage.ts";

const PODS = "/api/v1/namespaces/default/pods";

/** A pod with a claim's volume at `/data`, or as `/dev/data`. */
export interface PodTerms {
  readonly name: string;
  readonly claim: string;
  /** The scheduler chooses unless told. */
  readonly node?: NodeName;
  /** A line of shell; `HOLD` unless told. */
  readonly line?: string;
  readonly isBlock?: boolean;
  /** Its container is started again when it ends. */
  readonly isKept?: boolean;
}

/** A pod that runs. */
export interface RunningPod {
  readonly name: string;
  readonly uid: string;
  readonly node: NodeName;
}

/** A pod that uses a claim of its own. */
export interface Use {
  readonly claim: MadeClaim;
  readonly pod: RunningPod;
}

const seenPod = v.object({
  metadata: v.object({ uid: v.string() }),
  spec: v.object({ nodeName: v.optional(v.string()) }),
  status: v.object({
    phase: v.string(),
    containerStatuses: v.optional(v.array(v.object({ ready: v.boolean(), restartCount: v.number() })), []),
  }),
});

/** Makes a pod; it may not run yet. */
export async function makePod({ api }: ProvisionerStage, terms: PodTerms): Promise<void> {
  const { name, claim, node, line = HOLD, isBlock = false, isKept = false } = terms;
  const use = isBlock
    ? { volumeDevices: [{ name: "data", devicePath: "/dev/data" }] }
    : { volumeMounts: [{ name: "data", mountPath: "/data" }] };
  await api.create(PODS, {
    metadata: { name },
    spec: {
      nodeSelector: node === undefined ? {} : { "kubernetes.io/hostname": node },
      restartPolicy: isKept ? "Always" : "Never",
      terminationGracePeriodSeconds: 1,
      tolerations: [{ operator: "Exists" }],
      containers: [{ name: "main", image: WORKLOAD_IMAGE, command: ["/bin/sh", "-c", line], ...use }],
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: claim } }],
    },
  });
}

/** Waits until a pod runs. */
export async function untilRunning(stage: ProvisionerStage, name: string): Promise<RunningPod> {
  let running: RunningPod | undefined;
  await stage.until(`the start of ${name}`, async () => {
    const { metadata, spec, status } = v.parse(seenPod, await stage.api.get(`${PODS}/${name}`));
    const node = NODES.find((one) => one === spec.nodeName);
    const isRunning = status.phase === "Running" && status.containerStatuses.every(({ ready }) => ready);
    if (!isRunning || node === undefined)
      throw new HarnessError(`it is ${status.phase} on ${node}: ${lastOf(stage, metadata.uid)}`);
    running = { name, uid: metadata.uid, node };
  });
  if (running === undefined) throw new HarnessError(`there is no ${name}`);
  return running;
}

/** The last events on an object. */
export function lastOf({ events }: ProvisionerStage, uid: string): string {
  return events
    .on(uid)
    .slice(-3)
    .map(({ reason, note }) => `${reason} ${note}`)
    .join(" | ");
}

/** How often the container of a pod was started anew. */
export async function restartsOf({ api }: ProvisionerStage, { name }: Pick<RunningPod, "name">): Promise<number> {
  const { status } = v.parse(seenPod, await api.get(`${PODS}/${name}`));
  return status.containerStatuses.reduce((sum, { restartCount }) => sum + restartCount, 0);
}

/** Runs a pod on a claim of its own. */
export async function runUse(
  stage: ProvisionerStage,
  terms: ClaimTerms & Omit<PodTerms, "claim" | "name">,
): Promise<Use> {
  const claim = await makeClaim(stage, terms);
  await makePod(stage, { ...terms, claim: claim.name });
  const pod = await untilRunning(stage, terms.name);
  await untilBound(stage, claim);
  return { claim, pod };
}

/** Asks for the deletion of a pod; by force the object goes at once. Does not wait for its end. */
export async function deletePod(
  { cluster }: ProvisionerStage,
  { name }: Pick<RunningPod, "name">,
  isForced = false,
): Promise<void> {
  const query = isForced ? "?gracePeriodSeconds=0" : "";
  await accepted(cluster.plane.api({ method: "DELETE", path: `${PODS}/${name}${query}` }), `the deletion of ${name}`);
}

/** Waits until a pod's object is gone. */
export async function untilPodGone({ cluster, until }: ProvisionerStage, name: string): Promise<void> {
  await until(`the end of ${name}`, async () => {
    const { status } = await cluster.plane.api({ path: `${PODS}/${name}` });
    if (status !== 404) throw new HarnessError("it is there");
  });
}

/** A file of a pod's volume, as this machine reads it. */
export function fileOf({ node }: ProvisionerStage, { claim, pod }: Use, name: string): string {
  const volumes = `/var/lib/kubelet/pods/${pod.uid}/volumes/kubernetes.io~local-volume`;
  return node(pod.node).path(join(volumes, claim.volume, name));
}

/** Runs a line of shell in a pod; answers what it printed. Throws a HarnessError with its words when it fails. */
export async function inPod({ cluster }: ProvisionerStage, { name }: RunningPod, line: string): Promise<string> {
  return (await kubectl(cluster, "exec", name, "--", "sh", "-c", line)).trim();
}
