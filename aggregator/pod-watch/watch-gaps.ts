import type { Clock } from "../../common/runtime/clock.ts";
import { follow } from "../../common/runtime/deadline.ts";
import { MooringError, messageOf } from "../../common/runtime/errors.ts";
import { runTogether } from "../../common/runtime/lifecycle.ts";
import type { Logger } from "../../common/runtime/logger.ts";
import type { NodeMessage } from "../../common/storage/node-report.ts";
import { formatMillisecondsUp } from "../../common/storage/timestamp.ts";
import type { AgentState } from "../core/agent-state.ts";
import type { Unobserved } from "../core/claim-gap.ts";
import type { Node, Volume } from "../core/cluster-objects.ts";
import type { Receipt } from "../core/fleet.ts";
import {
  type AgentCoverage,
  agentCoverage,
  type GapWord,
  type UnobservedTime,
  unobservedTimes,
} from "../core/watch-gap.ts";
import type { NodeLeases } from "../sources/node-leases.ts";
import { type Backlog, Checkpoint } from "./checkpoint.ts";
import { type GapLimits, GapTrack, type GapView, keyOf } from "./gap-track.ts";
import type { PodWatchHistory } from "./pod-watch-history.ts";

interface WatchGapsParts extends Backlog {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly coverage: Pick<PodWatchHistory, "gaps" | "settle" | "update">;
  readonly cluster: {
    readonly node: (name: string) => Node | undefined;
    readonly nodeNames: () => readonly string[];
  };
  readonly leases: NodeLeases;
  readonly agentStateOf: (node: string) => AgentState["kind"];
  /** Any claim may have to be looked at. */
  readonly onChange: () => void;
}

/** How often gaps are looked at while there are any. Milliseconds. */
const LOOK_MS = 2_000;
/** Nodes that are asked together tell together. Milliseconds. */
const GATHER_MS = 200;
/** A node whose object was deleted and made anew is heard for so long after a gap, also when all others have told. Milliseconds. */
const LATE_MS = 3_600_000;
/** So many kinds of volumes are remembered with what was not seen of them. */
const MOST_KINDS = 10_000;
const NOTHING: readonly UnobservedTime[] = [];

/** What nobody saw in the times in which no replica watched pods: asks each node that was there, once, and tells of each volume. */
export class WatchGaps {
  readonly #parts: WatchGapsParts;
  readonly #limits: GapLimits;
  readonly #view: GapView;
  readonly #sights = new Map<string, AgentCoverage>();
  /** They stay as long as this session: what comes to light later is judged by them, too. */
  readonly #tracks = new Map<string, GapTrack>();
  #words: readonly GapWord[] = [];
  #text = "[]";
  readonly #times = new Map<string, readonly UnobservedTime[]>();
  /** Ends the wait for the next look. */
  #news = new AbortController();
  /** By the gap, the nodes that have still to tell. */
  readonly #dealtWith: Checkpoint<ReadonlyMap<string, readonly string[]>>;

  constructor(parts: WatchGapsParts, limits: GapLimits) {
    const { clock, cluster, agentStateOf } = parts;
    this.#parts = parts;
    this.#limits = limits;
    this.#dealtWith = new Checkpoint(parts);
    this.#view = { ...cluster, agentStateOf, nowMs: clock.monotonicMs, sightOf: (node) => this.#sights.get(node) };
  }

