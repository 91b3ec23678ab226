import { object, parse, string } from "valibot";
import type { Owner } from "../../rig/process/owner.ts";
import { forEachIndex } from "./concurrency.ts";
import { type Copied, type CopyParts, copyNodes, templateNodesOf } from "./copies.ts";
import {
  AGENT_NAMESPACE,
  CLAIMS_PER_NODE,
  type ClaimPlace,
  claimPlace,
  namespaceName,
  PODS_PER_NODE,
  podPlace,
  type Sizes,
  stagedClaimsOf,
} from "./layout.ts";
import { nodeObject } from "./nodes.ts";
import { podObject, podStatus } from "./pods.ts";
import {
  ATTACHMENT_STATUS,
  attachmentObject,
  CLAIM_STATUS,
  claimObject,
  VOLUME_STATUS,
  volumeObject,
} from "./volumes.ts";
import type { ObjectWriter } from "./writer.ts";

/** Requests on their way at a time: more does not make an API server on two cores faster. */
const WORKERS = 64;
const CONTROLLERS = "kube-controller-manager";
const KUBELET = "kubelet";
const PROVISIONER = "csi-provisioner";
const ATTACHER = "csi-attacher";

const created = object({ metadata: object({ uid: string() }) });

/**
 * Fills a control plane: bound claims with their volumes, pods with their status, nodes. The API server makes the first nodes with all
 * that is on them, and whatever it has stored is copied in its database for the others: a hundred times as fast.
 */
export async function loadCluster(owner: Owner, parts: CopyParts): Promise<Copied> {
  const { signal } = owner;
  const { writer, sizes } = parts;
  const nodes = templateNodesOf(sizes);
  const each = (count: number, task: (index: number) => Promise<void>): Promise<void> =>
    forEachIndex({ count, workers: WORKERS, signal }, task);
  const namespaces = "/api/v1/namespaces";
  await writer.create(namespaces, { metadata: { name: AGENT_NAMESPACE } }, CONTROLLERS);
  await each(sizes.namespaces, async (index) => {
    await writer.create(namespaces, { metadata: { name: namespaceName(index) } }, CONTROLLERS);
  });
  await each(nodes, async (index) => {
    const handles = stagedClaimsOf(index).map((claim) => claimPlace(claim, sizes).handle);
    await writer.create("/api/v1/nodes", nodeObject(index, handles), KUBELET);
  });
  await each(nodes * CLAIMS_PER_NODE, (index) => createClaim(writer, claimPlace(index, sizes)));
  await each(nodes, async (index) => {
    for (const claim of stagedClaimsOf(index)) await createAttachment(writer, claimPlace(claim, sizes));
  });
  await each(nodes * PODS_PER_NODE, (index) => createPod(writer, index, sizes));
  return await copyNodes(owner, parts);
}

/** A claim and its volume, bound to each other. */
export async function createClaim(writer: ObjectWriter, place: ClaimPlace): Promise<void> {
  const { namespace, name, volume } = place;
  const claims = `/api/v1/namespaces/${namespace}/persistentvolumeclaims`;
  const claim = claimObject(place);
  const uid = uidIn(await writer.create(claims, claim, CONTROLLERS));
  const persistentVolume = volumeObject(place, uid);
  await writer.create("/api/v1/persistentvolumes", persistentVolume, PROVISIONER);
  const boundVolume = { ...persistentVolume, status: VOLUME_STATUS };
  await writer.setStatus(`/api/v1/persistentvolumes/${volume}`, boundVolume, CONTROLLERS);
  await writer.setStatus(`${claims}/${name}`, { ...claim, status: CLAIM_STATUS }, CONTROLLERS);
}

async function createAttachment(writer: ObjectWriter, place: ClaimPlace): Promise<void> {
  const attachments = "/apis/storage.k8s.io/v1/volumeattachments";
  const attachment = attachmentObject(place);
  const created: object = JSON.parse(await writer.create(attachments, attachment, CONTROLLERS));
  // The one kind here that cannot be updated without its resource version.
  const attached = { ...created, status: ATTACHMENT_STATUS };
  await writer.setStatus(`${attachments}/${attachment.metadata.name}`, attached, ATTACHER);
}

async function createPod(writer: ObjectWriter, index: number, sizes: Sizes): Promise<void> {
  const place = podPlace(index, sizes);
  const pods = `/api/v1/namespaces/${place.namespace}/pods`;
  const claims = place.claims.map((claim) => claimPlace(claim, sizes).name);
  const pod = podObject(place, claims);
  await writer.create(pods, pod, CONTROLLERS);
  await writer.setStatus(`${pods}/${place.name}`, { ...pod, status: podStatus(place) }, KUBELET);
}

function uidIn(text: string): string {
  return parse(created, JSON.parse(text)).metadata.uid;
}
