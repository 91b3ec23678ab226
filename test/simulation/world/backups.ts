import { type Published, publishedIn } from "../../judge/published.ts";
import type { ApiObject, Json, JsonObject } from "../engine/api/objects.ts";
import type { StoreState } from "../engine/api/store.ts";
import type { SimProcess } from "../engine/process.ts";
import type { World } from "./world.ts";

/** A replica that kept running repairs what went back within this time, once it has no faults. Milliseconds. */
const REPAIR_MS = 3_000;

const MOST_RESTORES = 3;

/** A claim whose status went back, and the processes that had seen the later status. */
interface RolledBack {
  readonly atMs: number;
  readonly seenBy: ReadonlyMap<string, SimProcess>;
}

/**
 * Restores of etcd backups. What Mooring wrote after the backup is lost. The world repeats at once what others did: kubelets, controllers
 * and people do not look up in the store what they did.
 */
export class Backups {
  readonly #world: World;
  readonly #listeners: (() => void)[] = [];
  #restores = 0;
  /** By UID, until a replica that had seen the later status has had the time to write it again. */
  readonly #rolledBack = new Map<string, RolledBack>();
  /** By UID: uses that ended before this time may be lost for good. */
  readonly #lastMs = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
  }

  /** The listener runs after each restore; a restore makes no watch events. */
  onRestored(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Three times at most: Mooring repairs a status that is lost again and again at growing intervals. */
  restore(backup: StoreState): void {
    if (this.#restores === MOST_RESTORES) return;
    this.#restores += 1;
    const { api } = this.#world.engine;
    const before = new Map(api.list("persistentvolumeclaims").map((claim) => [claim.metadata.uid, statusText(claim)]));
    const seenBy = this.#runners();
    api.rewind(backup, isOursAlone);
    for (const claim of api.list("persistentvolumeclaims")) {
      const { uid } = claim.metadata;
      if (before.get(uid) === statusText(claim)) continue;
      this.#rolledBack.set(uid, { atMs: this.#world.now, seenBy });
      this.#lastMs.set(uid, this.#world.now);
    }
    for (const listener of this.#listeners) listener();
  }

  /** The claim's status went back, and no process that had seen the later one has led for long enough since. */
  isRolledBack(uid: string): boolean {
    const back = this.#rolledBack.get(uid);
    if (back === undefined) return false;
    const { health, replicas, now } = this.#world;
    const hasLed = health.ledBy({ fromMs: back.atMs, toMs: now }, REPAIR_MS) !== undefined;
    const isOver =
      hasLed && replicas.some(({ name, process }) => name === health.leader && isSame(back, name, process));
    if (isOver) this.#rolledBack.delete(uid);
    return !isOver;
  }

  /** Uses of the claim that ended before this time may be lost, because the claim's last-use record went back. */
  lostUntil(uid: string): number | undefined {
    return this.#lastMs.get(uid);
  }

  /** Replicas without faults. */
  #runners(): ReadonlyMap<string, SimProcess> {
    const { replicas, health } = this.#world;
    const running = replicas.flatMap(({ name, process }) =>
      process && health.isWell(name, REPAIR_MS) ? [[name, process] as const] : [],
    );
    return new Map(running);
  }
}

function isSame({ seenBy }: RolledBack, name: string, process: SimProcess | undefined): boolean {
  return process !== undefined && seenBy.get(name) === process;
}

function statusText(claim: ApiObject): string {
  const said: Published | undefined = publishedIn(claim);
  return JSON.stringify(said ?? null);
}

const OURS = /^mooring\.dev\//;

/** Only Mooring has changed the object since the backup. */
function isOursAlone(before: ApiObject, now: ApiObject): boolean {
  if (before.metadata.uid !== now.metadata.uid) return false;
  if (now.kind === "Lease") return now.metadata.namespace === "mooring";
  const isKept = now.kind === "PersistentVolumeClaim" || now.kind === "PersistentVolume";
  return isKept && othersIn(before) === othersIn(now);
}

/** The object without Mooring's fields. */
function othersIn({ metadata, status, ...rest }: ApiObject): string {
  const { resourceVersion: _, annotations = {}, ...meta } = metadata;
  const kept = Object.entries(annotations).filter(([name]) => !OURS.test(name));
  const state: JsonObject = isObject(status) ? status : {};
  const conditions = Array.isArray(state.conditions) ? state.conditions : [];
  const foreign = conditions.filter((one) => !(isObject(one) && OURS.test(String(one.type))));
  return JSON.stringify([rest, { ...meta, managedFields: undefined }, kept, { ...state, conditions: foreign }]);
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
