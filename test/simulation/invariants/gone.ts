import type { StoreEvent } from "../engine/api/api.ts";
import type { ApiObject } from "../engine/api/objects.ts";
import { type Published, publishedIn, stagedIn } from "../published.ts";
import type { Use } from "../truth.ts";
import type { ClaimRecord } from "../world/claims.ts";
import type { SimNode } from "../world/sim-node.ts";
import { stagedSince } from "../world/staging.ts";
import type { World } from "../world/world.ts";
import { isUnseen, promisedEnd } from "./ends.ts";
import { BrokenPromise } from "./promises.ts";
import { hasSeen, isMountedInTime } from "./seen.ts";
import { describe } from "./states.ts";
import type { ToldMount, ToldUses } from "./told.ts";

/** Why a claim may be gone although its volume is mounted; each is what the documents say that protection does not cover. */
export type Excuse =
  /** Somebody set the override. */
  | "override"
  /** Mooring had written nothing of it when its deletion was asked for, and had not had the time to. */
  | "never written"
  /** No mount table shows it: a hostPath volume, a node without an agent. */
  | "unseen"
  /** Somebody said that the node is gone. */
  | "node gone"
  /** An earlier report of its node, kept on the way, came to a new leader before the node's own, and showed no mount. */
  | "late copy"
  /** Mounted so shortly before that no leader had been told of it, or had had the time to write it. */
  | "not reported";

/** So long an undisturbed leader may take from what it is told to what is stored. True milliseconds. */
const WRITES_MS = 3_000;

interface Gone {
  readonly claim: ClaimRecord;
  /** What was stored when the server let it go. */
  readonly stored: Published | undefined;
}

/** Looks at each claim at the moment when it is gone: by the truth of the kernels, nothing of it may be mounted. */
export class GoneWatch {
  readonly #world: World;
  readonly #told: ToldUses;
  /** By UID: when it was stored that the claim is staged or mounted, and where. */
  readonly #stored = new Map<string, readonly { readonly atMs: number; readonly where: string }[]>();
  /** How many claims went although their volume was mounted, by why. */
  readonly #excuses = new Map<Excuse, number>();
  /** How many went in a world that enforces protection. */
  #count = 0;
  broken: BrokenPromise | undefined;

  constructor(world: World, told: ToldUses) {
    this.#world = world;
    this.#told = told;
    if (world.protection === "enforce") world.engine.api.observe((event) => this.#hear(event));
  }

  /** What became of claims that were deleted where protection is enforced. */
  get figures(): Readonly<Record<string, number>> {
    const excuses = [...this.#excuses].map(([why, count]) => [`gone while mounted: ${why}`, count] as const);
    const held = this.#world.protection === "enforce" ? this.#world.cluster.claimController.refused.size : 0;
    return { gone: this.#count, held, ...Object.fromEntries(excuses) };
  }

  #hear({ resource, type, object, previous }: StoreEvent): void {
    if (resource !== "persistentvolumeclaims") return;
    const { uid } = object.metadata;
    if (type !== "DELETED") {
      const where = [stagedIn(object) ?? "", ...(publishedIn(object)?.mountedOn ?? [])].join(" ").trim();
      if (where !== "") this.#stored.set(uid, [...(this.#stored.get(uid) ?? []), { atMs: this.#world.now, where }]);
      return;
    }
    const claim = this.#world.cluster.claims.byUid(uid);
    if (claim !== undefined && previous !== undefined) this.#check(claim, previous);
  }

  #check(claim: ClaimRecord, previous: ApiObject): void {
    this.#count += 1;
    const { truth, nodes } = this.#world;
    const gone: Gone = { claim, stored: publishedIn(previous) };
    const uses = truth.usesOf(claim.uid).filter(({ endedAt }) => endedAt === undefined);
    const staged = nodes.filter((node) => stagedSince(node, claim.volume) !== undefined);
    const isForced = overrides(previous);
    for (const use of uses) this.#judge(isForced ? "override" : this.#excuseOfUse(gone, use), gone, describe(use));
    for (const node of staged) {
      const excuse = isForced ? "override" : this.#excuseOfStaging(gone, node);
      this.#judge(excuse, gone, `its volume is staged on ${node.name}`);
    }
  }

  #judge(excuse: Excuse | undefined, { claim, stored }: Gone, why: string): void {
    if (excuse !== undefined) {
      this.#excuses.set(excuse, (this.#excuses.get(excuse) ?? 0) + 1);
      return;
    }
    const said = stored === undefined ? "nothing" : `${stored.reason}, ${stored.message}, ${stored.staged ?? ""}`;
    this.broken ??= new BrokenPromise("protected", `${claim.name} is gone: ${why}; stored was ${said}`);
  }

