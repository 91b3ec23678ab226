import type { ErrorRecorder } from "../../common/runtime/internal-errors.ts";
import type { Claim } from "../../common/storage/claim.ts";
import { claimsOf } from "../core/claims/attribution.ts";
import { isSettledFor, supersedes, versionToReach } from "../core/claims/history.ts";
import type { NodeUnmountRecord, NodeView } from "../core/nodes/node-view.ts";
import { isUpTo } from "../core/pod-watch/history.ts";
import type { ClaimParts, ClaimStates } from "./state.ts";

type AnswersParts = ClaimParts & { readonly states: ClaimStates };

/** Watches may miss a claim or volume for little more than ten minutes (`createConsistencyChecker`). Milliseconds. */
const ON_ITS_WAY_MS = 900_000;

type LatestRecords = ReadonlyMap<string, NodeUnmountRecord>;

export class ReportAnswers {
  readonly #parts: AnswersParts;
  readonly #errors: ErrorRecorder;
  readonly #beganMs: number;

  constructor(parts: AnswersParts) {
    this.#parts = parts;
    this.#errors = parts.internalErrors.in("unmount-records");
    this.#beganMs = parts.clock.monotonicMs();
  }

  /** The version that the node's pod watch has to reach for its report to cover every pending pod that ended there. */
  versionToRequest(view: NodeView): string | undefined {
    return versionToReach(this.#parts.states.pendingOn(view.node), view);
  }

  /** IDs of the view's unmount records that can no longer change any status. */
  settled(view: NodeView): readonly string[] {
    const records = [...view.unmountRecords.values()];
    const latest = this.#latestOf(records.filter(({ isReported }) => isReported));
    // A bug in the evidence of one claim keeps only its own unmount records in the journal.
    const isSettled = (one: NodeUnmountRecord): boolean | undefined =>
      this.#errors.attempt(one.id, () => this.#isSettled(one, view, latest));
    return records.filter((one) => isSettled(one) === true).map(({ id }) => id);
  }

  /** Some of its claims may be unknown: gone, not seen yet, or re-created under the same name. */
  #isSettled(unmountRecord: NodeUnmountRecord, view: NodeView, latest: LatestRecords): boolean {
    const { cluster, nowMs } = this.#parts;
    const refs = claimsOf(unmountRecord, cluster);
    const claims = refs.flatMap(({ key, uid }) => {
      const claim = cluster.claim(key);
      return claim?.uid === uid ? [claim] : [];
    });
    if (claims.length > 0 && !this.#isPodSettled(unmountRecord, claims)) return false;
    const settlingOf = ({ uid }: Claim) => ({ latest: latest.get(uid), nowMs: nowMs() });
    if (claims.some((claim) => !isSettledFor(claim, unmountRecord, settlingOf(claim)))) return false;
    const isAttributed = refs.length > 0 && claims.length === refs.length;
    // The volumes of a pod never change: one that names no claim has used none.
    const isOfNoClaim = cluster.podByUid(unmountRecord.podUid)?.claims.length === 0;
    return isAttributed || isOfNoClaim || this.#isGivenUp(unmountRecord, view);
  }

  /** By the UID of each claim, the unmount record that supersedes all others of them. */
  #latestOf(records: readonly NodeUnmountRecord[]): LatestRecords {
    const latest = new Map<string, NodeUnmountRecord>();
    for (const one of records) {
      const attribute = () => (this.#isPodKnown(one) ? claimsOf(one, this.#parts.cluster) : []);
      for (const { uid } of this.#errors.attempt(`claims of ${one.id}`, attribute) ?? []) {
        const best = latest.get(uid);
        if (best === undefined || supersedes(one, best)) latest.set(uid, one);
      }
    }
    return latest;
  }

  /** The pod is over and its end is stored. Until then this leader and the next need the record to explain it. */
  #isPodSettled(unmountRecord: NodeUnmountRecord, claims: readonly Claim[]): boolean {
    const { cluster, ends, states } = this.#parts;
    const { podUid } = unmountRecord;
    const isThere = cluster.isPodThere(podUid) && cluster.podByUid(podUid)?.isTerminal !== true;
    if (isThere || !this.#isPodKnown(unmountRecord)) return false;
    const isPending = (claim: Claim): boolean => states.pendingOf(claim).some(({ pod }) => pod.uid === podUid);
    return claims.every((claim) => !ends.isOpen(claim.key, podUid) && !isPending(claim));
  }

  /** False while our pod watch is behind the node's: if the pod has an inline volume, the record is not the claim's. */
  #isPodKnown({ node, podUid }: NodeUnmountRecord): boolean {
    const { cluster, fleet } = this.#parts;
    if (cluster.podByUid(podUid) !== undefined) return true;
    const { podsResourceVersion } = fleet.view(node) ?? {};
    const reached = cluster.podsReached();
    return podsResourceVersion !== undefined && reached !== undefined && isUpTo(podsResourceVersion, reached);
  }

  /** Its volume is foreign or inline, or its claim gone: by both monotonic clocks so old that a claim would be known. */
  #isGivenUp({ by, timeline }: NodeUnmountRecord, { sentAt, timeline: now, timelineFrom }: NodeView): boolean {
    const { clock, cluster } = this.#parts;
    const isOurs = clock.monotonicMs() - this.#beganMs >= ON_ITS_WAY_MS;
    // One from before a reboot or a restored snapshot of the machine is older than the first report since.
    const endedAt = timeline === now ? by : timelineFrom;
    return isOurs && sentAt - endedAt >= ON_ITS_WAY_MS && cluster.areBindingsCurrent();
  }
}
