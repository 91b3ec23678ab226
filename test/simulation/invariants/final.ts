import { TEMPOS } from "../plan/tempo.ts";
import type { Published, PublishedUse } from "../published.ts";
import type { Use } from "../truth.ts";
import { type ClaimRecord, claimNamesOf } from "../world/claims.ts";
import { NAMESPACE } from "../world/objects.ts";
import { stagedSince } from "../world/staging.ts";
import type { World } from "../world/world.ts";
import { promisedEnd } from "./ends.ts";
import { BrokenPromise } from "./promises.ts";
import { describe, publishedNow, referencesOf } from "./states.ts";
import { isUnknowable } from "./unknowable.ts";
import { apiWallOf } from "./wall.ts";
import type { WriteWatch } from "./writes.ts";

/**
 * How much later than the truth a time may be where nothing went wrong: a second of rounding, up to a second of what the API server's
 * `Date` leaves open, and what a read takes. Milliseconds.
 */
const EXACT_MS = 3_000;

/** A use of a slewed clock, or one that is so short that perhaps no read showed it. Milliseconds. */
const SHORT_MS = 3_000;

/** All faults have ended, and enough time has passed: each claim has the right status, with the right time. */
export function checkFinal(world: World, quietFromMs: number): void {
  for (const claim of world.cluster.claims.all) {
    const published = publishedNow(world, claim);
    // One that was deleted before it was given a status gets none.
    if (published === undefined && claim.isDeleting) continue;
    if (published === undefined) throw new BrokenPromise("exact", `${claim.name} has no status`);
    checkState(world, claim, published);
    if (published.isUnused) checkTime(world, claim, { published, quietFromMs });
  }
}

function checkState(world: World, claim: ClaimRecord, published: Published): void {
  const { isUnused, reason } = published;
  const uses = world.truth.usesOf(claim.uid);
  const users = uses.filter((use) => use.isShown && promisedEnd(world, use) === undefined && isWatched(world, use));
  const references = referencesOf(world, claim);
  // What an earlier claim left mounted, or somebody unmounted under a running pod, may count as use for longer than it is one.
  const isVague = world.cluster.claims.shadowed.has(claim.uid) || world.unclear.has(claim.uid);
  if (!isVague) checkStaged(world, claim, published);
  const isInUse = users.length > 0 || references.length > 0;
  if (isUnused && isInUse && !isVague) {
    const who = users[0] === undefined ? `${references[0]?.key} refers to it` : describe(users[0]);
    throw new BrokenPromise("exact", `${claim.name} is called unused (${reason}), but ${who}`);
  }
  if (!isUnused && !isInUse && !isVague) throw new BrokenPromise("exact", `${claim.name} is still called ${reason}`);
  if (isVague || isUnused) return;
  const expected = users.length > 0 ? "Mounted" : "Referenced";
  if (reason !== expected) throw new BrokenPromise("exact", `${claim.name} is called ${reason} and is ${expected}`);
}

/** Where a claim is kept for it, whether its volume is staged is told beside that it is unused. */
function checkStaged({ protection, nodes }: World, claim: ClaimRecord, { isUnused, staged }: Published): void {
  const stagedOn = nodes.filter(
    (node) => node.agentPodUid !== undefined && stagedSince(node, claim.volume) !== undefined,
  );
  const isExpected = protection !== "off" && isUnused && stagedOn.length > 0;
  if (isExpected === (staged !== undefined)) return;
  const where = stagedOn.map(({ name }) => name).join(", ") || "nowhere";
  throw new BrokenPromise("exact", `${claim.name} is staged on ${where}, and says "${staged ?? ""}"`);
}

function isWatched(world: World, { node }: Use): boolean {
  return world.nodes.some(({ name, agentPodUid }) => name === node && agentPodUid !== undefined);
}

interface Told {
  readonly published: Published;
  readonly quietFromMs: number;
}

function checkTime(world: World, claim: ClaimRecord, { published, quietFromMs }: Told): void {
  const wall = apiWallOf(world);
  const uses = world.truth.usesOf(claim.uid);
  const ends = uses.filter((use) => !isUnknowable(world, use)).map((use) => promisedEnd(world, use) ?? 0);
  const latestUse = Math.max(0, ...ends);
  if (published.sinceMs < wall.earliest(latestUse))
    throw new BrokenPromise(
      "never-longer",
      `${claim.name} counts since ${wall.trueMs(published.sinceMs)}, was used until ${latestUse}`,
    );
  const isVague = world.cluster.claims.shadowed.has(claim.uid) || world.unclear.has(claim.uid);
  const pods = world.cluster.pods.all.filter((pod) => claimNamesOf(pod).includes(claim.name));
  const latestPod = Math.max(0, ...pods.map(({ overAt }) => overAt ?? 0));
  const madeAt = world.cluster.claims.madeAt(claim.uid) ?? 0;
  const seenFrom = published.reason === "NeverObservedInUse" ? firstSeenFrom(world, madeAt) : 0;
  const latest = Math.max(latestUse, latestPod, madeAt, seenFrom, ...uses.map(({ endedAt }) => endedAt ?? 0));
  if (isVague || latest < quietFromMs) return;
  if (published.sinceMs > wall.latest(latest) + EXACT_MS) {
    const late = Math.round(published.sinceMs - wall.latest(latest));
    throw new BrokenPromise(
      "exact",
      `${claim.name} (${published.reason}) is ${late} ms late, although nothing went wrong`,
    );
  }
  checkLastUser(world, claim, published);
}

