import * as v from "valibot";
import type { HttpRequest } from "../../../common/kube/transport.ts";
import type { StoreEvent } from "../engine/api/api.ts";
import type { ApiObject } from "../engine/api/objects.ts";
import { type Published, publishedIn } from "../published.ts";
import { NAMESPACE } from "../world/objects.ts";
import type { World } from "../world/world.ts";
import { checkAlarm } from "./alarms.ts";
import { BrokenPromise } from "./promises.ts";
import { checkSeen, isVague } from "./seen.ts";
import type { ToldUses } from "./told.ts";
import { type ApiWall, apiWallOf } from "./wall.ts";

/** As much of a write as tells on which state it was decided, and what it says. */
const applied = v.object({
  metadata: v.object({
    name: v.string(),
    uid: v.string(),
    resourceVersion: v.string(),
    annotations: v.optional(v.record(v.string(), v.string())),
  }),
  status: v.object({ conditions: v.array(v.record(v.string(), v.string())) }),
});

/** Looks at each write that Mooring makes, at the moment when it is made. */
export class WriteWatch {
  readonly #world: World;
  readonly #wall: ApiWall;
  readonly #told: ToldUses;
  /** Of each claim: how often it was written. */
  readonly #counts = new Map<string, number>();
  /** By what is written on which state: when that was first sent. Nobody can take back what is on its way. */
  readonly #sent = new Map<string, Sending>();
  /** The first promise that a write broke. */
  broken: BrokenPromise | undefined;

  constructor(world: World, told: ToldUses) {
    this.#world = world;
    this.#told = told;
    this.#wall = apiWallOf(world);
    world.engine.api.observe((event) => {
      this.#note(() => checkAlarm(world, event));
      this.#onEvent(event);
    });
  }

  /** All writes to claims. */
  get total(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
  }

  countOf(claimUid: string): number {
    return this.#counts.get(claimUid) ?? 0;
  }

