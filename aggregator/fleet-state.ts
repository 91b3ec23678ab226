import { IndexMap } from "../common/kube/index-map.ts";
import { SharedTexts } from "../common/kube/shared-texts.ts";
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

/** When a node was last heard of, on the monotonic clock. */
interface Hearing {
  readonly acceptedAt: number;
  /** The end of its last complete read, at the latest. */
  readonly readEndedAt: number;
}

/** The latest view of every node, and who must still be heard of after a start. */
export class FleetState {
  readonly #views = new Map<string, NodeView>();
  readonly #heard = new Map<string, Hearing>();
  readonly #nodesByVolume = new IndexMap();
  readonly #texts = new SharedTexts();
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
    return [...this.#stillExpected()];
  }

  /** One of them. */
  get anyExpected(): string | undefined {
    for (const node of this.#stillExpected()) return node;
    return undefined;
  }

  #stillExpected(): Iterable<string> {
    if (this.#clock.monotonicMs() - this.#startedAt > this.#silentAfterMs) this.#expected.clear();
    return this.#expected;
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
    const heard = this.#heard.get(node);
    return heard && this.#clock.monotonicMs() - heard.acceptedAt;
  }

  /** How long ago the last complete read ended that a report told of; not longer than in truth. Milliseconds. */
  lastReadAgeMs(node: string): number | undefined {
    const heard = this.#heard.get(node);
    return heard && this.#clock.monotonicMs() - heard.readEndedAt;
  }

  get size(): number {
    return this.#views.size;
  }

  /** All views that have a hold or a release of one of the volumes, and now and then another one. */
  viewsOf(volumes: readonly VolumeIdentity[]): readonly NodeView[] {
    const nodes = new Set(volumes.flatMap((volume) => [...this.#nodesByVolume.get(clueOf(volume))]));
    return [...nodes].map((node) => this.#views.get(node)).filter((view) => view !== undefined);
  }

  accept(message: NodeMessage, receipt: Receipt): FleetChange {
    const known = this.#views.get(message.node);
    const result = isReport(message) ? acceptReport(known, message, receipt) : acceptHeartbeat(known, message, receipt);
    if (result.kind !== "accepted") return result;
    const { view } = result;
    const acceptedAt = this.#clock.monotonicMs();
    const readAgeMs = Math.max(0, message.sentAt - message.read.endedAt);
    this.#heard.set(view.node, { acceptedAt, readEndedAt: acceptedAt - readAgeMs });
    this.#expected.delete(view.node);
    // Another run of the agent began to watch at another time: that may matter for anything that the node shows.
    const isSameRun = known?.bootId === view.bootId && known.instance === view.instance;
    const touched = isSameRun ? changedFacts(known, view) : [...factsIn(known), ...factsIn(view)];
    this.#texts.share([view.holds, ...view.releases.values()]);
    this.#put(known, view);
    return { kind: "accepted", view, touched };
  }

  #put(known: NodeView | undefined, view: NodeView): void {
    this.#views.set(view.node, view);
    if (known !== undefined && isSameState(known, view)) return;
    for (const { volume } of factsIn(known)) this.#nodesByVolume.remove(clueOf(volume), view.node);
    for (const { volume } of factsIn(view)) this.#nodesByVolume.add(clueOf(volume), view.node);
  }

  /** Forgets a node that is gone for good. */
  drop(node: string): void {
    for (const { volume } of factsIn(this.#views.get(node))) this.#nodesByVolume.remove(clueOf(volume), node);
    this.#views.delete(node);
    this.#heard.delete(node);
  }

  /** Forgets releases that can no longer change any status. */
  settle(node: string, releaseIds: readonly string[]): void {
    const known = this.#views.get(node);
    if (known !== undefined && releaseIds.length > 0) this.#put(known, settle(known, releaseIds));
  }
}

/** A part of the volume's identity that hardly another one has, and no string of its own: there are as many as mounts. */
function clueOf(volume: VolumeIdentity): string {
  if (volume.by === "name") return volume.name;
  return volume.by === "handle" ? volume.handleHash : volumeKey(volume);
}

function factsIn(view: NodeView | undefined): readonly Fact[] {
  return view === undefined ? [] : [...view.holds, ...view.releases.values()];
}

/** A heartbeat leaves the state as it is. */
function isSameState(known: NodeView, view: NodeView): boolean {
  return known.holds === view.holds && known.releases === view.releases;
}

/** What one of two views shows and the other does not: of a node's thirty holds most are the same as in the report before. */
function changedFacts(known: NodeView, view: NodeView): readonly Fact[] {
  if (isSameState(known, view)) return [];
  const [before, after] = [factsByText(known), factsByText(view)];
  const gone = [...before].filter(([text]) => !after.has(text));
  const come = [...after].filter(([text]) => !before.has(text));
  return [...gone, ...come].map(([, fact]) => fact);
}

/** Facts by everything that whose they are, and what comes of them, depends on. */
function factsByText({ holds, releases }: NodeView): ReadonlyMap<string, Fact> {
  const held = holds.map((hold): [string, Fact] => [
    `${hold.kind}/${hold.beganByMs}/${hold.podUid ?? ""}/${volumeKey(hold.volume)}`,
    hold,
  ]);
  const released = [...releases.values()].map((release): [string, Fact] => [`${release.byMs}/${release.id}`, release]);
  return new Map([...held, ...released]);
}