/** A claim without a status counts from when somebody leads who gives it one, and has heard of all nodes if the claim was there before. */
function firstSeenFrom({ leading, term, nodes, tempo }: World, madeAt: number): number {
  if (madeAt > term.beganMs) return leading.sinceMs;
  const silentAt = term.beganMs + tempo.limits.silentAfterMs;
  return Math.max(leading.sinceMs, ...nodes.map(({ name }) => Math.min(silentAt, term.heard.get(name) ?? silentAt)));
}

/** Of several that ended within the uncertainty any may be named: that of what a run tells at best, and that which is published. */
function checkLastUser(world: World, claim: ClaimRecord, { lastUse }: Published): void {
  const uses = world.truth.usesOf(claim.uid).filter(({ isShown, node, beganAt, endedAt = 0 }) => {
    return isShown && endedAt - beganAt > SHORT_MS && !world.agentless.some((one) => one.node === node);
  });
  const last = Math.max(0, ...uses.map(({ endedAt }) => endedAt ?? 0));
  if (uses.length === 0) return;
  const users = world.truth.usesOf(claim.uid).filter(({ endedAt = 0 }) => endedAt >= last - EXACT_MS);
  const podUid = lastUse?.podUid;
  if (users.some((use) => use.podUid === podUid) || usedEarlierClaim(world, claim, podUid)) return;
  if (isForgottenInline(world, claim, podUid) || mayBeLast(world, claim, { lastUse, last })) return;
  const who = users.map(({ pod }) => pod).join(" or ");
  throw new BrokenPromise(
    "last-user",
    `${claim.name} was last used by ${who}, named is ${lastUse?.podUid ?? "nobody"}`,
  );
}

/** An administrator took the earlier claim away under the pod, by its finalizer: by name the pod refers to this one, and its end counts. */
function usedEarlierClaim({ truth }: World, { name, uid }: ClaimRecord, podUid: string | undefined): boolean {
  return truth.all.some((use) => use.podUid === podUid && use.claim === `${NAMESPACE}/${name}` && use.claimUid !== uid);
}

/**
 * It did use the claim, and what is published of its end leaves open whether it was the last: no scan showed that end, or a boot hid it, so it is
 * known from above alone, and the last use ended before that.
 */
function mayBeLast(
  world: World,
  { uid }: ClaimRecord,
  { lastUse, last }: { readonly lastUse: PublishedUse | undefined; readonly last: number },
): boolean {
  const { releasedAtMs = 0, uncertaintyMs = Number.POSITIVE_INFINITY, podUid } = lastUse ?? {};
  const wall = apiWallOf(world);
  const isUser = world.truth.usesOf(uid).some((use) => use.isShown && use.podUid === podUid);
  return isUser && releasedAtMs >= wall.earliest(last) && releasedAtMs - uncertaintyMs <= wall.latest(last);
}

/** Of a pod that was gone before the present leader began nobody knows that a volume with the PV's name was an inline one. */
function isForgottenInline({ cluster, term }: World, { volume }: ClaimRecord, podUid: string | undefined): boolean {
  const pod = cluster.pods.byUid(podUid ?? "");
  const isInline = pod?.volumes.some((one) => one.by === "inline" && one.name === volume.pv) === true;
  return isInline && (pod.overAt ?? Number.POSITIVE_INFINITY) <= term.beganMs;
}

/** For each pod at most: referred to, mounted, mounted still although it is over, unmounted. What they have in common is one write. */
const WRITES_A_POD = 4;

/**
 * Where nothing goes wrong, a claim is written once when it is first seen, and a few times for each pod that named it. A replica that
 * has no other beside it leaves a time in which nobody watches whenever it is replaced: that may move the time of a claim, once. In a
 * brisk world one upgrade comes upon the other, so that two replicas may be away together.
 */
export function checkWriteCounts(world: World, writes: WriteWatch, upgrades: number): void {
  const gaps = world.replicas.length === 1 || world.tempo === TEMPOS.brisk ? upgrades : 0;
  for (const { name, uid, volume } of world.cluster.claims.all) {
    const pods = world.cluster.pods.all.filter((pod) => claimNamesOf(pod).includes(name));
    // What an earlier claim left on it goes in a write of its own.
    const cleanings = world.cluster.claims.restored.has(uid) ? 1 : 0;
    const most = 1 + gaps + cleanings + WRITES_A_POD * pods.length + stagingWrites(world, volume.handle);
    const count = writes.countOf(uid);
    if (count > most)
      throw new BrokenPromise("one-write", `${name} was written ${count} times for ${pods.length} pods`);
  }
}

/** Where it is told that a volume is staged: that it is, and that it is no longer, for each pod with a volume of that handle. */
function stagingWrites({ protection, cluster }: World, handle: string): number {
  if (protection === "off") return 0;
  const names = cluster.claims.ever.filter((claim) => claim.volume.handle === handle).map(({ name }) => name);
  return 2 * cluster.pods.all.filter((pod) => claimNamesOf(pod).some((name) => names.includes(name))).length;
}

/** Nothing that is settled is kept on any node. */
export function checkJournals(world: World): void {
  for (const { name, disk } of world.nodes) {
    const kept = disk.newest?.releases ?? [];
    if (kept.length > 0) throw new BrokenPromise("journal", `${name} keeps ${kept.map(({ id }) => id).join(", ")}`);
  }
}
