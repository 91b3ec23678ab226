import { parseBytes } from "../../../../common/storage/quantity.ts";
import type { SimApi, StoreEvent } from "../../engine/api/api.ts";
import { finalizersOf } from "../../engine/api/deletion.ts";
import { at, isEqual, textAt } from "../../engine/api/json.ts";
import type { ApiObject } from "../../engine/api/objects.ts";
import { CLASSES, claimRef, isFor, NODE_LABEL } from "./controllers.ts";
import { FINALIZER } from "./erase-permissions.ts";
import { durableFiles, type ImageLocations } from "./image-locations.ts";
import { imageName, type Judge } from "./judge.ts";
import { LINKS, type ProvisionerNode } from "./node.ts";

/** No request is on its way for longer. Milliseconds. */
const ON_ITS_WAY_MS = 30_000;

interface RuleParts {
  readonly api: SimApi;
  readonly judge: Judge;
  readonly locations: ImageLocations;
  readonly nodeOf: (volume: ApiObject) => ProvisionerNode | undefined;
  readonly now: () => number;
}

function capacityOf(volume: ApiObject | undefined): number {
  return parseBytes(textAt(volume, "spec", "capacity", "storage")) ?? 0;
}

function hasOurs(volume: ApiObject | undefined): volume is ApiObject {
  return volume !== undefined && finalizersOf(volume).includes(FINALIZER);
}

/** The fields of a new PersistentVolume that do not match its claim and its class. */
function wrongFields(api: SimApi, volume: ApiObject): readonly string[] {
  const { name, labels } = volume.metadata;
  const claim = api.get(claimRef(textAt(volume, "spec", "claimRef", "name")));
  const uid = textAt(volume, "spec", "claimRef", "uid");
  const policy = textAt(volume, "spec", "persistentVolumeReclaimPolicy");
  const storageClass = textAt(volume, "spec", "storageClassName");
  const isBlock = textAt(volume, "spec", "volumeMode") === "Block";
  const isFine = {
    "a name": name === `pvc-${uid}`,
    "a path": textAt(volume, "spec", "local", "path") === `${LINKS}/${name}`,
    "an affinity": isFor(volume, textAt(labels, NODE_LABEL)),
    "a filesystem": textAt(volume, "spec", "local", "fsType") === (isBlock ? "" : "ext4"),
    "a finalizer": hasOurs(volume) === (policy === "Delete"),
    "a policy": policy === CLASSES.find((one) => one.name === storageClass)?.reclaimPolicy,
    ...(claim?.metadata.uid === uid && claimFields(volume, claim)),
  };
  return Object.entries(isFine).flatMap(([what, isRight]) => (isRight ? [] : [what]));
}

function claimFields(volume: ApiObject, claim: ApiObject): Readonly<Record<string, boolean>> {
  const isSame = (field: string): boolean => isEqual(at(volume, "spec", field), at(claim, "spec", field));
  const wanted = parseBytes(textAt(claim, "spec", "resources", "requests", "storage")) ?? 0;
  return {
    "a class": isSame("storageClassName"),
    "a mode": isSame("volumeMode"),
    "access modes": isSame("accessModes"),
    "a capacity": capacityOf(volume) >= wanted,
  };
}

/** Judges a PersistentVolume when it is created, changed or deleted. */
export class VolumeRules {
  readonly #parts: RuleParts;

  constructor(parts: RuleParts) {
    this.#parts = parts;
  }

  onEvent({ type, object, previous, by }: StoreEvent): void {
    const { judge } = this.#parts;
    const { name } = object.metadata;
    const isTheirs = by?.startsWith("provisioner") === true;
    if (type === "ADDED" && isTheirs) this.#onAdded(object);
    if (type === "MODIFIED" && isTheirs && capacityOf(object) > capacityOf(previous)) this.#checkDurable(object);
    if (isTheirs && hasOurs(previous) && (type === "DELETED" || !hasOurs(object))) this.#checkErased(previous);
    if (type === "DELETED") {
      judge.onUnpublished(name);
      this.#checkRetained(previous ?? object);
    }
  }

  #onAdded(volume: ApiObject): void {
    const { api, judge, locations, now } = this.#parts;
    const { name } = volume.metadata;
    const wasThere = judge.wasPublished(name);
    judge.onPublished(name, now());
    judge.count("volumes published");
    const uids = api.list("persistentvolumes").map((one) => textAt(one, "spec", "claimRef", "uid"));
    const twice = uids.find((uid, index) => uid !== "" && uids.indexOf(uid) !== index);
    if (twice !== undefined) judge.fail("two-volumes", `claim ${twice} has two PersistentVolumes`);
    const node = this.#parts.nodeOf(volume);
    // The request was on its way while its pool went, or arrived twice.
    if (wasThere || node === undefined || !node.isSteady(ON_ITS_WAY_MS)) return;
    const problem = locations.onVolume(node, volume);
    if (problem !== undefined) judge.fail("wrong-location", `${name} is published, and ${problem}`);
    this.#checkDurable(volume);
    const wrong = wrongFields(api, volume);
    if (wrong.length > 0) judge.fail("wrong-object", `${name} has ${wrong.join(", ")} that its claim did not request`);
  }

  /** What a PersistentVolume states survives a power cut. */
  #checkDurable(volume: ApiObject): void {
    const { judge, locations, nodeOf } = this.#parts;
    const { name } = volume.metadata;
    const node = nodeOf(volume);
    const place = node && locations.placeOf(node, volume);
    if (place === undefined || judge.isExcused(name) || judge.permissions.wasEverGranted(name)) return;
    const bytes = capacityOf(volume);
    const isDurable = durableFiles(place, name).some(
      ([file, { synced }]) =>
        imageName(file)?.ending !== "partial" && synced.bytes >= bytes && synced.allocatedBytes >= bytes,
    );
    if (!isDurable) judge.fail("not-durable", `${name} is published with ${bytes} bytes before they are on the disk`);
  }

  /** A deleted image does not return after a power cut. */
  #checkErased(volume: ApiObject): void {
    const { judge, locations, nodeOf } = this.#parts;
    const { name } = volume.metadata;
    const node = nodeOf(volume);
    const place = node && locations.placeOf(node, volume);
    const isKept = textAt(volume, "spec", "persistentVolumeReclaimPolicy") !== "Delete";
    if (place === undefined || isKept || judge.isExcused(name)) return;
    const [file] = durableFiles(place, name);
    if (file !== undefined) judge.fail("not-durable", `${name} is called deleted, and ${file[0]} is still on the disk`);
  }

  /** A retained image stays, even when its PersistentVolume goes. */
  #checkRetained(volume: ApiObject): void {
    const { judge, locations, nodeOf } = this.#parts;
    const { name } = volume.metadata;
    const node = nodeOf(volume);
    if (node === undefined || locations.placeOf(node, volume) === undefined) return;
    if (textAt(volume, "spec", "persistentVolumeReclaimPolicy") !== "Retain") return;
    if (judge.permissions.wasEverGranted(name) || judge.isExcused(name)) return;
    if (locations.imageOf(node, volume) === undefined) judge.fail("not-retained", `the image of ${name} is gone`);
  }
}
