import { IndexMap } from "../common/kube/index-map.ts";
import type { Clock } from "../common/runtime/clock.ts";
import type { NodeReport } from "../common/storage/node-report.ts";
import { type VolumeIdentity, volumeKey } from "../common/storage/volume-identity.ts";
import type { Fact } from "./core/attribution.ts";
import { acceptReport, type NodeView, type Receipt, settle } from "./core/fleet.ts";

/** What one report changed. */
export type FleetChange =
  | { readonly kind: "accepted"; readonly view: NodeView; readonly touched: readonly Fact[] }
  | { readonly kind: "stale"; readonly why: string };

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

  accept(report: NodeReport, receipt: Receipt): FleetChange {
    const known = this.#views.get(report.node);
    const result = acceptReport(known, report, receipt);
    if (result.kind === "stale") return result;
    const isNews = known === undefined || this.#isNews(report);
    this.#acceptedAt.set(report.node, this.#clock.monotonicMs());
    this.#expected.delete(report.node);
    this.#put(known, result.view);
    const touched = isNews ? [...factsIn(known), ...factsIn(result.view)] : [];
    this.#generations.set(report.node, generationOf(report));
    return { kind: "accepted", view: result.view, touched };
  }

  readonly #generations = new Map<string, string>();

  #isNews(report: NodeReport): boolean {
    return this.#generations.get(report.node) !== generationOf(report);
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

function generationOf({ bootId, instance, generation }: NodeReport): string {
  return `${bootId}/${instance}/${generation}`;
}

function factsIn(view: NodeView | undefined): readonly Fact[] {
  return view === undefined ? [] : [...view.holds, ...view.releases.values()];
}
