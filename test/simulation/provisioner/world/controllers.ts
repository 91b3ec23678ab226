import type { SimApi } from "../../engine/api/api.ts";
import { finalizersOf, unprotected } from "../../engine/api/deletion.ts";
import { at, isObject, textAt } from "../../engine/api/json.ts";
import type { ApiObject, Json, JsonObject } from "../../engine/api/objects.ts";
import type { Dice } from "../../world/dice.ts";

export const PROVISIONER = "local.mooring.dev";
export const SELECTED = "volume.kubernetes.io/selected-node";
export const NODE_LABEL = "local.mooring.dev/node";
export const POOL = "local.mooring.dev/pool";
/** The file that makes a folder a pool and identifies it. */
export const POOL_FILE = "pool.json";
const PV_PROTECTION = "kubernetes.io/pv-protection";
const ASKED = "volume.kubernetes.io/storage-provisioner";
const BOUND = "pv.kubernetes.io/bind-completed";
export const NAMESPACE = "default";

export const CLASSES = [
  { name: "local", pool: "one", reclaimPolicy: "Delete" },
  { name: "kept", pool: "one", reclaimPolicy: "Retain" },
  { name: "other", pool: "two", reclaimPolicy: "Delete" },
] as const;

export interface ControllerParts {
  readonly api: SimApi;
  readonly dice: Dice;
  /** The scheduler knows the capacity as it is published. */
  readonly isExact?: boolean;
}

export function annotated({ metadata, ...rest }: ApiObject, annotations: JsonObject): ApiObject {
  return {
    ...rest,
    apiVersion: rest.apiVersion,
    kind: rest.kind,
    metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } },
  };
}

export function withFinalizers(object: ApiObject, finalizers: readonly string[]): ApiObject {
  return { ...object, metadata: { ...object.metadata, finalizers } };
}

function part(object: ApiObject, name: string): JsonObject {
  const value = object[name];
  return isObject(value) ? value : {};
}

export function claimRef(name: string) {
  return { resource: "persistentvolumeclaims", namespace: NAMESPACE, name } as const;
}

export function volumeRef(name: string) {
  return { resource: "persistentvolumes", name } as const;
}

