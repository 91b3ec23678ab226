import { IndexMap } from "../common/kube/index-map.ts";
import type { Clock } from "../common/runtime/clock.ts";
import { isReport, type NodeMessage } from "../common/storage/node-report.ts";
import { type VolumeIdentity, volumeKey } from "../common/storage/volume-identity.ts";
import type { Fact } from "./core/attribution.ts";
import { acceptHeartbeat, acceptReport, type NodeView, type Receipt, settle } from "./core/fleet.ts";

/** What one report changed. */
export type FleetChange =
  | { readonly kind: "accepted"; readonly view: NodeView; readonly touched: readonly Fact[] }
  | { readonly kind: "stale"; readonly why: string }
  /** A heartbeat for a state that is not known. */
  | { readonly kind: "unknown" };

/** The latest view of every node, and who must still be heard of after a start. */
export class FleetState {
  readonly #views = new Map<string, NodeView>();
  readonly #acceptedAt = new Map<string, number>();
  readonly #nodesByVolume = new IndexMap();
  readonly #clock: Clock;
  readonly #silentAfterMs: number;
  #startedAt: number;
  #expected: Set<string> = new Set();

  constructor(clock: Clock, silentAfterMs: number) {
    this.#clock = clock;
    this.#silentAfterMs = silentAfterMs;
    this.#startedAt = clock.monotonicMs();
  }

  /** After a start nothing may turn unused until these have reported, or the time for it, which begins now, is over. */
  expect(nodes: readonly string[]): void {
    this.#startedAt = this.#clock.monotonicMs();
    this.#expected = new Set(nodes.filter((node) => !this.#views.has(node)));
  }

  /** Nodes that were expected and may still come. */
  get expected(): readonly string[] {
    if (this.#clock.monotonicMs() - this.#startedAt > this.#silentAfterMs) this.#expected.clear();
    return [...this.#expected];
  }

  view(node: string): NodeView | undefined {
    return this.#views.get(node);
  }

  /** Nodes that have reported. */
  nodes(): readonly string[] {
    return [...this.#views.keys()];
  }

  /** How long ago the last report was accepted, or nothing before the first. Milliseconds. */
  lastReportAgeMs(node: string): number | undefined {
    const acceptedAt = this.#acceptedAt.get(node);
    return acceptedAt === undefined ? undefined : this.#clock.monotonicMs() - acceptedAt;
  }

  get size(): number {
    return this.#views.size;
  }

  /** No report for so long that none is on its way. */
  isSilent(node: string): boolean {
    const last = this.#acceptedAt.get(node) ?? this.#startedAt;
    return this.#clock.monotonicMs() - last > this.#silentAfterMs;
  }

  silentCount(): number {
    return [...this.#views.keys()].filter((node) => this.isSilent(node)).length;
  }

  /** Views that have a hold or a release of one of the volumes. */
  viewsOf(volumes: readonly VolumeIdentity[]): readonly NodeView[] {
    const nodes = new Set(volumes.flatMap((volume) => [...this.#nodesByVolume.get(volumeKey(volume))]));
    return [...nodes].map((node) => this.#views.get(node)).filter((view) => view !== undefined);
  }

  accept(message: NodeMessage, receipt: Receipt): FleetChange {
    const known = this.#views.get(message.node);
    const result = isReport(message) ? acceptReport(known, message, receipt) : acceptHeartbeat(known, message, receipt);
    if (result.kind !== "accepted") return result;
    const { view } = result;
    this.#acceptedAt.set(view.node, this.#clock.monotonicMs());
    this.#expected.delete(view.node);
    this.#put(known, view);
    const isNews = known?.generation !== view.generation || known.instance !== view.instance;
    return { kind: "accepted", view, touched: isNews ? [...factsIn(known), ...factsIn(view)] : [] };
  }

  #put(known: NodeView | undefined, view: NodeView): void {
    for (const { volume } of factsIn(known)) this.#nodesByVolume.remove(volumeKey(volume), view.node);
    for (const { volume } of factsIn(view)) this.#nodesByVolume.add(volumeKey(volume), view.node);
    this.#views.set(view.node, view);
  }

  /** Forgets releases that can no longer change any status. */
  settle(node: string, releaseIds: readonly string[]): void {
    const known = this.#views.get(node);
    if (known !== undefined && releaseIds.length > 0) this.#put(known, settle(known, releaseIds));
  }
}

function factsIn(view: NodeView | undefined): readonly Fact[] {
  return view === undefined ? [] : [...view.holds, ...view.releases.values()];
}
