import { judgeGone, judgeStranded, type MountAtDeletion } from "../../judge/deletions.ts";
import type { Docket } from "../../judge/docket.ts";
import { FORGED_NODE, JUST_FORGED, RESTORED } from "../../judge/forged.ts";
import { publishedIn } from "../../judge/published.ts";
import { describeUse } from "../../judge/record.ts";
import type { StoreEvent } from "../engine/api/api.ts";
import type { ApiObject } from "../engine/api/objects.ts";
import { isProtected } from "../engine/api/protection.ts";
import type { Use } from "../truth.ts";
import { type ClaimRecord, meansClaim } from "../world/claims.ts";
import { NAMESPACE } from "../world/objects.ts";
import { stagedSince } from "../world/staging.ts";
import type { World } from "../world/world.ts";
import { reportersOf, type Witness, WRITES_MS } from "./witness.ts";

/** An agent retries a refused report within this time. Milliseconds. */
const RETRIES_MS = 5_000;

/** No leader had, with the node's agent or its pod watch, the time to write the status. */
const NO_LEADER = "no leader without faults since the mount began";

/** A mount that exists when its claim is gone. */
interface Mount {
  readonly text: string;
  readonly node: string;
  readonly sinceMs: number;
  /** Since when Mooring could know it or its pod. */
  readonly knownMs: number;
  readonly excuse: () => string | undefined;
}

/** Judges each claim at the moment when it is gone. */
export class DeletionWatch {
  readonly #world: World;
  readonly #docket: Docket;
  readonly #witness: Witness;
  /** By UID, of claims without a stored status at their deletion request: when that request came. */
  readonly #unwritten = new Map<string, number>();
  /** UIDs of claims whose stored status another client had just removed. */
  readonly #removed = new Set<string>();
  /** By UID: when the status said that the claim is staged or mounted, and where. */
  readonly #stored = new Map<string, readonly { readonly atMs: number; readonly where: string }[]>();

