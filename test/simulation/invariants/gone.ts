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
  /** When its deletion was asked for, Mooring had written nothing of it, and had not had the time to write of this mount. */
  | "never written"
  /** No mount table shows it: a hostPath volume, a node without an agent. */
  | "unseen"
  /** Somebody said that the node is gone. */
  | "node gone"
  /** Mounted so shortly before that no leader had been told of it, or had had the time to write it. */
  | "not reported";

/** So long an undisturbed leader may take from what it is told to what is stored. True milliseconds. */
const WRITES_MS = 3_000;

interface Gone {
  readonly claim: ClaimRecord;
  /** What was stored when the server let it go. */
  readonly stored: Published | undefined;
}

/** A mount that is there, and why its claim may be gone all the same; without an excuse it may not. */
interface Mount {
  readonly words: string;
  readonly excuse: Excuse | undefined;
}

/** Looks at each claim at the moment when it is gone: by the truth of the kernels, nothing of it may be mounted. */
export class GoneWatch {
  readonly #world: World;
  readonly #told: ToldUses;
  /** By UID: when it was stored that the claim is staged or mounted, and where. */
  readonly #stored = new Map<string, readonly { readonly atMs: number; readonly where: string }[]>();
  /** By UID, of claims of which nothing was stored when their deletion was asked for: the mounts that Mooring had had the time to write of. */
  readonly #owed = new Map<string, ReadonlySet<string>>();
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
    const claim = this.#world.cluster.claims.byUid(uid);
    if (type !== "DELETED") {
      const where = [stagedIn(object) ?? "", ...(publishedIn(object)?.mountedOn ?? [])].join(" ").trim();
      if (where !== "") this.#stored.set(uid, [...(this.#stored.get(uid) ?? []), { atMs: this.#world.now, where }]);
      if (claim !== undefined && isAskedFor(object, previous)) this.#noteOwed({ claim, stored: publishedIn(object) });
    } else if (claim !== undefined && previous !== undefined) this.#check(claim, previous);
  }

  /** From now on Mooring begins to write of the claim no more: what it had the time for has to be stored by now. */
  #noteOwed(gone: Gone): void {
    if (gone.stored !== undefined) return;
    const owed = this.#mountsOf(gone).filter(({ excuse }) => excuse === undefined);
    this.#owed.set(gone.claim.uid, new Set(owed.map(({ words }) => words)));
  }

  #check(claim: ClaimRecord, previous: ApiObject): void {
    this.#count += 1;
    const gone: Gone = { claim, stored: publishedIn(previous) };
    const owed = gone.stored === undefined ? this.#owed.get(claim.uid) : undefined;
    for (const mount of this.#mountsOf(gone)) {
      const excuse = owed?.has(mount.words) === false ? "never written" : mount.excuse;
      this.#judge(overrides(previous) ? "override" : excuse, gone, mount.words);
    }
  }

  #mountsOf(gone: Gone): readonly Mount[] {
    const { truth, nodes } = this.#world;
    const { uid, volume } = gone.claim;
    const uses = truth.usesOf(uid).filter(({ endedAt }) => endedAt === undefined);
    const staged = nodes.filter((node) => stagedSince(node, volume) !== undefined);
    return [
      ...uses.map((use) => ({ words: describe(use), excuse: this.#excuseOfUse(gone, use) })),
      ...staged.map((node) => ({
        words: `its volume is staged on ${node.name}`,
        excuse: this.#excuseOfStaging(gone, node),
      })),
    ];
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
    if (isKnown && hasSeen(world, { writer, sentMs: world.now }, pod)) return undefined;
    const mount = { ...use, volume: claim.volume };
    if (this.#hadTime(mount)) return undefined;
    return this.#wasStored(claim, mount) ? undefined : unreported(stored);
  }

  #excuseOfStaging({ claim, stored }: Gone, node: SimNode): Excuse | undefined {
    const world = this.#world;
    const { name } = node;
    const beganAt = stagedSince(node, claim.volume) ?? world.now;
    if (stored?.isUnused === false || stored?.staged !== undefined) return undefined;
    if (world.wasGivenUp({ node: name, beganAt, endedAt: undefined })) return "node gone";
    if (isUnseen(world, name, world.now)) return "unseen";
    const mount = { node: name, bootId: node.machine.bootId(), volume: claim.volume, beganAt };
    // What was staged for an earlier claim is this one's from its begin on.
    const wasThere = world.now - (world.cluster.claims.madeAt(claim.uid) ?? 0) >= WRITES_MS;
    if (wasThere && this.#hadTime(mount)) return undefined;
    return this.#wasStored(claim, mount) ? undefined : unreported(stored);
  }

  /** It was stored once that the claim is mounted there: that may be forgotten only for what the node itself has reported since. */
  #wasStored({ uid }: ClaimRecord, { node, beganAt }: ToldMount): boolean {
    return this.#stored.get(uid)?.some(({ atMs, where }) => atMs >= beganAt && where.includes(node)) === true;
  }

  /** Who leads, if it runs and has led for long enough. */
  #writer(): string {
    const { replicas, term, now } = this.#world;
    const { leader } = this.#told;
    const isRunning = replicas.some(({ name, process }) => name === leader && process?.state() === "running");
    return isRunning && now - term.beganMs >= WRITES_MS ? leader : "";
  }

  /** The leader was told of the mount so long before that it had stored it by then, as nothing befell it since. */
  #hadTime(mount: ToldMount): boolean {
    const toldMs = this.#told.toldMs(mount);
    const heardMs = this.#world.attention.since(this.#writer());
    return toldMs !== undefined && this.#world.now - Math.max(toldMs, heardMs) >= WRITES_MS;
  }
}

function unreported(stored: Published | undefined): Excuse {
  return stored === undefined ? "never written" : "not reported";
}

/** Its deletion is asked for by this very write. */
function isAskedFor(object: ApiObject, previous: ApiObject | undefined): boolean {
  return object.metadata.deletionTimestamp !== undefined && previous?.metadata.deletionTimestamp === undefined;
}

/** The claim's own override, by what docs/protection.md says of it. */
function overrides({ metadata: { uid, annotations = {} } }: ApiObject): boolean {
  const value = annotations["mooring.dev/force-release"];
  return typeof value === "string" && value.startsWith(uid.slice(0, 8));
}
