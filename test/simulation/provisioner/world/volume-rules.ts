import type { SimApi, StoreEvent } from "../../engine/api/api.ts";
import { textAt } from "../../engine/api/json.ts";
import type { ApiObject } from "../../engine/api/objects.ts";
import type { Homes } from "./homes.ts";
import type { Judge } from "./judge.ts";
import type { ProvisionerNode } from "./node.ts";

/** Requests are not on their way for longer. Milliseconds. */
const ON_ITS_WAY_MS = 30_000;

interface RuleParts {
  readonly api: SimApi;
  readonly judge: Judge;
  readonly homes: Homes;
  readonly nodeOf: (volume: ApiObject) => ProvisionerNode | undefined;
  readonly now: () => number;
}

/** What is judged of a PersistentVolume at the moment when it comes, changes or goes. */
export class VolumeRules {
  readonly #parts: RuleParts;

  constructor(parts: RuleParts) {
    this.#parts = parts;
  }

  onEvent({ type, object, previous, by }: StoreEvent): void {
    const { judge } = this.#parts;
    const { name } = object.metadata;
    if (type === "ADDED" && by !== undefined) this.#onAdded(object);
    if (type === "DELETED") {
      judge.onUnpublished(name);
      this.#checkRetained(previous ?? object);
    }
  }

  #onAdded(volume: ApiObject): void {
    const { api, judge, homes, now } = this.#parts;
    const { name } = volume.metadata;
    const wasThere = judge.wasPublished(name);
    judge.onPublished(name, now());
    judge.count("volumes published");
    const uids = api.list("persistentvolumes").map((one) => textAt(one, "spec", "claimRef", "uid"));
    const twice = uids.find((uid, index) => uid !== "" && uids.indexOf(uid) !== index);
    if (twice !== undefined) judge.fail("two-volumes", `claim ${twice} has two PersistentVolumes`);
    const node = this.#parts.nodeOf(volume);
    // A request that was on its way while its pool went, or that comes for the second time.
    if (wasThere || node === undefined || !node.isSteady(ON_ITS_WAY_MS)) return;
    const problem = homes.onVolume(node, volume);
    if (problem !== undefined) judge.fail("wrong-home", `${name} is published, and ${problem}`);
  }

  /** Also where the PersistentVolume goes, what was to be retained stays. */
  #checkRetained(volume: ApiObject): void {
    const { judge, homes, nodeOf } = this.#parts;
    const { name } = volume.metadata;
    const node = nodeOf(volume);
    if (node === undefined || homes.placeOf(node, volume) === undefined) return;
    if (textAt(volume, "spec", "persistentVolumeReclaimPolicy") !== "Retain") return;
    if (judge.licences.wasGiven(name) || judge.isExcused(name)) return;
    if (homes.imageOf(node, volume) === undefined) judge.fail("not-retained", `the image of ${name} is gone`);
  }
}