  constructor(world: World, docket: Docket, witness: Witness) {
    this.#world = world;
    this.#docket = docket;
    this.#witness = witness;
    if (world.protection === "enforce") world.engine.api.observe((event) => this.#onEvent(event));
    world.backups.onRestored(() => this.#stored.clear());
  }

  #onEvent({ resource, type, object, previous }: StoreEvent): void {
    if (resource !== "persistentvolumeclaims") return;
    const claim = this.#world.cluster.claims.byUid(object.metadata.uid);
    if (claim === undefined || previous === undefined) return;
    if (type === "DELETED") this.#judge(claim, previous);
    const { staged = "", mountedOn = [] } = publishedIn(object) ?? {};
    const stored = { atMs: this.#world.now, where: [staged, ...mountedOn].join(" ") };
    this.#stored.set(claim.uid, [...(this.#stored.get(claim.uid) ?? []), stored]);
    const isAskedFor =
      object.metadata.deletionTimestamp !== undefined && previous.metadata.deletionTimestamp === undefined;
    // From now on Mooring writes no first status for it.
    if (!isAskedFor || publishedIn(object) !== undefined) return;
    this.#unwritten.set(claim.uid, this.#world.now);
    if (this.#witness.forgeries.isNew(claim.uid)) this.#removed.add(claim.uid);
  }

  #judge(claim: ClaimRecord, previous: ApiObject): void {
    const { truth, nodes } = this.#world;
    const byMs = this.#unwritten.get(claim.uid) ?? this.#world.now;
    const uses = truth.usesOf(claim.uid).filter(({ endedAt }) => endedAt === undefined);
    const mounts = [
      ...uses.map((use): MountAtDeletion => {
        const text = describeUse(this.#witness.useOf(use));
        const [sinceMs, knownMs] = [use.beganAt, Math.min(use.beganAt, this.#witness.namedMs(use))];
        const excuse = (): string | undefined => this.#excuseOfUse(use, byMs);
        return this.#mountAtDeletion(claim, { text, node: use.node, sinceMs, knownMs, excuse });
      }),
      ...nodes.flatMap(({ name: node }): readonly MountAtDeletion[] => {
        const sinceMs = this.#stagedOn(claim, node);
        if (sinceMs === undefined) return [];
        const text = `its volume is staged on ${node}`;
        const excuse = (): string | undefined => this.#excuseOfStaging(node, { sinceMs, byMs });
        return [this.#mountAtDeletion(claim, { text, node, sinceMs, knownMs: sinceMs, excuse })];
      }),
    ];
    const isRolledBack = this.#world.backups.isRolledBack(claim.uid);
    const why = isRolledBack ? RESTORED : JUST_FORGED;
    const isForged = isRolledBack || this.#removed.has(claim.uid) || this.#witness.forgeries.isNew(claim.uid);
    judgeGone(this.#docket, {
      name: claim.name,
      stored: isForged ? undefined : publishedIn(previous),
      mounts: isForged ? mounts.map((mount) => ({ ...mount, excuse: mount.excuse ?? why })) : mounts,
      isOverridden: overrides(previous),
    });
  }

  #mountAtDeletion(claim: ClaimRecord, { text, node, sinceMs, knownMs, excuse }: Mount): MountAtDeletion {
    const ofNode = this.#excuseOfNode({ node, beganAt: sinceMs });
    if (this.#wasStored(claim, { node, sinceMs })) return { text, isNew: false, excuse: ofNode };
    return { text, isNew: this.#world.now - knownMs < WRITES_MS, excuse: ofNode ?? excuse() };
  }

  /** An administrator declares the node gone: then its stored mounts do not count either. */
  #excuseOfNode({ node, beganAt }: Pick<Use, "node" | "beganAt">): string | undefined {
    return this.#world.wasDeclaredGone({ node, beganAt, endedAt: undefined }) ? "node declared gone" : undefined;
  }

  /** The status once said that the claim is mounted there: only a later report of that node may change it. */
  #wasStored({ uid }: ClaimRecord, { node, sinceMs }: { readonly node: string; readonly sinceMs: number }): boolean {
    return this.#stored.get(uid)?.some(({ atMs, where }) => atMs >= sinceMs && where.includes(node)) === true;
  }

  #stagedOn({ uid, volume }: ClaimRecord, name: string): number | undefined {
    const { nodes, cluster } = this.#world;
    const node = nodes.find((one) => one.name === name);
    const sinceMs = node && stagedSince(node, volume);
    // A mount that was staged for an earlier claim counts for this one from its creation on.
    return sinceMs === undefined ? undefined : Math.max(sinceMs, cluster.claims.madeAt(uid) ?? 0);
  }

  #excuseOfUse(use: Use, byMs: number): string | undefined {
    if (this.#witness.useOf(use).promisedEnd !== undefined) return "no mount table shows it";
    return this.#witness.isKnown(use, { byMs, forMs: WRITES_MS }) ? undefined : NO_LEADER;
  }

  #excuseOfStaging(
    node: string,
    { sinceMs, byMs }: { readonly sinceMs: number; readonly byMs: number },
  ): string | undefined {
    const { health, now } = this.#world;
    if (this.#witness.hadNoAgent(node, now)) return "no mount table shows it";
    const span = { fromMs: sinceMs, toMs: byMs };
    return health.ledBy(span, RETRIES_MS + WRITES_MS, reportersOf(node)) === undefined ? NO_LEADER : undefined;
  }
}

/** Everything has worked for long enough: a deleted claim is gone, or it is in use, or another client keeps it by a forged status. */
export function judgeDeleted(world: World, docket: Docket, isKeptByForgery: (claim: ClaimRecord) => boolean): void {
  const { cluster, engine } = world;
  for (const claim of cluster.claims.ever) {
    const there = engine.api.get({ resource: "persistentvolumeclaims", namespace: NAMESPACE, name: claim.name });
    const isGone = there?.metadata.uid !== claim.uid;
    if (!isGone && !claim.isDeleting) continue;
    // kube-controller-manager still has to retry a failed request of its own.
    const isOwed = !isGone && !isProtected(there) && cluster.claimController.retryAt(claim.uid) !== undefined;
    const forged = !isGone && isKeptByForgery(claim) ? FORGED_NODE : undefined;
    const excuse = isOwed ? "kube-controller-manager has yet to retry" : forged;
    judgeStranded(docket, { name: claim.name, isGone, isNeeded: isNeeded(world, claim), excuse });
  }
}

/** By the truth of the kernels and kubelets. */
function isNeeded({ truth, nodes, cluster }: World, claim: ClaimRecord): boolean {
  const isUsed = truth.usesOf(claim.uid).some(({ endedAt }) => endedAt === undefined);
  const isStaged = nodes.some((node) => stagedSince(node, claim.volume) !== undefined);
  return isUsed || isStaged || cluster.pods.there.some((pod) => pod.node !== "" && meansClaim(pod, claim));
}

/** The claim's own override, as docs/protection.md defines it. */
function overrides({ metadata: { uid, annotations = {} } }: ApiObject): boolean {
  const value = annotations["mooring.dev/force-release"];
  return typeof value === "string" && value.startsWith(uid.slice(0, 8));
}
