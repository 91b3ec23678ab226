import * as v from "valibot";
import type { HttpRequest } from "../../../common/kube/transport.ts";
import type { Docket } from "../../judge/docket.ts";
import { type Published, publishedIn } from "../../judge/published.ts";
import { isSame, judgeChange, judgeWrite, KNOWN_WITHIN_MS, type Write } from "../../judge/writes.ts";
import type { StoreEvent } from "../engine/api/api.ts";
import type { ApiObject } from "../engine/api/objects.ts";
import type { ClaimRecord } from "../world/claims.ts";
import { NAMESPACE } from "../world/objects.ts";
import type { World } from "../world/world.ts";
import type { Witness } from "./witness.ts";

/** The fields of a write: the status, and the version that it was decided on. */
const applied = v.object({
  metadata: v.object({
    name: v.string(),
    uid: v.string(),
    resourceVersion: v.string(),
    annotations: v.optional(v.record(v.string(), v.string())),
  }),
  status: v.object({ conditions: v.array(v.record(v.string(), v.string())) }),
});

/** Judges each write of a claim at the moment when it is stored. */
export class WriteWatch {
  readonly #world: World;
  readonly #docket: Docket;
  readonly #witness: Witness;
  /** By claim: how often it was written. */
  readonly #counts = new Map<string, number>();
  /** By claim: up to when its last writer had to know each use. */
  readonly #knownUntil = new Map<string, number>();
  /** By claim: the process that wrote it last. */
  readonly #writtenBy = new Map<string, string>();
  /** By content and base version: the true time at which the write was first sent. */
  readonly #sent = new Map<string, number>();

  /** One sentence for each time that moved later although no pod had used or named the claim since. */
  readonly #moved: string[] = [];

  constructor(world: World, docket: Docket, witness: Witness) {
    this.#world = world;
    this.#docket = docket;
    this.#witness = witness;
    world.engine.api.observe((event) => this.#onEvent(event));
    world.backups.onRestored(() => this.#knownUntil.clear());
  }

  /** All writes to claims. */
  get total(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
  }

  /** In a calm world without a watch gap, a time that covers the last use has no reason to move. */
  keptTimes(): void {
    this.#docket.judge("exact", this.#moved.length === 0, () => this.#moved.join("; "));
  }

  countOf(claimUid: string): number {
    return this.#counts.get(claimUid) ?? 0;
  }

  /** A write that was decided on the present status has to change it. */
  onRequest({ body }: HttpRequest): void {
    const write = v.safeParse(applied, JSON.parse(body ?? "{}"));
    if (!write.success) return;
    const { name, resourceVersion } = write.output.metadata;
    const written = publishedIn(write.output);
    const key = sentKey(resourceVersion, written);
    if (!this.#sent.has(key)) this.#sent.set(key, this.#world.now);
    const claim = this.#world.engine.api.get({ resource: "persistentvolumeclaims", namespace: NAMESPACE, name });
    if (claim === undefined || claim.metadata.resourceVersion !== resourceVersion || written === undefined) return;
    judgeChange(this.#docket, name, { now: written, before: publishedIn(claim) });
  }

  #onEvent({ resource, by, type, object, previous }: StoreEvent): void {
    if (resource !== "persistentvolumeclaims" || by === undefined || type !== "MODIFIED" || previous === undefined)
      return;
    const { uid } = object.metadata;
    this.#counts.set(uid, this.countOf(uid) + 1);
    const { forgeries } = this.#witness;
    const [now, before, own] = [publishedIn(object), publishedIn(previous), forgeries.ownOf(uid)];
    if (now === undefined) return;
    // Mooring first removes annotations of an earlier claim, and replaces its condition later, when it can decide about this claim.
    if (before !== undefined && isSameCondition(now, before) && annotationsOf(object) < annotationsOf(previous)) return;
    const isOwn = forgeries.isOwn(uid);
    forgeries.onStatus(uid);
    const sentMs = this.#sent.get(sentKey(previous.metadata.resourceVersion, now)) ?? this.#world.now;
    const knownBeforeMs = this.#knownUntil.get(uid) ?? 0;
    const knownUntilMs = this.#world.health.knewUntil(by, { untilMs: sentMs, forMs: KNOWN_WITHIN_MS });
    const { now: untilMs, health } = this.#world;
    this.#knownUntil.set(uid, health.watchedUntil({ untilMs, forMs: KNOWN_WITHIN_MS }));
    const claim = this.#world.cluster.claims.byUid(uid);
    if (claim !== undefined) {
      // Mooring repairs what another client wrote, such as the copied status of an earlier claim.
      if (isOwn) this.#noteMove(claim, { now, before });
      judgeWrite(this.#docket, this.#witness.caseOf(claim), {
        ...{ now, before, own, knownBeforeMs, sentMs, knownUntilMs },
        presentMs: this.#presentMs(by, { isOwn: this.#writtenBy.get(uid) === by, sentMs }),
      });
    }
    this.#writtenBy.set(uid, by);
  }

  #noteMove(claim: ClaimRecord, { now, before }: Pick<Write, "now" | "before">): void {
    const { last } = this.#witness.sceneOf(claim, Number.POSITIVE_INFINITY);
    if (before?.isUnused !== true || !now.isUnused || before.sinceMs < last.byMs) return;
    const { dispute, lookalikes, lookalikesOn = [] } = this.#witness.caseOf(claim);
    if (dispute !== undefined || lookalikes.length > 0 || lookalikesOn.length > 0) return;
    if (now.sinceMs > before.sinceMs)
      this.#moved.push(
        `${claim.name} was moved from ${before.sinceMs} to ${now.sinceMs}, and no pod has used it since`,
      );
  }

  /** A time by a clock that only another process has seen is in the future for this writer. */
  #presentMs(by: string, { isOwn, sentMs }: { readonly isOwn: boolean; readonly sentMs: number }): number {
    const { engine, apiClocks, health, tempo } = this.#world;
    // A process without an answer for longer no longer leads.
    const answeredMs = health.knewUntil(by, { untilMs: sentMs, forMs: tempo.election.renewDeadlineMs });
    return engine.trueWallMs() + (isOwn ? apiClocks.leastNow : apiClocks.leastFrom(answeredMs));
  }
}

function sentKey(resourceVersion: string, written: Published | undefined): string {
  return `${resourceVersion} ${JSON.stringify(written)}`;
}

/** Compares the conditions without the annotations. */
function isSameCondition(one: Published, other: Published): boolean {
  const { lastUse, mountedOn, hasMore, unusedSince, gap } = one;
  return isSame(one, { ...other, lastUse, mountedOn, hasMore, unusedSince, gap });
}

function annotationsOf({ metadata }: ApiObject): number {
  return Object.keys(metadata.annotations ?? {}).length;
}
