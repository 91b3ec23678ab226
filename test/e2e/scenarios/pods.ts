import * as v from "valibot";
import { accepted } from "../../rig/control-plane/api.ts";
import { WORKLOAD_IMAGE } from "../../rig/node/workload.ts";
import { HarnessError } from "../../rig/process/errors.ts";
import type { NodeName, Stage } from "./stage.ts";

/** Keeps running and ends at once when it is asked to. */
export const HOLD = "trap 'exit 0' TERM; sleep infinity & wait";

/** A pod that uses a claim as its volume `data`. */
export interface PodSpec {
  /** `default` unless told. */
  readonly namespace?: string;
  readonly name: string;
  readonly node: NodeName;
  /** Another source of the volume than the claim of this name: `{ ephemeral: … }`. */
  readonly volume?: object;
  readonly claim?: string;
  /** A line of shell; `HOLD` unless told. */
  readonly line?: string;
  /** As a raw device instead of a folder. */
  readonly isBlock?: boolean;
  /** A container for each: it sees this part of the volume alone. */
  readonly subPaths?: readonly string[];
  /** Seconds; 10 unless told. */
  readonly grace?: number;
  /** It waits to be scheduled for as long as it is there. */
  readonly isGated?: boolean;
}

/** A pod that was made. */
export interface MadePod {
  /** `default` unless told. */
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
  readonly node: NodeName;
}

const made = v.object({ metadata: v.object({ uid: v.string() }) });
const seen = v.object({
  status: v.object({
    phase: v.string(),
    containerStatuses: v.optional(v.array(v.object({ ready: v.boolean() })), []),
  }),
});

/** The pod's JSON; its containers are never started anew. */
export function podObject(spec: PodSpec): object {
  const { name, node, claim, line = HOLD, grace = 10, isGated = false } = spec;
  const source = spec.volume ?? { persistentVolumeClaim: { claimName: claim } };
  return {
    metadata: { name },
    spec: {
      ...(isGated && { schedulingGates: [{ name: "mooring.test/never" }] }),
      nodeSelector: { "kubernetes.io/hostname": node },
      restartPolicy: "Never",
      terminationGracePeriodSeconds: grace,
      containers: mountsOf(spec).map((mounts, index) => ({
        name: `main-${index}`,
        image: WORKLOAD_IMAGE,
        command: ["/bin/sh", "-c", line],
        ...mounts,
      })),
      volumes: [{ name: "data", ...source }],
    },
  };
}

/** For each container what it sees of the volume, at `/data` or as `/dev/data`. */
function mountsOf({ isBlock = false, subPaths = [] }: PodSpec): readonly object[] {
  if (isBlock) return [{ volumeDevices: [{ name: "data", devicePath: "/dev/data" }] }];
  const mount = { name: "data", mountPath: "/data" };
  if (subPaths.length === 0) return [{ volumeMounts: [mount] }];
  return subPaths.map((subPath) => ({ volumeMounts: [{ ...mount, subPath }] }));
}

/** Makes a pod; it may not run yet. */
export async function makePod({ api }: Stage, spec: PodSpec): Promise<MadePod> {
  const { namespace = "default", name, node } = spec;
  const { uid } = v.parse(made, await api.create(podsOf(namespace), podObject(spec))).metadata;
  return { namespace, name, uid, node };
}

function podsOf(namespace = "default"): string {
  return `/api/v1/namespaces/${namespace}/pods`;
}

/** Makes a pod and waits until all its containers run. */
export async function runPod(stage: Stage, spec: PodSpec): Promise<MadePod> {
  const pod = await makePod(stage, spec);
  await untilRunning(stage, pod);
  return pod;
}

/** Waits until all containers of the pod run. */
export async function untilRunning(
  stage: Stage,
  { namespace, name }: Pick<MadePod, "namespace" | "name">,
): Promise<void> {
  await stage.until(`the start of ${name}`, async () => {
    const { phase, containerStatuses } = v.parse(seen, await stage.api.get(`${podsOf(namespace)}/${name}`)).status;
    const isRunning = phase === "Running" && containerStatuses.every(({ ready }) => ready);
    if (!isRunning) throw new HarnessError(`it is ${phase}`);
  });
}

/** Waits until the API server calls the pod's phase so. */
export async function untilPhase(
  stage: Stage,
  { namespace, name }: MadePod,
  phase: "Succeeded" | "Failed",
): Promise<void> {
  await stage.until(`${phase} of ${name}`, async () => {
    const pod = v.parse(seen, await stage.api.get(`${podsOf(namespace)}/${name}`));
    if (pod.status.phase !== phase) throw new HarnessError(`it is ${pod.status.phase}`);
  });
}

/** Asks for the pod's deletion as kubectl does, with the grace that the pod has unless told; does not wait for its end. */
export async function deletePod({ cluster }: Stage, { namespace, name }: MadePod, grace?: number): Promise<void> {
  const query = grace === undefined ? "" : `?gracePeriodSeconds=${grace}`;
  await accepted(
    cluster.plane.api({ method: "DELETE", path: `${podsOf(namespace)}/${name}${query}` }),
    `the deletion of ${name}`,
  );
}