function listAt(value: Json | undefined, ...path: readonly string[]): readonly Json[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** The node affinity lets the volume be used on the node. */
export function isFor(volume: ApiObject, node: string): boolean {
  const terms = listAt(volume, "spec", "nodeAffinity", "required", "nodeSelectorTerms");
  return terms.some((term) => {
    const expressions = listAt(term, "matchExpressions");
    const isMet = (one: Json): boolean =>
      textAt(one, "key") === "kubernetes.io/hostname" &&
      textAt(one, "operator") === "In" &&
      listAt(one, "values").includes(node);
    return expressions.length > 0 && expressions.every(isMet);
  });
}

/** The claim of a pod. */
export function claimNameOf(pod: ApiObject): string {
  return textAt(pod, "spec", "claim");
}

/**
 * kube-controller-manager: requests volumes, binds, releases, and protects claims and volumes. One write for each call, so that other
 * writes can come between.
 */
export function reconcileOnce({ api, dice }: ControllerParts): boolean {
  const todo: (() => unknown)[] = [];
  const pods = api.list("pods");
  for (const claim of api.list("persistentvolumeclaims")) {
    const write = claimWrite(api, claim, pods);
    if (write !== undefined) todo.push(write);
  }
  for (const volume of api.list("persistentvolumes")) {
    const write = volumeWrite(api, volume);
    if (write !== undefined) todo.push(write);
  }
  if (todo.length > 0) dice.pick(todo)();
  return todo.length > 1;
}

function claimWrite(api: SimApi, claim: ApiObject, pods: readonly ApiObject[]): (() => unknown) | undefined {
  const { name, uid, deletionTimestamp } = claim.metadata;
  const ref = claimRef(name);
  if (deletionTimestamp !== undefined) {
    const isUsed = pods.some((pod) => claimNameOf(pod) === name);
    return isUsed || finalizersOf(claim).length === 0 ? undefined : () => api.update(ref, unprotected);
  }
  const named = textAt(claim, "spec", "volumeName");
  if (named === "") return unboundWrite(api, claim);
  const volume = api.get(volumeRef(named));
  const phase = textAt(claim, "status", "phase");
  if (volume === undefined) return phase === "Lost" ? undefined : () => setStatus(api, claim, { phase: "Lost" });
  if (phase === "Bound" || textAt(volume, "spec", "claimRef", "uid") !== uid) return undefined;
  return () =>
    setStatus(api, claim, { phase: "Bound", capacity: { storage: textAt(volume, "spec", "capacity", "storage") } });
}

/** Binds a claim to its volume, or asks its provisioner for one. */
function unboundWrite(api: SimApi, claim: ApiObject): (() => unknown) | undefined {
  const { name, uid, annotations } = claim.metadata;
  const ref = claimRef(name);
  const storageClass = api.get({ resource: "storageclasses", name: textAt(claim, "spec", "storageClassName") });
  const isAsked = textAt(annotations, SELECTED) !== "" || textAt(storageClass, "volumeBindingMode") === "Immediate";

  const own = api
    .list("persistentvolumes")
    .find((one) => textAt(one, "spec", "claimRef", "uid") === uid && one.metadata.deletionTimestamp === undefined);
  if (own !== undefined)
    return () =>
      api.update(ref, (now) =>
        annotated({ ...now, spec: { ...part(now, "spec"), volumeName: own.metadata.name } }, { [BOUND]: "yes" }),
      );
  const provisioner = textAt(storageClass, "provisioner");
  if (isAsked && provisioner !== "" && textAt(annotations, ASKED) === "")
    return () => api.update(ref, (now) => annotated(now, { [ASKED]: provisioner }));
  return undefined;
}

function volumeWrite(api: SimApi, volume: ApiObject): (() => unknown) | undefined {
  const { name, deletionTimestamp } = volume.metadata;
  const ref = volumeRef(name);
  const finalizers = finalizersOf(volume);
  const phase = textAt(volume, "status", "phase");
  const isProtected = finalizers.includes(PV_PROTECTION);
  if (deletionTimestamp === undefined && !isProtected)
    return () => api.update(ref, (now) => withFinalizers(now, [...finalizersOf(now), PV_PROTECTION]));
  const claim = api.get(claimRef(textAt(volume, "spec", "claimRef", "name")));
  const isClaimed = claim?.metadata.uid === textAt(volume, "spec", "claimRef", "uid");
  const isBound = phase === "Bound" || textAt(claim, "spec", "volumeName") === name;
  const claimed = isBound ? "Bound" : "Available";
  const wanted = isClaimed ? claimed : "Released";
  if (phase !== wanted) return () => setStatus(api, volume, { phase: wanted });
  if (deletionTimestamp !== undefined && isProtected && phase !== "Bound")
    return () =>
      api.update(ref, (now) =>
        withFinalizers(
          now,
          finalizersOf(now).filter((one) => one !== PV_PROTECTION),
        ),
      );
  return undefined;
}

export function setStatus(api: SimApi, { kind, metadata }: ApiObject, status: JsonObject): void {
  const { name, namespace } = metadata;
  const resource = kind === "PersistentVolume" ? "persistentvolumes" : "persistentvolumeclaims";
  api.update({ resource, name, namespace }, (now) => ({ ...now, status: { ...part(now, "status"), ...status } }), {
    subresource: "status",
  });
}

/** kube-scheduler: places pods by the published capacity; its copy may be stale. */
export function scheduleOnce(parts: ControllerParts, mib: (quantity: string) => number): void {
  const { api } = parts;
  const nodes = api.list("nodes").map(({ metadata }) => metadata.name);
  for (const pod of api.list("pods")) {
    const claim = api.get(claimRef(claimNameOf(pod)));
    if (textAt(pod, "spec", "nodeName") !== "" || claim === undefined) continue;
    if (claim.metadata.deletionTimestamp !== undefined) continue;
    if (textAt(claim, "spec", "volumeName") === "") selectNode(parts, claim, { nodes, mib });
    else placePod(api, pod, { claim, nodes });
  }
}

function placePod(
  api: SimApi,
  pod: ApiObject,
  { claim, nodes }: { readonly claim: ApiObject; readonly nodes: readonly string[] },
): void {
  const volume = api.get(volumeRef(textAt(claim, "spec", "volumeName")));
  const nodeName = nodes.find((node) => volume !== undefined && isFor(volume, node));
  if (textAt(claim, "status", "phase") !== "Bound" || nodeName === undefined) return;
  const ref = { resource: "pods", namespace: NAMESPACE, name: pod.metadata.name } as const;
  api.update(ref, (now) => ({ ...now, spec: { ...part(now, "spec"), nodeName } }));
}

interface Candidates {
  readonly nodes: readonly string[];
  readonly mib: (quantity: string) => number;
}

function selectNode(parts: ControllerParts, claim: ApiObject, candidates: Candidates): void {
  if (candidates.nodes.includes(textAt(claim.metadata.annotations, SELECTED))) return;
  const node = choose(parts, claim, candidates);
  if (node !== undefined)
    parts.api.update(claimRef(claim.metadata.name), (now) => annotated(now, { [SELECTED]: node }));
}

function choose(
  { api, dice, isExact }: ControllerParts,
  claim: ApiObject,
  { nodes, mib }: Candidates,
): string | undefined {
  const storageClass = textAt(claim, "spec", "storageClassName");
  if (
    textAt(api.get({ resource: "storageclasses", name: storageClass }), "volumeBindingMode") !== "WaitForFirstConsumer"
  )
    return undefined;
  const wanted = mib(textAt(claim, "spec", "resources", "requests", "storage"));
  const isLate = isExact !== true && dice.chance(0.15);
  const fit = api
    .list("csistoragecapacities")
    .filter(
      (one) => textAt(one, "storageClassName") === storageClass && (isLate || mib(textAt(one, "capacity")) >= wanted),
    )
    .map((one) => textAt(at(one, "nodeTopology", "matchLabels"), "kubernetes.io/hostname"))
    .filter((node) => nodes.includes(node));
  return fit.length === 0 ? undefined : dice.pick(fit);
}
