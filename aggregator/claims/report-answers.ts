import type { Clock } from "../../common/runtime/clock.ts";
import type { ErrorRecorder } from "../../common/runtime/internal-errors.ts";
import type { Claim } from "../../common/storage/claim.ts";
import { claimsOf } from "../core/attribution.ts";
import { versionToReach } from "../core/claim-history.ts";
import type { NodeUnmountRecord, NodeView } from "../core/node-view.ts";
import { isSettledFor, latestUnmountRecords } from "../core/settlement.ts";
import { isUpTo } from "../core/watch-history.ts";
import type { FleetState } from "../nodes/fleet-state.ts";
import type { EndedPods } from "../pod-watch/ended-pods.ts";
import type { Cluster } from "../sources/cluster.ts";
import type { ClaimStates } from "./claim-states.ts";
import type { PendingNodes } from "./pending-nodes.ts";

interface AnswersParts {
  readonly errors: ErrorRecorder;
  readonly states: ClaimStates;
  readonly pendingNodes: PendingNodes;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly cluster: Cluster;
  readonly fleet: FleetState;
  readonly ends: Pick<EndedPods, "isOpen">;
  /** The latest that the API server's clock can show, milliseconds since the epoch. */
  readonly nowMs: () => number;
}

/**
 * So long the claim or the volume of an unmount record may be on its way: a watch whose connection has died without a word is noticed in three
 * minutes, one that lies within ten and a bit (see `createConsistencyChecker`). Milliseconds.
 */
const ON_ITS_WAY_MS = 900_000;

type RecordsOf = (claim: Claim) => readonly NodeUnmountRecord[];

/** What a node's report is answered. */
export class ReportAnswers {
  readonly #parts: AnswersParts;
  readonly #beganMs: number;

  constructor(parts: AnswersParts) {
    this.#parts = parts;
    this.#beganMs = parts.clock.monotonicMs();
  }

  /** The resource version that the node's pod watch must have reached for its word to count on every pod that ended there. */
  awaitedVersion(view: NodeView): string | undefined {
    const { cluster, pendingNodes, states } = this.#parts;
    const claims = pendingNodes.waitingFor(view.node).flatMap((key) => cluster.claim(key) ?? []);
    const pending = claims.flatMap((claim) => states.pendingOf(claim));
    return versionToReach(pending, view);
  }

  /** IDs of the view's unmount records that can no longer change any status. */
  settled(view: NodeView): readonly string[] {
    const latestOf = this.#latestOn(view.node);
    // A bug in what one claim's evidence makes of an unmount record keeps that unmount record in its journal, and no other.
    const isSettled = (one: NodeUnmountRecord): boolean | undefined =>
      this.#parts.errors.attempt(one.id, () => this.#isSettled(one, view, latestOf));
    return [...view.unmountRecords.values()].filter((one) => isSettled(one) === true).map(({ id }) => id);
  }

  /** Not all of the claims that it belongs to may be known: such a claim is gone, or still to come, and so is one that was re-created under its name. */
  #isSettled(unmountRecord: NodeUnmountRecord, view: NodeView, latestOf: RecordsOf): boolean {
    const { cluster, nowMs } = this.#parts;
    const refs = claimsOf(unmountRecord, cluster);
    const claims = refs.flatMap(({ key, uid }) => {
      const claim = cluster.claim(key);
      return claim?.uid === uid ? [claim] : [];
    });
    if (claims.length > 0 && !this.#isDealtWith(unmountRecord, claims)) return false;
    const told = { nowMs: nowMs() };
    if (claims.some((claim) => !isSettledFor(claim, unmountRecord, { ...told, unmountRecords: latestOf(claim) })))
      return false;
    const isAttributed = refs.length > 0 && claims.length === refs.length;
    return isAttributed || this.#isGivenUp(unmountRecord, view);
  }

  /** The node's unmount records of a claim that make up for earlier ones. */
  #latestOn(node: string): RecordsOf {
    const latest = new Map<string, readonly NodeUnmountRecord[]>();
    return (claim) => {
      const known = latest.get(claim.uid);
      if (known !== undefined) return known;
      const { unmountRecords } = this.#parts.states.evidence(claim);
      const found = latestUnmountRecords(unmountRecords.filter((one) => one.node === node && this.#isPodKnown(one)));
      latest.set(claim.uid, found);
      return found;
    };
  }

  /**
   * True when the pod is over and what came of its end is stored: until then the record explains how the use ended, to this leader and to the
   * next one.
   */
  #isDealtWith(unmountRecord: NodeUnmountRecord, claims: readonly Claim[]): boolean {
    const { cluster, ends, states } = this.#parts;
    const { podUid } = unmountRecord;
    const isThere = cluster.isPodThere(podUid) && cluster.podByUid(podUid)?.isTerminal !== true;
    if (isThere || !this.#isPodKnown(unmountRecord)) return false;
    const isPending = (claim: Claim): boolean => states.pendingOf(claim).some(({ pod }) => pod.uid === podUid);
    return claims.every((claim) => !ends.isOpen(claim.key, podUid) && !isPending(claim));
  }

  /**
   * False while its pod may come to light yet, the watch of pods being behind the node's: it may have had an inline volume, and then what it
   * did is not the claim's, and makes up for nothing.
   */
  #isPodKnown({ node, podUid }: NodeUnmountRecord): boolean {
    const { cluster, fleet } = this.#parts;
    if (cluster.podByUid(podUid) !== undefined) return true;
    const { podsResourceVersion } = fleet.view(node) ?? {};
    const reached = cluster.podsReached();
    return podsResourceVersion !== undefined && reached !== undefined && isUpTo(podsResourceVersion, reached);
  }

  /**
   * A foreign or inline volume's, or that of a claim that is gone: by the node's own clock and by ours it ended so long ago that its claim would
   * be known. A wall clock may jump. What ended before a reboot, or before the machine was put back, is older than the first report since.
   */
  #isGivenUp({ by, timeline }: NodeUnmountRecord, { sentAt, timeline: now, timelineFrom }: NodeView): boolean {
    const { clock, cluster } = this.#parts;
    const isOurs = clock.monotonicMs() - this.#beganMs >= ON_ITS_WAY_MS;
    const endedAt = timeline === now ? by : timelineFrom;
    return isOurs && sentAt - endedAt >= ON_ITS_WAY_MS && cluster.areBindingsListed();
  }
}
