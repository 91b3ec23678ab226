import { finalizersOf } from "../engine/api/deletion.ts";
import { textAt } from "../engine/api/json.ts";
import type { ApiObject } from "../engine/api/objects.ts";
import { claimRef, NODE_LABEL, SELECTED, volumeRef } from "./world/controllers.ts";
import { imageName } from "./world/judge.ts";
import { LINKS, type ProvisionerNode } from "./world/node.ts";
import { bytesOf, type ProvisionerWorld } from "./world/world.ts";

/** A rule that does not hold yet, with its details. */
export interface Problem {
  readonly rule: string;
  readonly detail: string;
}

/** What is wrong after everything has worked for long enough. */
export function wrongAtLast(world: ProvisionerWorld): readonly Problem[] {
  const problems = [
    ...world.nodes.flatMap((node) => [
      ...imageProblems(world, node),
      ...linkProblems(node),
      ...capacityProblems(world, node),
    ]),
    ...volumeProblems(world),
    ...claimProblems(world),
  ];
  return problems.map((text) => {
    const [rule = "", ...detail] = text.split(": ");
    return { rule, detail: detail.join(": ") };
  });
}

function* imageProblems(world: ProvisionerWorld, node: ProvisionerNode): Iterable<string> {
  for (const [pool, { disk, folder }] of node.kernel.pools) {
    for (const file of disk.folder(folder).names.keys())
      if (!belongs(world, node, file)) yield `leaked: ${file} in pool ${pool} of ${node.name} belongs to nothing`;
  }
  for (const { number, backing } of node.kernel.loops.values()) {
    if (backing?.kind !== "image") continue;
    const isThere = [...backing.disk.folder(backing.folder).names.values()].includes(backing.inode);
    if (!isThere) yield `leaked: /dev/loop${number} of ${node.name} shows an image that was deleted`;
  }
}

/** The file belongs to a PersistentVolume of the node, to a claim that waits for it, or to an image that an event has reported. */
function belongs(world: ProvisionerWorld, node: ProvisionerNode, file: string): boolean {
  const { api } = world.engine;
  const image = imageName(file);
  if (image === undefined) return true;
  const { volume, ending } = image;
  const known = api.get(volumeRef(volume));
  if (known !== undefined && textAt(known.metadata.labels, NODE_LABEL) === node.name) return true;
  if (ending === "img") return world.forced.has(volume) || world.judge.isExcused(volume);
  const claim = api.list("persistentvolumeclaims").find(({ metadata }) => `pvc-${metadata.uid}` === volume);
  if (known !== undefined || claim === undefined || claim.metadata.deletionTimestamp !== undefined) return false;
  return textAt(claim.metadata.annotations, SELECTED) === node.name;
}

function* linkProblems({ kernel, name }: ProvisionerNode): Iterable<string> {
  for (const path of kernel.links.keys()) {
    const number = kernel.deviceAt(path);
    const loop = number === undefined ? undefined : kernel.loop(number);
    const file = loop?.backing?.kind === "image" ? kernel.backingFile(loop) : undefined;
    const volume = path.slice(LINKS.length + 1);
    if (volume.startsWith(".")) continue;
    if (file === undefined || !file.includes(volume))
      yield `wrong-link: ${path} of ${name} leads to ${file ?? "nothing"}`;
  }
}

/** The published capacity must equal the real one, to a hundredth of the pool. */
function* capacityProblems({ engine: { api } }: ProvisionerWorld, node: ProvisionerNode): Iterable<string> {
  for (const one of api.list("csistoragecapacities")) {
    if (textAt(one.metadata.labels, NODE_LABEL) !== node.name) continue;
    const storageClass = api.get({ resource: "storageclasses", name: textAt(one, "storageClassName") });
    const truth = roomOf(node, textAt(storageClass, "parameters", "pool"));
    const published = bytesOf(textAt(one, "capacity"));
    if (published > truth.free + truth.slack)
      yield `capacity-too-high: ${published} bytes of ${node.name} are published, and it has ${truth.free}`;
  }
}