  /** A write is on its way: one that was decided on what stands there has to say something else. */
  onRequest({ body }: HttpRequest): void {
    const write = v.safeParse(applied, JSON.parse(body ?? "{}"));
    if (!write.success) return;
    const { name, resourceVersion } = write.output.metadata;
    const written = publishedIn(write.output);
    const key = sentKey(name, resourceVersion, written);
    if (!this.#sent.has(key)) this.#sent.set(key, this.#present);
    const ref = { resource: "persistentvolumeclaims", namespace: NAMESPACE, name } as const;
    const claim = this.#world.engine.api.get(ref);
    if (claim?.metadata.resourceVersion !== resourceVersion) return;
    const before = publishedIn(claim);
    if (written !== undefined && before !== undefined && isSame(written, before))
      this.broken ??= new BrokenPromise("one-write", `${name} is written although nothing changed: ${written.reason}`);
  }

  #onEvent({ resource, by, type, object, previous }: StoreEvent): void {
    if (resource !== "persistentvolumeclaims" || by === undefined || type !== "MODIFIED" || previous === undefined)
      return;
    const { uid } = object.metadata;
    this.#counts.set(uid, this.countOf(uid) + 1);
    this.#note(() => {
      const now = publishedIn(object);
      if (now === undefined) return;
      const { name } = object.metadata;
      const sent = this.#sent.get(sentKey(name, previous.metadata.resourceVersion, now)) ?? this.#present;
      const before = publishedIn(previous);
      // What an earlier claim left beside its condition goes at once, and that one as soon as this claim can be judged.
      if (before !== undefined && isSame(now, before) && annotationsOf(object) < annotationsOf(previous)) return;
      this.#check({ name, now, before, sent });
      checkSeen(this.#world, { name, writer: by, now, sentMs: sent.atMs });
    });
  }

  get #present(): Sending {
    return { atMs: this.#world.now, event: this.#world.engine.scheduler.events() };
  }

  #note(check: () => void): void {
    try {
      check();
    } catch (error) {
      if (!(error instanceof BrokenPromise)) throw error;
      this.broken ??= error;
    }
  }

  #check({ name, now, before, sent }: Change): void {
    if (before !== undefined && now.sinceMs < before.sinceMs && !this.#isFuture(before.sinceMs))
      throw new BrokenPromise("never-earlier", `${name} went back by ${before.sinceMs - now.sinceMs} ms`);
    if (before !== undefined && isSame(now, before))
      throw new BrokenPromise("one-write", `${name} was written although nothing changed: ${now.reason}`);
    this.#checkAnew(name, now);
    this.#told.check(name, now, sent.event);
    this.#told.checkStart({ name, now, before });
    if (now.lastUse !== undefined && now.lastUse.release !== before?.lastUse?.release)
      this.#checkUncertainty(name, now);
  }

  /** By a server whose clock was stepped back since: such a time is none, and is replaced by now. */
  #isFuture(sinceMs: number): boolean {
    const { engine, apiClocks } = this.#world;
    return sinceMs > engine.trueWallMs() + apiClocks.leastNow + FUTURE_MS;
  }

  #checkAnew(name: string, { claimUid, sinceMs, lastUse }: Published): void {
    const madeAt = this.#world.cluster.claims.madeAt(claimUid);
    if (madeAt === undefined) return;
    const earliestMs = this.#wall.earliest(madeAt);
    if (sinceMs < earliestMs) throw new BrokenPromise("anew", `${name} counts since before it was made`);
    // Nobody knows at what time of its second it was made.
    if (lastUse !== undefined && lastUse.releasedAtMs < earliestMs - 1_000)
      throw new BrokenPromise("anew", `${name} was last used before it was made`);
  }

  /** An end that was read in the mount table lies between what is published and what that says of its uncertainty. */
  #checkUncertainty(name: string, { claimUid, lastUse }: Published): void {
    const { truth } = this.#world;
    if (lastUse?.uncertaintyMs === undefined || lastUse.evidence !== "mount-table") return;
    if (isVague(this.#world, claimUid)) return;
    const { podUid, node, releasedAtMs, uncertaintyMs } = lastUse;
    const uses = truth.usesOf(claimUid).filter((use) => use.podUid === podUid && use.node === node);
    if (uses.length === 0) return;
    const isWithin = uses.some(({ endedAt }) => {
      if (endedAt === undefined) return false;
      const least = releasedAtMs - uncertaintyMs - ROUNDED_MS;
      return releasedAtMs >= this.#wall.earliest(endedAt) && least <= this.#wall.latest(endedAt);
    });
    if (isWithin) return;
    const ends = uses.map(({ endedAt }) => endedAt && Math.round(endedAt)).join(", ");
    const told = `${Math.round(this.#wall.trueMs(releasedAtMs))} with ${uncertaintyMs} ms of uncertainty`;
    throw new BrokenPromise("uncertainty", `${name} on ${node}: released at ${told}, in truth at ${ends || "no time"}`);
  }
}

/** docs/claim-status.md: a time that is more than this in the future is invalid. Milliseconds. */
const FUTURE_MS = 5_000;

interface Change {
  readonly name: string;
  readonly now: Published;
  readonly before: Published | undefined;
  readonly sent: Sending;
}

/** When a writer sent a write: by true time, and by how much had happened. */
interface Sending {
  readonly atMs: number;
  readonly event: number;
}

function annotationsOf({ metadata }: ApiObject): number {
  return Object.keys(metadata.annotations ?? {}).length;
}

function sentKey(name: string, resourceVersion: string, written: Published | undefined): string {
  return `${name} ${resourceVersion} ${JSON.stringify(written)}`;
}

/** True times are fractions of milliseconds, of which a little is lost in sums of large numbers. */
const ROUNDED_MS = 0.01;

function isSame(one: Published, other: Published): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
