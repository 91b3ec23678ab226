import { IndexMap } from "../../common/kube/index-map.ts";
import { SharedTexts } from "../../common/kube/shared-texts.ts";
import type { Clock } from "../../common/runtime/clock.ts";
import type { Steps } from "../../common/runtime/steps.ts";
import { isReport, type NodeMessage } from "../../common/storage/node-report.ts";
import { type VolumeIdentity, volumeKey } from "../../common/storage/volume-identity.ts";
import type { Fact } from "../core/attribution.ts";
import { isClockRolledBack, type OlderMessages, withOlder } from "../core/clock-rollback.ts";
import { type Acceptance, acceptHeartbeat, acceptInSteps, isOlder, type Receipt, settle } from "../core/fleet.ts";
import { bytesOf, shareProblem, withoutEarlier } from "../core/node-share.ts";
import type { NodeView } from "../core/node-view.ts";
import { changedFacts, factsIn, isSameState } from "../core/view-changes.ts";

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

/** When a node last reported, on the monotonic clock. */
interface LastReport {
  readonly acceptedAt: number;
  /** The latest time at which its last complete scan may have ended. */
  readonly readEndedAt: number;
}

/** The latest view of every node. */
export class FleetState {
  readonly #views = new Map<string, NodeView>();
  readonly #lastReports = new Map<string, LastReport>();
  /** Of nodes that send only messages older than the known one: their clock may have gone back. */
  readonly #older = new Map<string, OlderMessages>();
  readonly #nodesByVolume = new IndexMap();
  readonly #bytesOf = new Map<string, number>();
  /** About how much memory the views take. */
  #bytes = 0;
  readonly #texts = new SharedTexts();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  view(node: string): NodeView | undefined {
    return this.#views.get(node);
  }

  /** Names of the nodes that have reported. */
  nodes(): readonly string[] {
    return [...this.#views.keys()];
  }

  /** How long ago the last report was accepted; undefined before the first one. Milliseconds. */
  lastReportAgeMs(node: string): number | undefined {
    const last = this.#lastReports.get(node);
    return last && this.#clock.monotonicMs() - last.acceptedAt;
  }

  /** How long ago the last reported complete scan ended; never longer than in truth. Milliseconds. */
  lastReadAgeMs(node: string): number | undefined {
    const last = this.#lastReports.get(node);
    return last && this.#clock.monotonicMs() - last.readEndedAt;
  }

  /** The same for all nodes. */
  reportAges(): readonly (readonly [node: string, ageMs: number])[] {
    const now = this.#clock.monotonicMs();
    return [...this.#lastReports].map(([node, { acceptedAt }]) => [node, now - acceptedAt]);
  }

  get size(): number {
    return this.#views.size;
  }

  /** All views with a mounted volume or an unmount record of one of the volumes; sometimes one more, as only hashes are compared. */
  viewsOf(volumes: readonly VolumeIdentity[]): readonly NodeView[] {
    const nodes = new Set(volumes.flatMap((volume) => [...this.#nodesByVolume.get(clueOf(volume))]));
    return [...nodes].map((node) => this.#views.get(node)).filter((view) => view !== undefined);
  }

  /** What a message changes. Nothing changes before `take`. */
  *weigh(message: NodeMessage, receipt: Receipt): Steps<FleetChange> {
    const known = this.#views.get(message.node);
    const isRolledBack = known !== undefined && this.#isRolledBack(known, message);
    const result = yield* acceptMessage(known, message, { ...receipt, isRolledBack });
    if (result.kind !== "accepted") return result;
    yield;
    const { view, bytes } = this.#withinShare(result.view, known);
    const why = shareProblem(bytes, this.#bytes - (this.#bytesOf.get(view.node) ?? 0));
    if (why !== undefined) return { kind: "too-much", why };
    yield;
    // Another run of the agent began to watch at another time, which may matter for everything that the node shows.
    const isSameRun = known?.timeline === view.timeline && known.instance === view.instance;
    const touched = isSameRun ? changedFacts(known, view) : [...factsIn(known), ...factsIn(view)];
    yield;
    this.#texts.share(touched);
    const rolledBackMs = isRolledBack ? known.scan.endedAt - view.scan.endedAt : undefined;
    return { kind: "accepted", known, view, touched, ...(rolledBackMs !== undefined && { rolledBackMs }) };
  }

  /** Takes a message as it was weighed, unless another one of the node was taken meanwhile. */
  take(message: NodeMessage, change: Extract<FleetChange, { kind: "accepted" }>): FleetChange {
    const { known, view } = change;
    if (this.#views.get(view.node) !== known)
      return { kind: "stale", why: "another report of the node was taken meanwhile" };
    this.#hear(message);
    this.#put(known, view);
    return change;
  }

  /** Notes a message that is older than the known one, and answers whether it counts all the same. */
  #isRolledBack(known: NodeView, message: NodeMessage): boolean {
    if (known.bootId !== message.bootId || !isOlder(known, message)) return false;
    const older = withOlder(this.#older.get(message.node), message, this.#clock.monotonicMs());
    this.#older.set(message.node, older);
    return isClockRolledBack(older);
  }

  #hear({ node, sentAt, scan }: NodeMessage): void {
    const acceptedAt = this.#clock.monotonicMs();
    this.#lastReports.set(node, { acceptedAt, readEndedAt: acceptedAt - Math.max(0, sentAt - scan.endedAt) });
    this.#older.delete(node);
  }

  /** The memory that a view takes. Before a node has too much, only the latest end of each volume is kept of what it no longer reports. */
  #withinShare(view: NodeView, known: NodeView | undefined): { readonly view: NodeView; readonly bytes: number } {
    if (known !== undefined && isSameState(known, view)) return { view, bytes: this.#bytesOf.get(view.node) ?? 0 };
    const bytes = bytesOf(view);
    if (shareProblem(bytes, this.#bytes - (this.#bytesOf.get(view.node) ?? 0)) === undefined) return { view, bytes };
    const merged = withoutEarlier(view);
    return { view: merged, bytes: bytesOf(merged) };
  }

  #account(node: string, bytes: number): void {
    this.#bytes += bytes - (this.#bytesOf.get(node) ?? 0);
    if (bytes === 0) this.#bytesOf.delete(node);
    else this.#bytesOf.set(node, bytes);
  }

  #put(known: NodeView | undefined, view: NodeView): void {
    this.#views.set(view.node, view);
    if (known !== undefined && isSameState(known, view)) return;
    this.#account(view.node, bytesOf(view));
    for (const { volume } of factsIn(known)) this.#nodesByVolume.remove(clueOf(volume), view.node);
    for (const { volume } of factsIn(view)) this.#nodesByVolume.add(clueOf(volume), view.node);
  }

  /** Forgets a node that is gone for good. */
  drop(node: string): void {
    for (const { volume } of factsIn(this.#views.get(node))) this.#nodesByVolume.remove(clueOf(volume), node);
    this.#account(node, 0);
    this.#views.delete(node);
    this.#lastReports.delete(node);
    this.#older.delete(node);
  }

  /** Forgets unmount records that can no longer change any status. */
  settle(node: string, unmountRecordIds: readonly string[]): void {
    const known = this.#views.get(node);
    if (known !== undefined && unmountRecordIds.length > 0) this.#put(known, settle(known, unmountRecordIds));
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

/** A number that few volumes share, instead of a string for each of the many mounts. */
function clueOf(volume: VolumeIdentity): string {
  if (volume.by === "name") return volume.name;
  return volume.by === "handle" ? volume.handleHash : volumeKey(volume);
}