  #excuseOfUse({ claim, stored }: Gone, use: Use): Excuse | undefined {
    const world = this.#world;
    if (promisedEnd(world, use) !== undefined) return "unseen";
    if (world.wasGivenUp(use)) return "node gone";
    const pod = world.cluster.pods.byUid(use.podUid);
    const isKnown = pod !== undefined && isMountedInTime(use, pod);
    const writer = this.#writer();
    if (stored?.isUnused === false) return undefined;
    // Once it is being deleted, Mooring begins to write of no claim.
    const untilMs = stored === undefined ? (claim.deletedAt ?? world.now) : world.now;
    if (isKnown && hasSeen(world, { writer, sentMs: untilMs }, pod)) return undefined;
    const mount = { ...use, volume: claim.volume };
    if (this.#hadTime(mount, untilMs)) return undefined;
    return this.#wasStored(claim, mount) ? this.#copyOf(mount) : unreported(stored);
  }

  #excuseOfStaging({ claim, stored }: Gone, node: SimNode): Excuse | undefined {
    const world = this.#world;
    const { name } = node;
    const beganAt = stagedSince(node, claim.volume) ?? world.now;
    if (stored?.isUnused === false || stored?.staged !== undefined) return undefined;
    if (world.wasGivenUp({ node: name, beganAt, endedAt: undefined })) return "node gone";
    if (isUnseen(world, name, world.now)) return "unseen";
    const mount = { node: name, bootId: node.machine.bootId(), volume: claim.volume, beganAt };
    const untilMs = stored === undefined ? (claim.deletedAt ?? world.now) : world.now;
    // What was staged for an earlier claim is this one's from its begin on.
    const wasThere = untilMs - (world.cluster.claims.madeAt(claim.uid) ?? 0) >= WRITES_MS;
    if (wasThere && this.#hadTime(mount, untilMs)) return undefined;
    return this.#wasStored(claim, mount) ? this.#copyOf(mount) : unreported(stored);
  }

  /** It was stored once that the claim is mounted there: that may be forgotten only for what the node itself has reported since. */
  #wasStored({ uid }: ClaimRecord, { node, beganAt }: ToldMount): boolean {
    return this.#stored.get(uid)?.some(({ atMs, where }) => atMs >= beganAt && where.includes(node)) === true;
  }

  #copyOf(mount: ToldMount): Excuse | undefined {
    const isCopy = this.#world.copies.came.has(mount.node) && this.#told.toldMs(mount) === undefined;
    return isCopy ? "late copy" : undefined;
  }

  /** Who leads, if it runs and has led for long enough. */
  #writer(): string {
    const { replicas, term, now } = this.#world;
    const { leader } = this.#told;
    const isRunning = replicas.some(({ name, process }) => name === leader && process?.state() === "running");
    return isRunning && now - term.beganMs >= WRITES_MS ? leader : "";
  }

  /** The leader was told of the mount so long before that it had stored it by then, as nothing befell it since. */
  #hadTime(mount: ToldMount, untilMs: number): boolean {
    const toldMs = this.#told.toldMs(mount);
    const heardMs = this.#world.attention.since(this.#writer());
    return toldMs !== undefined && untilMs - Math.max(toldMs, heardMs) >= WRITES_MS;
  }
}

function unreported(stored: Published | undefined): Excuse {
  return stored === undefined ? "never written" : "not reported";
}

/** The claim's own override, by what docs/protection.md says of it. */
function overrides({ metadata: { uid, annotations = {} } }: ApiObject): boolean {
  const value = annotations["mooring.dev/force-release"];
  return typeof value === "string" && value.startsWith(uid.slice(0, 8));
}
