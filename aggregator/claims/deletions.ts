import { WorkQueue } from "../../common/kube/work-queue.ts";
import type { Claim } from "../../common/storage/claim.ts";
import { volumeMatcher } from "../../common/storage/volume-identity.ts";
import { refersTo } from "../core/claims/attribution.ts";
import { causeOf, isStillMounted, type ObservedMount, type RemovedClaim } from "../core/claims/deletion.ts";
import type { ClaimEvidence } from "../core/claims/evidence.ts";
import { identitiesOf } from "../core/volumes/use.ts";
import { HeldDeletions, type ObservedDeletion } from "../writing/held-deletions.ts";
import type { ClaimParts } from "./claim-parts.ts";
import type { ClaimStates } from "./state.ts";

interface DeletionParts extends ClaimParts {
  readonly states: ClaimStates;
}

/** In an ordinary deletion the reports of unmount and unstage arrive within this. Milliseconds. */
const GRACE_MS = 10_000;

/** Claims that are being deleted, and claims that were removed too early. */
export class Deletions {
  readonly held: HeldDeletions;
  readonly #parts: DeletionParts;
  /** By UID: claims that went although a node reported them mounted, until their nodes have reported or no longer count as Reporting. */
  readonly #removed = new Map<string, RemovedClaim>();
  /** UIDs of these. */
  readonly #queue: WorkQueue;

  constructor(parts: DeletionParts) {
    this.#parts = parts;
    this.held = new HeldDeletions(parts);
    this.#queue = new WorkQueue({ ...parts, errors: parts.internalErrors.in("claims") });
  }

  /** Answers after how many milliseconds to check the claim again, if necessary. */
  compare(claim: Claim): number | undefined {
    return claim.isDeleting ? this.held.compare(this.#observe(claim, this.#parts.states.evidence(claim))) : undefined;
  }

  /** The caller has to call this before it forgets the claim. */
  onGone(claim: Claim): void {
    const evidence = this.#parts.states.evidence(claim);
    const { mounts } = this.#observe(claim, evidence);
    this.held.onGone({ claim, mounts, isUsedByPod: false });
    if (mounts.length === 0) return;
    const isItsVolume = volumeMatcher(volumeIdentities(evidence));
    const cause = causeOf(claim, this.#parts.protection);
    this.#removed.set(claim.uid, { claim, cause, mounts, isItsVolume, goneAtMs: this.#parts.nowMs() });
    this.#queue.addAfter(claim.uid, GRACE_MS);
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run(async (uid) => this.#checkRemoved(uid), signal);
  }

  /** Warns once, when a later scan of a reporting node still shows a mount. What a node without reports has mounted is unknown. */
  #checkRemoved(uid: string): void {
    const removed = this.#removed.get(uid);
    if (removed === undefined) return;
    const { fleet, agentStates, warnings, onRemoved } = this.#parts;
    const reporting = removed.mounts.filter(({ node }) => agentStates.of(node).kind === "Reporting");
    const isMountedOn = (node: string): boolean | undefined => {
      const view = fleet.view(node);
      return view && isStillMounted(removed, view);
    };
    const mounts = reporting.filter(({ node }) => isMountedOn(node) === true);
    if (mounts.length === 0 && reporting.some(({ node }) => isMountedOn(node) === undefined)) {
      this.#queue.addAfter(uid, GRACE_MS);
      return;
    }
    this.#removed.delete(uid);
    if (mounts.length === 0) return;
    onRemoved(removed.cause);
    warnings.warn(removed.claim, { kind: "removed-while-mounted", mounts, cause: removed.cause });
  }

  #observe(claim: Claim, { uses, shownOn }: ClaimEvidence): ObservedDeletion {
    const { cluster, agentStates } = this.#parts;
    const isThere = (node: string): boolean => agentStates.assumedEnd(node) === undefined;
    const used = uses.map(({ node, pod, podUid }): ObservedMount => ({ node, pod: pod ?? cluster.podName(podUid) }));
    const staged = shownOn.filter((node) => !used.some((use) => use.node === node));
    const mounts = [...used, ...staged.map((node): ObservedMount => ({ node, pod: undefined }))];
    // Like Kubernetes' controller: a pod that is not scheduled does not count, a finished one does.
    const isUsedByPod = cluster.podsOf(claim.key).some((pod) => pod.node !== undefined && refersTo(pod, claim));
    return { claim, mounts: mounts.filter(({ node }) => isThere(node)), isUsedByPod };
  }
}

function volumeIdentities({ claim, volume }: ClaimEvidence): ReturnType<typeof identitiesOf> {
  const name = volume?.key ?? claim.volume;
  return name === undefined ? [] : identitiesOf(name, volume?.csi);
}
