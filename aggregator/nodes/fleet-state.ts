import { IndexMap } from "../../common/kube/index-map.ts";
import { SharedTexts } from "../../common/kube/shared-texts.ts";
import type { Clock } from "../../common/runtime/clock.ts";
import type { Steps } from "../../common/runtime/steps.ts";
import { isReport, type NodeMessage } from "../../common/storage/node-report.ts";
import { type VolumeIdentity, volumeKey } from "../../common/storage/volume-identity.ts";
import type { Fact } from "../core/claims/attribution.ts";
import { FactIndex, type Shown } from "../core/nodes/fact-index.ts";
import {
  type Acceptance,
  acceptHeartbeat,
  acceptInSteps,
  isFromRolledBackClock,
  type Receipt,
  settle,
} from "../core/nodes/fleet.ts";
import { bytesOf, shareProblem, withoutEarlier } from "../core/nodes/node-share.ts";
import type { NodeView } from "../core/nodes/node-view.ts";
import { changedFacts, factsIn, isSameState } from "../core/nodes/node-view.ts";

/** What a report changes. */
export type FleetChange =
  | {
      readonly kind: "accepted";
      /** The view when the report was weighed. */
      readonly known: NodeView | undefined;
      readonly view: NodeView;
      readonly touched: readonly Fact[];
      /** By how much the node's boot clock has gone back; undefined when it has not. Milliseconds. */
      readonly rolledBackMs?: number | undefined;
    }
  | { readonly kind: "stale"; readonly why: string }
  /** The report would take more memory than a node may have: it is ignored. */
  | { readonly kind: "too-much"; readonly why: string }
  /** A heartbeat for a state that the aggregator does not know. */
  | { readonly kind: "unknown" };

/** What is kept of a node. Times on the monotonic clock. */
interface KeptNode {
  readonly view: NodeView;
  /** About how much memory the view takes. */
  readonly bytes: number;
  readonly acceptedAt: number;
  /** The latest time at which its last complete scan may have ended. */
  readonly readEndedAt: number;
}

