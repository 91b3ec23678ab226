import type { Claim } from "../../common/storage/claim.ts";
import { volumeMatcher } from "../../common/storage/volume-identity.ts";
import { refersTo } from "../core/claims/attribution.ts";
import { causeOf, isKept, isStillMounted, type ObservedMount, type RemovedClaim } from "../core/claims/deletion.ts";
import type { ClaimEvidence } from "../core/claims/evidence.ts";
import type { ClaimWarning } from "../sinks/claim-events.ts";
import type { ClaimParts } from "./state.ts";

/** Agents report an unmount within a second, so a deletion that takes this long is worth a warning. Milliseconds. */
const HELD_NEWS_MS = 30_000;
/** In an ordinary deletion the reports of unmount and unstage arrive within this. Milliseconds. */
const GRACE_MS = 10_000;

/** Claims that are being deleted, and claims that were removed too early. */
export class Deletions {
  readonly #parts: ClaimParts;
  /** By UID, by the API server's clock: since when protection alone keeps the claim; undefined while it does not. */
  readonly #heldSinceMs = new Map<string, number | undefined>();
  /** UIDs of claims, each with the kind of a warning. */
  readonly #warned = new Set<string>();
  /** By key: claims that went while a node had them mounted, until their nodes have reported or stopped Reporting. */
  readonly #removed = new Map<string, RemovedClaim>();

  constructor(parts: ClaimParts) {
    this.#parts = parts;
  }

  /** For how long protection alone has kept each claim that it keeps. Milliseconds. */
  heldMs(): readonly number[] {
    const nowMs = this.#parts.nowMs();
    return [...this.#heldSinceMs.values()].flatMap((sinceMs) => (sinceMs === undefined ? [] : nowMs - sinceMs));
  }

  isHeld({ uid }: Claim): boolean {
    return this.#heldSinceMs.get(uid) !== undefined;
  }

  /** Warns once where protection alone keeps the claim. Answers in how many milliseconds to check again, if at all. */
  compare(evidence: ClaimEvidence): number | undefined {
    const { cluster, nowMs, protection } = this.#parts;
    const { claim } = evidence;
    if (!claim.isDeleting || protection !== "enforce") return undefined;
    const mounts = this.#mountsOf(evidence);
    if (isForced(claim)) this.#warnOfRelease(claim, mounts);
    // Like Kubernetes' controller: a pod that is not scheduled does not count, a finished one does.
    const isUsedByPod = cluster.podsOf(claim.key).some((pod) => pod.node !== undefined && refersTo(pod, claim));
    const isHeld = isKept(claim) && !isUsedByPod && !isForced(claim);
    // Since the request, where this leader finds the claim kept.
    const beganMs = this.#heldSinceMs.has(claim.uid) ? undefined : claim.deletion?.requestedAtMs;
    const sinceMs = isHeld ? (this.#heldSinceMs.get(claim.uid) ?? beganMs ?? nowMs()) : undefined;
    this.#heldSinceMs.set(claim.uid, sinceMs);
    if (sinceMs === undefined) return undefined;
    const restMs = sinceMs + HELD_NEWS_MS - nowMs();
    if (restMs > 0) return restMs;
    this.#warnOnce(claim, { kind: "deletion-held", mounts });
    return undefined;
  }

  /** The claim is gone, perhaps before any check. `checkRemoved` has to be called after the time that this answers. */
  onGone(evidence: ClaimEvidence): number | undefined {
    const { nowMs, protection } = this.#parts;
    const { claim } = evidence;
    const mounts = this.#mountsOf(evidence);
    if (protection === "enforce" && isForced(claim)) this.#warnOfRelease(claim, mounts);
    this.#heldSinceMs.delete(claim.uid);
    for (const kind of ["force-released", "deletion-held"]) this.#warned.delete(`${claim.uid}/${kind}`);
    if (mounts.length === 0) return undefined;
    const isItsVolume = volumeMatcher(evidence.identities);
    this.#removed.set(claim.key, { claim, mounts, isItsVolume, goneAtMs: nowMs() });
    return GRACE_MS;
  }

  /** Warns once if a later scan shows the gone claim mounted (unknown without reports). Answers like `compare`. */
  checkRemoved(key: string): number | undefined {
    const removed = this.#removed.get(key);
    if (removed === undefined) return undefined;
    const { fleet, agentStates, warnings, measures, nowMs, protection } = this.#parts;
    const restMs = removed.goneAtMs + GRACE_MS - nowMs();
    if (restMs > 0) return restMs;
    const reporting = removed.mounts.filter(({ node }) => agentStates.of(node).kind === "Reporting");
    const isMountedOn = (node: string): boolean | undefined => isStillMounted(removed, fleet.view(node));
    const mounts = reporting.filter(({ node }) => isMountedOn(node) === true);
    if (mounts.length === 0 && reporting.some(({ node }) => isMountedOn(node) === undefined)) return GRACE_MS;
    this.#removed.delete(key);
    if (mounts.length === 0) return undefined;
    const cause = causeOf(removed.claim, protection);
    measures.removedWhileMounted(cause);
    warnings.warn(removed.claim, { kind: "removed-while-mounted", mounts, cause });
    return undefined;
  }

  #warnOfRelease(claim: Claim, mounts: readonly ObservedMount[]): void {
    this.#warnOnce(claim, { kind: "force-released", mounts, why: claim.deletion?.override ?? "" });
  }

  #warnOnce(claim: Claim, warning: ClaimWarning): void {
    const id = `${claim.uid}/${warning.kind}`;
    if (!this.#warned.has(id)) this.#parts.warnings.warn(claim, warning);
    this.#warned.add(id);
  }

  #mountsOf({ uses, shownOn }: ClaimEvidence): readonly ObservedMount[] {
    const { cluster, agentStates } = this.#parts;
    const used = uses.map(({ node, pod, podUid }): ObservedMount => ({ node, pod: pod ?? cluster.podName(podUid) }));
    const staged = shownOn.filter((node) => !used.some((use) => use.node === node));
    const mounts = [...used, ...staged.map((node): ObservedMount => ({ node, pod: undefined }))];
    return mounts.filter(({ node }) => agentStates.assumedEnd(node) === undefined);
  }
}

function isForced(claim: Claim): boolean {
  return isKept(claim) && claim.deletion?.override !== undefined;
}