function roomOf(
  node: ProvisionerNode,
  pool: string,
): { readonly free: number; readonly slack: number; readonly begun: boolean } {
  const place = node.kernel.pools.get(pool);
  if (place === undefined || !node.machine.isUp()) return { free: 0, slack: 0, begun: false };
  const begun = place.disk.folder(place.folder).names.has("pool.json");
  return {
    free: begun ? Math.max(0, place.disk.freeBytes - node.reserveOf(pool)) : 0,
    slack: place.disk.bytes / 100 + 2 ** 20,
    begun,
  };
}

function* volumeProblems(world: ProvisionerWorld): Iterable<string> {
  for (const volume of world.engine.api.list("persistentvolumes")) {
    const node = world.nodes.find((one) => one.name === textAt(volume.metadata.labels, NODE_LABEL));
    if (node === undefined || volume.metadata.name.startsWith("foreign")) continue;
    yield* endProblems(world, node, volume);
    if (textAt(volume, "status", "phase") === "Bound" && world.locations.placeOf(node, volume) !== undefined)
      yield* boundProblems(world, node, volume);
  }
}

/** The promises of the policies Delete and Retain. */
function* endProblems(world: ProvisionerWorld, node: ProvisionerNode, volume: ApiObject): Iterable<string> {
  const { name, deletionTimestamp } = volume.metadata;
  const phase = textAt(volume, "status", "phase");
  const isKept = textAt(volume, "spec", "persistentVolumeReclaimPolicy") === "Retain";
  const hasPool = world.locations.placeOf(node, volume) !== undefined;
  const isOurs = finalizersOf(volume).some((one) => one.startsWith("external-provisioner"));
  if (phase === "Released" && !isKept && hasPool) yield `not-deleted: ${name} is Released and stays`;
  if (isKept && isOurs) yield `kept-finalizer: ${name} is to be retained and has our finalizer`;
  if (deletionTimestamp !== undefined && phase !== "Bound" && isKept) yield `not-deleted: ${name} is to go and stays`;
  if (!hasPool || !isKept || world.judge.permissions.wasEverGranted(name) || world.judge.isExcused(name)) return;
  const problem = contentProblem(world, node, volume);
  if (problem !== undefined) yield `not-retained: ${problem}`;
}

/** The pod's data is there, in a complete image with the right name. */
function contentProblem(world: ProvisionerWorld, node: ProvisionerNode, volume: ApiObject): string | undefined {
  const { name } = volume.metadata;
  const image = world.locations.imageOf(node, volume);
  if (image === undefined) return `the image of ${name} is gone`;
  const { bytes, writtenFor } = image.inode.now;
  if (image.ending !== "img") return `the image of ${name} is still called ${image.ending}`;
  if (world.judge.wasWritten(name) && writtenFor !== name) return `the data of ${name} is gone`;
  const capacity = bytesOf(textAt(volume, "spec", "capacity", "storage"));
  return bytes < capacity ? `the image of ${name} has ${bytes} bytes of ${capacity}` : undefined;
}

function* boundProblems(world: ProvisionerWorld, node: ProvisionerNode, volume: ApiObject): Iterable<string> {
  const { name } = volume.metadata;
  const isExcused = world.judge.isExcused(name);
  const problem = contentProblem(world, node, volume);
  if (problem !== undefined && !isExcused) yield `image-gone: ${name} is bound, and ${problem}`;
  if (world.locations.imageOf(node, volume) === undefined) return;
  const number = node.kernel.deviceAt(`${LINKS}/${name}`);
  if (number === undefined) yield `not-attached: ${name} is bound, and ${node.name} does not have it attached`;
  if (number === undefined || isExcused) return;
  const bytes = bytesOf(textAt(volume, "spec", "capacity", "storage"));
  if (node.kernel.loop(number).bytes < bytes) yield `too-small: the device of ${name} is smaller than it says`;
  yield* growthProblems(world, node, volume);
}