  /** Looks at the gaps now and then until the signal is aborted. */
  run(signal: AbortSignal): Promise<void> {
    // An API server that does not answer holds no gap up for longer than its nodes have to tell.
    return runTogether([(limited) => this.#keepLooking(limited), (limited) => this.#keepAsking(limited)], signal);
  }

  /** A report was accepted; `isRolledBack`: the boot's clock, and so what the agent knows, has gone back to an earlier state. */
  onReport(message: NodeMessage, receipt: Pick<Receipt, "atMs" | "widthMs">, isRolledBack: boolean): void {
    const sight = agentCoverage(message, receipt);
    const lost =
      this.#sights.get(message.node)?.agentGaps.filter(({ fromMs }) => fromMs === Number.NEGATIVE_INFINITY) ?? [];
    const now = isRolledBack ? [{ fromMs: Number.NEGATIVE_INFINITY, toMs: receipt.atMs }] : lost;
    this.#sights.set(message.node, { ...sight, agentGaps: [...now, ...sight.agentGaps] });
    if ([...this.#tracks.values()].some(({ isReady }) => !isReady)) this.#news.abort("a node has told");
  }

  /** What a node has told is from before the end of a gap: a look at its mounts would end the wait for its word. */
  isAwaited(node: string): boolean {
    return this.#open().some((track) => track.isAwaited(node));
  }

  /** When a claim with this volume may have been used without anybody seeing it. */
  unobservedOf(volume: Volume | undefined): Unobserved {
    const times = this.#words.length === 0 ? NOTHING : this.#timesOf(volume);
    const openUntilMs = this.#openUntil();
    return openUntilMs === undefined ? { times } : { times, openUntilMs };
  }

  /** The end of the last gap that cannot be judged yet. */
  #openUntil(): number | undefined {
    const open = this.#parts.coverage.gaps().filter((gap) => this.#tracks.get(keyOf(gap))?.isReady !== true);
    return open.length === 0 ? undefined : Math.max(...open.map(({ toMs }) => toMs));
  }

  #timesOf(volume: Volume | undefined): readonly UnobservedTime[] {
    const { isHostPath = false, nodeAffinity } = volume ?? {};
    const kind = `${isHostPath} ${nodeAffinity ?? ""}`;
    const known = this.#times.get(kind);
    if (known !== undefined) return known;
    const times = unobservedTimes({ isHostPath, nodeAffinity }, this.#words, this.#parts.cluster.node);
    if (this.#times.size >= MOST_KINDS) this.#times.clear();
    this.#times.set(kind, times);
    return times;
  }

  /** The gaps that are to be handed over, each with what was told of it. */
  #open(): readonly GapTrack[] {
    return this.#parts.coverage.gaps().map((gap) => {
      const known = this.#tracks.get(keyOf(gap));
      if (known !== undefined) return known;
      const track = new GapTrack(gap, this.#view, this.#limits);
      this.#tracks.set(keyOf(gap), track);
      return track;
    });
  }

  async #keepLooking(signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    while (!signal.aborted) {
      this.#news = new AbortController();
      const unfollow = follow(this.#news, signal);
      this.#look();
      await clock.sleep(LOOK_MS, this.#news.signal);
      unfollow();
      if (this.#news.signal.aborted) await clock.sleep(GATHER_MS, signal);
    }
  }

  #look(): void {
    // Where there is no Lease nobody else does: the next gap is to begin where this watch ends, not before it began.
    this.#parts.coverage.update();
    const open = new Set(this.#open());
    const tracks = [...this.#tracks.values()].filter((track) => open.has(track) || track.ageMs < LATE_MS);
    if (tracks.length === 0) return;
    const waiting = tracks.filter(({ isReady }) => !isReady);
    for (const track of tracks) track.hear();
    const isNews = this.#publish();
    // Claims whose time is from before the gap have waited for this.
    if (isNews || waiting.some(({ isReady }) => isReady)) this.#parts.onChange();
    else this.#settle();
  }

  async #keepAsking(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#askForLeases(signal);
      await this.#parts.clock.sleep(LOOK_MS, signal);
    }
  }

  async #askForLeases(signal: AbortSignal): Promise<void> {
    const { leases, logger } = this.#parts;
    const asking = this.#open().filter(({ needsLeases }) => needsLeases);
    if (asking.length === 0) return;
    try {
      const renewals = await leases.renewals(new Set(asking.flatMap(({ nodes }) => [...nodes])), signal);
      for (const track of asking) track.onLeases(renewals);
      this.#news.abort("the leases were listed");
    } catch (error) {
      if (!(error instanceof MooringError)) throw error;
      // Without them no node is known to have been away: times are moved later than need be.
      if (!signal.aborted) logger.warn({ err: messageOf(error) }, "kubelets' leases could not be listed");
    }
  }

  /** True when there is something new to be taken into account. */
  #publish(): boolean {
    const words = [...this.#tracks.values()].filter(({ isReady }) => isReady).map((track) => track.word());
    const text = JSON.stringify(words.map(({ gap, agentGaps, before }) => [gap.toMs, [...agentGaps], before.size]));
    if (text === this.#text) return false;
    this.#text = text;
    this.#words = words;
    this.#times.clear();
    for (const { gap, agentGaps } of words) {
      const to = formatMillisecondsUp(gap.toMs);
      const nodes = [...agentGaps.keys()];
      this.#parts.logger.info(
        { to, nodes: nodes.length, examples: nodes.slice(0, 5) },
        "a time in which no replica watched pods is taken into account; nodes that did not watch either",
      );
    }
    return true;
  }

  /** What was told and dealt with need not be told to a successor; it is as long as somebody may still come soon. */
  #settle(): void {
    const heard = this.#open().filter(({ isHeard }) => isHeard);
    if (heard.length === 0) return;
    const open = this.#dealtWith.newest(new Map(heard.map((track) => [keyOf(track.gap), track.openNodes])));
    if (open !== undefined) this.#parts.coverage.settle((gap) => open.get(keyOf(gap)));
  }
}
