import { formatMicroTime } from "../../common/runtime/micro-time.ts";
import type { ApiObject, JsonObject, ObjectRef } from "../simulation/engine/api/objects.ts";
import type { House } from "./house.ts";

/** Objects that tests of whole programs begin with, most of them in the namespace `shop`. */

export const CLAIM: ObjectRef = { resource: "persistentvolumeclaims", namespace: "shop", name: "data" };
export const VOLUME: ObjectRef = { resource: "persistentvolumes", name: "pv-data" };

export function nodeRef(name: string): ObjectRef {
  return { resource: "nodes", name };
}

export function podRef(name: string, namespace = "shop"): ObjectRef {
  return { resource: "pods", namespace, name };
}

interface NodeOptions {
  readonly labels?: JsonObject;
  readonly bootId?: string;
}

export function addNode(house: House, name: string, options: NodeOptions = {}): void {
  const { labels = {}, bootId = `boot-of-${name}` } = options;
  const status = {
    nodeInfo: { bootID: bootId, kubeletVersion: "v1.36.3" },
    conditions: [{ type: "Ready", status: "True" }],
  };
  house.create("nodes", { metadata: { name, labels: { "kubernetes.io/os": "linux", ...labels } }, status });
}

/** The kubelet of a node reports its status every ten seconds from now on. */
export function addKubelet(house: House, node: string): void {
  const report = (): void => {
    setReady(house, node, { status: "True", lastHeartbeatTime: formatMicroTime(house.nowMs) });
    house.engine.scheduler.after(10_000, report);
  };
  report();
}

/** The condition Ready of a node. */
export function setReady(house: House, node: string, condition: JsonObject): void {
  const conditions = [{ type: "Ready", ...condition }];
  house.api.update(nodeRef(node), (object) => ({ ...object, status: { ...Object(object.status), conditions } }), {
    subresource: "status",
  });
}

/** The pod of Mooring's agent on a node. */
export function addAgentPod(house: House, node: string): void {
  house.create("pods", {
    metadata: {
      name: `agent-${node}`,
      namespace: "mooring-agents",
      uid: `agent-of-${node}`,
      labels: { "app.kubernetes.io/name": "mooring-agent" },
    },
    spec: { nodeName: node, serviceAccountName: "mooring-agent" },
    status: { phase: "Running", podIP: "10.0.0.9" },
  });
}

interface ClaimOptions {
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  /** The name of its volume. */
  readonly volume?: string;
  /** What kind of volume; CSI by default. */
  readonly source?: JsonObject;
  /** More of the claim's status, as stored already. */
  readonly status?: JsonObject;
  readonly annotations?: JsonObject;
  readonly reclaimPolicy?: "Delete" | "Retain";
  readonly nodeAffinity?: JsonObject;
}

/** A claim that is bound to a volume of its own, `pv-` and its name by default. */
export function addClaim(house: House, options: ClaimOptions = {}): void {
  const { name = "data", source, status = {}, annotations = {}, reclaimPolicy = "Delete", nodeAffinity } = options;
  const { namespace = "shop", volume = `pv-${name}`, uid: ownUid = `uid-of-${name}` } = options;
  const claim = house.api.create("persistentvolumeclaims", {
    metadata: { name, namespace, uid: ownUid, annotations },
    spec: { volumeName: volume, storageClassName: "fast" },
    status: { phase: "Bound", ...status },
  });
  const { uid, creationTimestamp } = claim.metadata;
  house.create("persistentvolumes", {
    metadata: { name: volume },
    spec: {
      claimRef: { namespace, name, uid },
      ...(source ?? { csi: { driver: "csi.example.org", volumeHandle: `handle-of-${name}` } }),
      persistentVolumeReclaimPolicy: reclaimPolicy,
      ...(nodeAffinity !== undefined && { nodeAffinity }),
    },
    status: { phase: "Bound", lastPhaseTransitionTime: creationTimestamp },
  });
}

/** The status of n1 shows these CSI volumes attached, or in use, and no others. */
export function attach(
  house: House,
  handles: readonly string[],
  field: "volumesAttached" | "volumesInUse" = "volumesAttached",
): void {
  const names = handles.map((handle) => `kubernetes.io/csi/csi.example.org^${handle}`);
  const value = field === "volumesInUse" ? names : names.map((name) => ({ name, devicePath: "" }));
  const change = (node: ApiObject): ApiObject => ({ ...node, status: { ...Object(node.status), [field]: value } });
  house.api.update(nodeRef("n1"), change, { subresource: "status" });
}

interface PodOptions {
  readonly node?: string;
  readonly claim?: string;
  /** Instead of the one of the claim. */
  readonly volumes?: readonly JsonObject[];
  readonly phase?: string;
  readonly status?: JsonObject;
  readonly metadata?: JsonObject;
}

/** A pod that names a claim; its UID is `uid-of-` and its name. */
export function addPod(house: House, name: string, options: PodOptions = {}): void {
  const { node = "n1", claim = "data", phase = "Running", status = {}, metadata = {} } = options;
  const { volumes = [{ name: "data", persistentVolumeClaim: { claimName: claim } }] } = options;
  house.create("pods", {
    metadata: { name, namespace: "shop", uid: `uid-of-${name}`, ...metadata },
    spec: {
      nodeName: node,
      containers: [{ name: "main", volumeMounts: [{ name: "data" }] }],
      volumes,
    },
    status: { phase, ...startedStatus(phase), ...status },
  });
}

/** Another version of the pod, of which nothing else is new. */
export function touchPod(house: House, name: string): void {
  const annotations = { touched: String(house.nowMs) };
  house.api.update(podRef(name), (pod) => ({ ...pod, metadata: { ...pod.metadata, annotations } }));
}

export function setPhase(house: House, name: string, phase: string): void {
  const status = { phase, ...startedStatus(phase) };
  house.api.update(podRef(name), (pod) => ({ ...pod, status }), { subresource: "status" });
}

function startedStatus(phase: string): JsonObject {
  if (phase === "Pending") return {};
  const state = phase === "Running" ? { running: {} } : { terminated: {} };
  return { podIP: "10.0.0.2", containerStatuses: [{ name: "main", restartCount: 0, state }] };
}