/** The latest view of every node. */
export class FleetState {
  readonly #nodes = new Map<string, KeptNode>();
  readonly #nodesByVolume = new IndexMap();
  readonly #facts = new FactIndex();
  /** What all views take. */
  #bytes = 0;
  readonly #texts = new SharedTexts();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  view(node: string): NodeView | undefined {
    return this.#nodes.get(node)?.view;
  }

  /** Names of the nodes that have reported. */
  nodes(): readonly string[] {
    return [...this.#nodes.keys()];
  }

  /** How long ago the last report was accepted; undefined before the first one. Milliseconds. */
  lastReportAgeMs(node: string): number | undefined {
    const kept = this.#nodes.get(node);
    return kept && this.#clock.monotonicMs() - kept.acceptedAt;
  }

  /** How long ago the last reported complete scan ended; never longer than in truth. Milliseconds. */
  lastReadAgeMs(node: string): number | undefined {
    const kept = this.#nodes.get(node);
    return kept && this.#clock.monotonicMs() - kept.readEndedAt;
  }

  /** How long ago the last report of each node was accepted. Milliseconds. */
  reportAges(): readonly (readonly [node: string, ageMs: number])[] {
    const now = this.#clock.monotonicMs();
    return [...this.#nodes].map(([node, { acceptedAt }]) => [node, now - acceptedAt]);
  }

  get size(): number {
    return this.#nodes.size;
  }

  /** What nodes show of these volumes, by name; sometimes a node that shows nothing, as only hashes are compared. */
  shownOf(volumes: readonly VolumeIdentity[]): readonly Shown[] {
    const nodes = new Set(volumes.flatMap((volume) => [...this.#nodesByVolume.get(clueOf(volume))]));
    const views = [...nodes].sort().flatMap((node) => this.view(node) ?? []);
    return this.#facts.of(views, volumes);
  }

  /** What a message changes. Nothing changes before `take`. */
  *weigh(message: NodeMessage, receipt: Receipt): Steps<FleetChange> {
    const kept = this.#nodes.get(message.node);
    const known = kept?.view;
    const isRolledBack =
      kept !== undefined && isFromRolledBackClock(kept.view, message, this.#clock.monotonicMs() - kept.acceptedAt);
    const result = yield* acceptMessage(known, message, { ...receipt, isRolledBack });
    if (result.kind !== "accepted") return result;
    yield;
    const { view, why } = this.#withinShare(result.view);
    if (why !== undefined) return { kind: "too-much", why };
    yield;
    // Another run of the agent began to watch at another time, which may matter for everything that the node shows.
    const isSameRun = known?.timeline === view.timeline && known.instance === view.instance;
    const touched = isSameRun ? changedFacts(known, view) : [...factsIn(known), ...factsIn(view)];
    yield;
    this.#texts.share(touched);
    const rolledBackMs = isRolledBack ? kept.view.scan.endedAt - view.scan.endedAt : undefined;
    return { kind: "accepted", known, view, touched, ...(rolledBackMs !== undefined && { rolledBackMs }) };
  }

  /** Takes a message as it was weighed, unless another one of the node was taken meanwhile. */
  take({ sentAt, scan }: NodeMessage, change: Extract<FleetChange, { kind: "accepted" }>): FleetChange {
    const { known, view } = change;
    if (this.view(view.node) !== known) return { kind: "stale", why: "another report of the node was taken meanwhile" };
    const acceptedAt = this.#clock.monotonicMs();
    this.#put({ view, acceptedAt, readEndedAt: acceptedAt - Math.max(0, sentAt - scan.endedAt) });
    return change;
  }

  /**
   * The view, and why its node may not have so much memory. Before it has too much, only the latest end of each volume is kept of what it
   * no longer reports.
   */
  #withinShare(view: NodeView) {
    const kept = this.#nodes.get(view.node);
    const problemOf = (bytes: number): string | undefined => shareProblem(bytes, this.#bytes - (kept?.bytes ?? 0));
    const isSame = kept !== undefined && isSameState(kept.view, view);
    const why = problemOf(isSame ? kept.bytes : bytesOf(view));
    if (isSame || why === undefined) return { view, why };
    const merged = withoutEarlier(view);
    return { view: merged, why: problemOf(bytesOf(merged)) };
  }

  #put(node: Omit<KeptNode, "bytes">): void {
    const { view } = node;
    const known = this.#nodes.get(view.node);
    const isSame = known !== undefined && isSameState(known.view, view);
    const bytes = isSame ? known.bytes : bytesOf(view);
    this.#nodes.set(view.node, { ...node, bytes });
    this.#bytes += bytes - (known?.bytes ?? 0);
    if (isSame) return;
    for (const { volume } of factsIn(known?.view)) this.#nodesByVolume.remove(clueOf(volume), view.node);
    for (const { volume } of factsIn(view)) this.#nodesByVolume.add(clueOf(volume), view.node);
  }

  /** Forgets a node that is gone for good. */
  drop(node: string): void {
    const kept = this.#nodes.get(node);
    for (const { volume } of factsIn(kept?.view)) this.#nodesByVolume.remove(clueOf(volume), node);
    this.#bytes -= kept?.bytes ?? 0;
    this.#nodes.delete(node);
  }

  /** Forgets unmount records that can no longer change any status. */
  settle(node: string, unmountRecordIds: readonly string[]): void {
    const kept = this.#nodes.get(node);
    if (kept !== undefined && unmountRecordIds.length > 0)
      this.#put({ ...kept, view: settle(kept.view, unmountRecordIds) });
  }
}

function* acceptMessage(
  known: NodeView | undefined,
  message: NodeMessage,
  receipt: Receipt,
): Steps<Acceptance | { readonly kind: "unknown" }> {
  if (isReport(message)) return yield* acceptInSteps(known, message, receipt);
  // A heartbeat that names the known state by number would now mean another one.
  return receipt.isRolledBack === true ? { kind: "unknown" } : acceptHeartbeat(known, message, receipt);
}

/** A text of the volume that few others share: a new text for each of the many mounts would take memory. */
function clueOf(volume: VolumeIdentity): string {
  if (volume.by === "name") return volume.name;
  return volume.by === "handle" ? volume.handleHash : volumeKey(volume);
}