function* growthProblems(world: ProvisionerWorld, node: ProvisionerNode, volume: ApiObject): Iterable<string> {
  const { name, annotations } = volume.metadata;
  const claim = world.engine.api.get(claimRef(textAt(volume, "spec", "claimRef", "name")));
  const bytes = bytesOf(textAt(volume, "spec", "capacity", "storage"));
  const missing = bytesOf(textAt(claim, "spec", "resources", "requests", "storage")) - bytes;
  const { free, slack } = roomOf(node, textAt(annotations, "local.mooring.dev/pool"));
  const published = bytesOf(textAt(claim, "status", "capacity", "storage"));
  const isPending = textAt(claim, "status", "allocatedResourceStatuses", "storage") === "NodeResizePending";
  const isBlock = textAt(volume, "spec", "volumeMode") === "Block";
  // A filesystem grows at its next mount.
  if (textAt(claim, "status", "phase") === "Bound" && published < bytes && (isBlock || !isPending))
    yield `size-not-published: the claim of ${name} has ${published} bytes in its status, its volume ${bytes}`;
  if (missing > 0 && free - slack >= missing) yield `not-grown: ${name} lacks ${missing} bytes, and there are ${free}`;
}

function* claimProblems(world: ProvisionerWorld): Iterable<string> {
  const { api } = world.engine;
  for (const claim of api.list("persistentvolumeclaims")) {
    const { name, uid, deletionTimestamp } = claim.metadata;
    if (name.startsWith("foreign")) continue;
    const volume = `pvc-${uid}`;
    const isDeleting = deletionTimestamp !== undefined;
    const hasVolume = api.get(volumeRef(volume)) !== undefined;
    if (isDeleting && world.podsOf(name).length === 0) yield `not-deleted: claim ${name} stays`;
    if (isBad(claim) && hasVolume) yield `not-refused: ${name} has a PersistentVolume`;
    if (isDeleting || isBad(claim)) continue;
    if (!world.forced.has(volume) && !world.judge.isExcused(volume)) yield* waitingProblems(world, claim);
  }
}

/** The claim requests something that the provisioner does not support. */
function isBad({ spec }: ApiObject): boolean {
  return /ReadWriteMany|selector|dataSource/.test(JSON.stringify(spec));
}

/** A claim that fits somewhere is bound, and a claim that fits nowhere has no selected node. */
function* waitingProblems(world: ProvisionerWorld, claim: ApiObject): Iterable<string> {
  const { name, annotations, uid } = claim.metadata;
  if (textAt(claim, "spec", "volumeName") !== "") return;
  // Kubernetes binds no claim to a volume that is being deleted, and the volume is not Released while its claim exists: an administrator
  // has to decide.
  if (world.engine.api.get(volumeRef(`pvc-${uid}`))?.metadata.deletionTimestamp !== undefined) return;
  if (textAt(annotations, SELECTED) !== "") yield `not-decided: ${name} waits with a node selected`;
  if (world.podsOf(name).length === 0) return;
  const wanted = bytesOf(textAt(claim, "spec", "resources", "requests", "storage"));
  const storageClass = textAt(claim, "spec", "storageClassName");
  const pool = textAt(world.engine.api.get({ resource: "storageclasses", name: storageClass }), "parameters", "pool");
  const fit = world.nodes.find((node) => {
    const { free, slack } = roomOf(node, pool);
    return free - slack >= wanted && isLive(world, node);
  });
  if (fit !== undefined) yield `not-bound: ${name} fits on ${fit.name}, and waits`;
}

function isLive({ engine: { api } }: ProvisionerWorld, { name, machine }: ProvisionerNode): boolean {
  return machine.isUp() && api.get({ resource: "nodes", name }) !== undefined;
}

export function claimsThere(world: ProvisionerWorld): number {
  return world.engine.api
    .list("persistentvolumeclaims")
    .filter(
      ({ metadata }) =>
        world.engine.api.get(claimRef(metadata.name)) !== undefined && !metadata.name.startsWith("foreign"),
    ).length;
}
