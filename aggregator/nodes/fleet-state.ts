import { IndexMap } from "../../common/kube/index-map.ts";
import { SharedTexts } from "../../common/kube/shared-texts.ts";
import type { Clock } from "../../common/runtime/clock.ts";
import type { Steps } from "../../common/runtime/steps.ts";
import { isReport, type NodeMessage } from "../../common/storage/node-report.ts";
import { type VolumeIdentity, volumeKey } from "../../common/storage/volume-identity.ts";
import type { Fact } from "../core/claims/attribution.ts";
import {
  type Acceptance,
  acceptHeartbeat,
  acceptInSteps,
  isFromRolledBackClock,
  type Receipt,
} from "../core/nodes/fleet.ts";
import {
  changedFacts,
  factsIn,
  isSameState,
  type NodeView,
  type Shown,
  shownIn,
  sizeProblem,
} from "../core/nodes/node-view.ts";

export type FleetChange =
  | {
      readonly kind: "accepted";
      /** The view when the report was weighed. */
      readonly known: NodeView | undefined;
      readonly view: NodeView;
      readonly touched: readonly Fact[];
    }
  /** The node would have more than a view may hold: the report is ignored. */
  | { readonly kind: "too-much"; readonly why: string }
  | Exclude<Acceptance, { readonly kind: "accepted" }>;

export class FleetState {
  /** `acceptedAt` on the monotonic clock. */
  readonly #nodes = new Map<string, { readonly view: NodeView; readonly acceptedAt: number }>();
  readonly #nodesByVolume = new IndexMap();
  readonly #texts = new SharedTexts();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  view(node: string): NodeView | undefined {
    return this.#nodes.get(node)?.view;
  }

  nodes(): readonly string[] {
    return [...this.#nodes.keys()];
  }

  /** How long ago the last report was accepted; undefined before the first one. Milliseconds. */
  lastReportAgeMs(node: string): number | undefined {
    const kept = this.#nodes.get(node);
    return kept && this.#clock.monotonicMs() - kept.acceptedAt;
  }

  /** What nodes show of these volumes, sorted by node; one may show nothing, as only hashes are compared. */
  shownOf(volumes: readonly VolumeIdentity[], isOwn: (fact: Fact) => boolean): readonly Shown[] {
    const nodes = new Set(volumes.flatMap((volume) => [...this.#nodesByVolume.get(clueOf(volume))]));
    const views = [...nodes].sort().flatMap((node) => this.view(node) ?? []);
    return shownIn(views, volumes, isOwn);
  }

  /** What a message changes. Nothing changes before `take`; no other message of the node may be taken in between. */
  *weigh(message: NodeMessage, receipt: Receipt): Steps<FleetChange> {
    const known = this.view(message.node);
    const isRolledBack = isFromRolledBackClock(known, message, this.lastReportAgeMs(message.node));
    const result = isReport(message)
      ? yield* acceptInSteps(known, message, { ...receipt, isRolledBack })
      : acceptHeartbeat(known, message, { ...receipt, isRolledBack });
    if (result.kind !== "accepted") return result;
    yield;
    const { view } = result;
    const why = sizeProblem(view);
    if (why !== undefined) return { kind: "too-much", why };
    // Another run of the agent began to watch at another time, which may matter for everything that the node shows.
    const isSameRun = known?.timeline === view.timeline && known.instance === view.instance;
    const touched = isSameRun ? changedFacts(known, view) : [...factsIn(known), ...factsIn(view)];
    yield;
    this.#texts.share(touched);
    return { kind: "accepted", known, view, touched };
  }

  take(view: NodeView, acceptedAt = this.#clock.monotonicMs()): void {
    const known = this.#nodes.get(view.node);
    this.#nodes.set(view.node, { view, acceptedAt });
    if (known !== undefined && isSameState(known.view, view)) return;
    for (const { volume } of factsIn(known?.view)) this.#nodesByVolume.remove(clueOf(volume), view.node);
    for (const { volume } of factsIn(view)) this.#nodesByVolume.add(clueOf(volume), view.node);
  }

  drop(node: string): void {
    const kept = this.#nodes.get(node);
    for (const { volume } of factsIn(kept?.view)) this.#nodesByVolume.remove(clueOf(volume), node);
    this.#nodes.delete(node);
  }

  /** Forgets unmount records that can no longer change any status. */
  settle(node: string, unmountRecordIds: readonly string[]): void {
    const kept = this.#nodes.get(node);
    if (kept === undefined || unmountRecordIds.length === 0) return;
    const unmountRecords = new Map(kept.view.unmountRecords);
    for (const id of unmountRecordIds) unmountRecords.delete(id);
    this.take({ ...kept.view, unmountRecords }, kept.acceptedAt);
  }
}

/** A text of the volume that few others share: a new text for each of the many mounts would take memory. */
function clueOf(volume: VolumeIdentity): string {
  if (volume.by === "name") return volume.name;
  return volume.by === "handle" ? volume.handleHash : volumeKey(volume);
}
