import { randomUUID } from "node:crypto";
import type { Claim } from "../../common/storage/claim.ts";
import { HarnessError } from "../rig/process/errors.ts";
import type { Owner } from "../rig/process/owner.ts";
import type { ClaimWatch } from "./claim-watch.ts";
import { type ClaimPlace, claimPlace, type Sizes } from "./cluster/layout.ts";
import type { Fleet } from "./fleet/fleet.ts";
import type { SimulatedMountedVolume } from "./fleet/node-story.ts";
import { summary } from "./statistics.ts";

/** From a report until a watch shows its effect in the claim's status. Milliseconds. */
export interface TransitionFigures {
  /** From a report of a first mount until the claim is in use. */
  readonly mounts: readonly number[];
  /** From a report of the last unmount until the claim is unused. */
  readonly unmounts: readonly number[];
}

/** The parts of the load. */
export interface TransitionStage {
  readonly sizes: Sizes;
  readonly fleet: Fleet;
  readonly watch: ClaimWatch;
}

/** A claim that is in use, by a mounted volume of one simulated pod. */
interface Use {
  readonly place: ClaimPlace;
  readonly mountedVolume: SimulatedMountedVolume;
  readonly since: number;
}

/** The least duration of a use, so that mounts and unmounts of one claim do not overlap. */
const SHORTEST_USE_MS = 5_000;
/** A transition that is not stored by then is lost. */
const LIMIT_MS = 30_000;

/** Makes this many transitions a second, every other one the end of a use; returns when all have been stored. */
export async function driveTransitions(
  owner: Owner,
  stage: TransitionStage,
  { perSecond, seconds }: { readonly perSecond: number; readonly seconds: number },
): Promise<TransitionFigures> {
  const { clock, signal } = owner;
  const load = new TransitionLoad(owner, stage);
  const begunAt = clock.monotonicMs();
  for (let made = 0; made < perSecond * seconds && !signal.aborted; made += 1) {
    await clock.sleep(begunAt + (made * 1000) / perSecond - clock.monotonicMs(), signal);
    if (made % 2 === 0 || !load.unmountOldest()) load.mountNext();
  }
  return await load.finish();
}

class TransitionLoad {
  readonly #owner: Owner;
  readonly #stage: TransitionStage;
  readonly #idle: Iterator<ClaimPlace>;
  readonly #stopListening: () => void;
  readonly #uses: Use[] = [];
  /** Pending transitions, by claim. */
  readonly #pending = new Map<string, { readonly sentAt: number; readonly unused: boolean }>();
  readonly #mounts: number[] = [];
  readonly #unmounts: number[] = [];

  constructor(owner: Owner, stage: TransitionStage) {
    this.#owner = owner;
    this.#stage = stage;
    this.#idle = idleClaims(stage.sizes);
    this.#stopListening = stage.watch.listen((claim, seenAt) => this.#see(claim, seenAt));
  }

  mountNext(): void {
    const place = this.#idle.next().value;
    if (place === undefined) throw new HarnessError("no claim is idle any more");
    const pod = { podUid: randomUUID(), pod: `${place.namespace}/bench-${place.index}` };
    const mountedVolume = { kind: "pod", volume: { by: "name", name: place.volume }, ...pod } as const;
    const use = { place, mountedVolume, since: this.#owner.clock.monotonicMs() };
    this.#uses.push(use);
    this.#expect(place, false);
    this.#stage.fleet.agentOf(place.node).mount(mountedVolume);
  }

  /** False when no use is old enough, or its begin has not been stored yet. */
  unmountOldest(): boolean {
    const [use] = this.#uses;
    const isOldEnough = use !== undefined && this.#owner.clock.monotonicMs() - use.since >= SHORTEST_USE_MS;
    if (!isOldEnough || this.#pending.has(keyOf(use.place))) return false;
    this.#uses.shift();
    this.#expect(use.place, true);
    this.#stage.fleet.agentOf(use.place.node).unmount(use.mountedVolume);
    return true;
  }

  async finish(): Promise<TransitionFigures> {
    const { clock, signal } = this.#owner;
    const until = clock.monotonicMs() + LIMIT_MS;
    while (this.#pending.size > 0 && clock.monotonicMs() < until && !signal.aborted) await clock.sleep(20, signal);
    this.#stopListening();
    if (this.#pending.size > 0) {
      throw new HarnessError(`not stored after ${LIMIT_MS / 1000} s: ${[...this.#pending.keys()].slice(0, 5)}`);
    }
    return { mounts: this.#mounts, unmounts: this.#unmounts };
  }

  #expect(place: ClaimPlace, unused: boolean): void {
    this.#pending.set(keyOf(place), { sentAt: this.#owner.clock.monotonicMs(), unused });
  }

  #see({ key, status }: Claim, seenAt: number): void {
    const pending = this.#pending.get(key);
    if (pending === undefined || status?.unused !== pending.unused) return;
    this.#pending.delete(key);
    (pending.unused ? this.#unmounts : this.#mounts).push(seenAt - pending.sentAt);
  }
}

/** The claims that no pod uses: one of each node, then the next of each, so that the load is spread. */
function* idleClaims(sizes: Sizes): Generator<ClaimPlace, undefined> {
  const perNode = sizes.claims / sizes.nodes;
  for (let slot = 0; slot < perNode; slot += 1) {
    for (let node = 0; node < sizes.nodes; node += 1) {
      const place = claimPlace(node * perNode + slot, sizes);
      if (!place.isUsed) yield place;
    }
  }
  return undefined;
}

function keyOf({ namespace, name }: ClaimPlace): string {
  return `${namespace}/${name}`;
}

/** The figures as rows of a table. */
export function latencyTable(figures: TransitionFigures | undefined): readonly (readonly string[])[] {
  return [
    ["FROM THE REPORT UNTIL A WATCH SHOWS THE STATUS", "N", "MIN", "P50", "P99", "MAX"],
    ["mounted -> in use", ...summary(figures?.mounts ?? [])],
    ["unmounted -> unused", ...summary(figures?.unmounts ?? [])],
  ];
}
