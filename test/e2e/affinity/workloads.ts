import * as v from "valibot";
import { accepted } from "../../rig/control-plane/api.ts";
import { WORKLOAD_IMAGE } from "../../rig/node/workload.ts";
import { HOLD } from "../scenarios/pods.ts";
import type { NodeName, Stage } from "../scenarios/stage.ts";

const PODS = "/api/v1/namespaces/default/pods";
const APPS = "/apis/apps/v1/namespaces/default";

/** Nobody schedules pods that ask for it: the harness binds them, as a scheduler does that is behind. */
export const STALE_SCHEDULER = "stale.mooring.test";

const made = v.object({ metadata: v.object({ uid: v.string() }) });

/** A workload whose pods use one claim. */
export interface Workload {
  /** Also the value of the label `app` of its pods. */
  readonly name: string;
  readonly claim: string;
  /** A second claim of theirs. */
  readonly other?: string;
  readonly replicas?: number;
  /** What its pods say where they want to be; the scheduler decides unless told. */
  readonly where?: { readonly nodeName?: NodeName; readonly schedulerName?: string; readonly nodeSelector?: object };
  readonly image?: string;
}

/** What a pod of the workload consists of: one container, which ends at once when it is asked to. */
function podTemplate({ name, claim, other, where = {}, image = WORKLOAD_IMAGE }: Workload): object {
  const claims = Object.entries({ data: claim, ...(other !== undefined && { other }) });
  return {
    metadata: { labels: { app: name } },
    spec: {
      ...where,
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: "main",
          image,
          imagePullPolicy: "IfNotPresent",
          command: ["/bin/sh", "-c", HOLD],
          volumeMounts: claims.map(([volume]) => ({ name: volume, mountPath: `/${volume}` })),
        },
      ],
      volumes: claims.map(([volume, claimName]) => ({ name: volume, persistentVolumeClaim: { claimName } })),
    },
  };
}

function workloadSpec(workload: Workload): object {
  const { name, replicas = 1 } = workload;
  return { replicas, selector: { matchLabels: { app: name } }, template: podTemplate(workload) };
}

/** Makes a ReplicaSet, whose pods come a moment later; answers its UID. */
export async function makeReplicaSet({ api }: Stage, workload: Workload): Promise<string> {
  const object = { metadata: { name: workload.name }, spec: workloadSpec(workload) };
  return v.parse(made, await api.create(`${APPS}/replicasets`, object)).metadata.uid;
}

/** Makes a StatefulSet; its pod is called `<name>-0`. */
export async function makeStatefulSet({ api }: Stage, workload: Workload): Promise<void> {
  const spec = { ...workloadSpec(workload), serviceName: workload.name };
  await api.create(`${APPS}/statefulsets`, { metadata: { name: workload.name }, spec });
}

/** Makes a pod as the workload would, on a node that somebody wrote into it, and answers its UID; no scheduler is asked. */
export async function placePod({ api }: Stage, workload: Workload, node: NodeName): Promise<string> {
  const template = podTemplate({ ...workload, where: { nodeName: node } });
  const pod = v.parse(v.looseObject({ metadata: v.looseObject({}) }), template);
  const object = { ...pod, metadata: { ...pod.metadata, name: `${workload.name}-placed` } };
  return v.parse(made, await api.create(PODS, object)).metadata.uid;
}

/** Puts the first pod of a ReplicaSet on a node, by its name, and answers its UID; the ReplicaSet adopts it and makes the next ones itself. */
export async function placeFirst(stage: Stage, workload: Workload, node: NodeName): Promise<string> {
  const uid = await placePod(stage, workload, node);
  await makeReplicaSet(stage, workload);
  return uid;
}

/** Binds a pod to a node, as schedulers do. */
export async function bind(
  { api }: Stage,
  { name, uid }: { readonly name: string; readonly uid: string },
  node: NodeName,
): Promise<void> {
  await api.create(`${PODS}/${name}/binding`, {
    apiVersion: "v1",
    kind: "Binding",
    metadata: { name, uid },
    target: { apiVersion: "v1", kind: "Node", name: node },
  });
}

/** Removes a ReplicaSet with its pods, which are gone a moment later. */
export async function removeReplicaSet({ cluster }: Stage, name: string): Promise<void> {
  const path = `${APPS}/replicasets/${name}?propagationPolicy=Background`;
  await accepted(cluster.plane.api({ method: "DELETE", path }), `the deletion of ${name}`);
}
