import type { Clock } from "../common/runtime/clock.ts";
import { MooringError, messageOf } from "../common/runtime/errors.ts";
import type { Logger } from "../common/runtime/logger.ts";
import type { NodeMessage } from "../common/storage/node-report.ts";
import { formatMillisecondsUp } from "../common/storage/timestamp.ts";
import {
  type AgentSight,
  agentSight,
  type GapWord,
  type NodeWord,
  sinceBound,
  type UnseenTime,
  unseenTimes,
  wordOn,
} from "./core/blind-gap.ts";
import type { BlindGapSetting, Unseen } from "./core/claim-gap.ts";
import type { Node, Volume } from "./core/cluster-objects.ts";
import { type CoverageGap, isUpTo } from "./core/coverage.ts";
import type { Receipt } from "./core/fleet.ts";
import type { Standing } from "./core/standing.ts";
import type { PodCoverage } from "./pod-coverage.ts";
import type { NodeLeases } from "./sources/node-leases.ts";

interface BlindGapsParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly coverage: Pick<PodCoverage, "gaps" | "settle">;
  readonly cluster: {
    readonly node: (name: string) => Node | undefined;
    readonly nodeNames: () => readonly string[];
  };
  readonly leases: NodeLeases;
  readonly standingOf: (node: string) => Standing["kind"];
  /** Whatever was told was looked at, and what came of it was written. */
  readonly isAtRest: () => boolean;
  /** Any claim may have to be looked at. */
  readonly onChange: () => void;
}

interface BlindGapsLimits {
  readonly silentAfterMs: number;
  readonly agentlessAfterMs: number;
  readonly blindGap: BlindGapSetting;
}

/** A gap, and what nodes have told of it. */
interface Track {
  readonly gap: CoverageGap;
  /** On the monotonic clock. */
  readonly knownSince: number;
  /** The nodes that were there. */
  readonly nodes: readonly string[];
  /** Those whose kubelets have not renewed their Leases since before; nothing until the Leases were listed. */
  away: ReadonlySet<string> | undefined;
  /** What is said stays: a later report dates it less exactly. */
  readonly told: Map<string, NodeWord>;
  /** It can be judged: every node has told, or had its time to. */
  isReady: boolean;
}

/** Two that became one are another one. */
function keyOf({ fromMs, toMs }: CoverageGap): string {
  return `${fromMs ?? ""}/${toMs}`;
}

/** How often gaps are looked at while there are any. Milliseconds. */
const LOOK_MS = 2_000;
/** A node whose object was deleted and made anew is heard for so long after a gap, also when all others have told. Milliseconds. */
const LATE_MS = 3_600_000;
/** So many kinds of volumes are remembered with what was not seen of them. */
const MOST_KINDS = 10_000;
const NOTHING: readonly UnseenTime[] = [];

/** What nobody saw in the times in which no replica watched pods: asks each node that was there, once, and tells of each volume. */
export class BlindGaps {
  readonly #parts: BlindGapsParts;
  readonly #limits: BlindGapsLimits;
  readonly #sights = new Map<string, AgentSight>();
  /** They stay as long as this time of leading: what comes to light later is judged by them, too. */
  readonly #tracks = new Map<string, Track>();
  #words: readonly GapWord[] = [];
  #text = "[]";
  readonly #times = new Map<string, readonly UnseenTime[]>();

  constructor(parts: BlindGapsParts, limits: BlindGapsLimits) {
    this.#parts = parts;
    this.#limits = limits;
  }

  /** Looks at the gaps now and then until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#look(signal);
      await this.#parts.clock.sleep(LOOK_MS, signal);
    }
  }

  /** A report was accepted; `isSetBack`: the boot's clock, and so what the agent knows, has gone back to an earlier state. */
  onReport(message: NodeMessage, receipt: Pick<Receipt, "atMs" | "widthMs">, isSetBack: boolean): void {
    const sight = agentSight(message, receipt);
    const lost =
      this.#sights.get(message.node)?.blind.filter(({ fromMs }) => fromMs === Number.NEGATIVE_INFINITY) ?? [];
    const now = isSetBack ? [{ fromMs: Number.NEGATIVE_INFINITY, toMs: receipt.atMs }] : lost;
    this.#sights.set(message.node, { ...sight, blind: [...now, ...sight.blind] });
  }

  /** When a claim with this volume may have been used without anybody seeing it. */
  unseenOf(volume: Volume | undefined): Unseen {
    const { blindGap: setting } = this.#limits;
    const times = this.#words.length === 0 ? NOTHING : sinceBound(this.#timesOf(volume), volume?.boundSinceMs);
    const openUntilMs = this.#openUntil(volume);
    return openUntilMs === undefined ? { times, setting } : { times, setting, openUntilMs };
  }

  /** The end of the last gap that cannot be judged yet and that the volume's binding is not newer than. */
  #openUntil(volume: Volume | undefined): number | undefined {
    const { boundSinceMs = Number.NEGATIVE_INFINITY } = volume ?? {};
    const open = this.#parts.coverage.gaps().filter((gap) => this.#tracks.get(keyOf(gap))?.isReady !== true);
    const ends = open.map(({ toMs }) => toMs).filter((toMs) => boundSinceMs < toMs);
    return ends.length === 0 ? undefined : Math.max(...ends);
  }

  #timesOf(volume: Volume | undefined): readonly UnseenTime[] {
    const { isHostPath = false, nodeAffinity } = volume ?? {};
    const kind = `${isHostPath} ${nodeAffinity ?? ""}`;
    const known = this.#times.get(kind);
    if (known !== undefined) return known;
    const times = unseenTimes({ isHostPath, nodeAffinity }, this.#words, this.#parts.cluster.node);
    if (this.#times.size >= MOST_KINDS) this.#times.clear();
    this.#times.set(kind, times);
    return times;
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { coverage, clock, cluster } = this.#parts;
    const open = coverage.gaps();
    for (const gap of open) {
      if (this.#tracks.has(keyOf(gap))) continue;
      const nodes = gap.openNodes ?? cluster.nodeNames();
      const knownSince = clock.monotonicMs();
      this.#tracks.set(keyOf(gap), { gap, knownSince, nodes, away: undefined, told: new Map(), isReady: false });
    }
    const keys = new Set(open.map(keyOf));
    const isWorth = (track: Track): boolean => keys.has(keyOf(track.gap)) || this.#ageOf(track) < LATE_MS;
    const tracks = [...this.#tracks.values()].filter(isWorth);
    if (tracks.length === 0) return;
    await this.#findAway(tracks, signal);
    if (signal.aborted) return;
    const waiting = tracks.filter(({ isReady }) => !isReady);
    for (const track of tracks) this.#hear(track);
    const isNews = this.#publish();
    // Claims whose time is from before the gap have waited for this.
    if (isNews || waiting.some(({ isReady }) => isReady)) this.#parts.onChange();
    else this.#settle(tracks);
  }

  /** Once, as early as can be: a kubelet that comes back renews its Lease, and nothing is proven any more. */
  async #findAway(tracks: readonly Track[], signal: AbortSignal): Promise<void> {
    const { leases, logger } = this.#parts;
    const asking = tracks.filter(({ away }) => away === undefined);
    const nodes = new Set(asking.flatMap(({ gap, nodes }) => (gap.leasesAt === undefined ? [] : nodes)));
    try {
      const renewals = nodes.size === 0 ? new Map() : await leases.renewals(nodes, signal);
      for (const track of asking) {
        const { leasesAt = "" } = track.gap;
        const isAway = (node: string): boolean => isUpTo(renewals.get(node)?.resourceVersion ?? "", leasesAt);
        track.away = new Set(track.nodes.filter(isAway));
      }
    } catch (error) {
      if (!(error instanceof MooringError)) throw error;
      // Without them no node is known to have been away: times are moved later than need be.
      if (!signal.aborted) logger.warn({ err: messageOf(error) }, "kubelets' leases could not be listed");
      for (const track of asking) if (this.#ageOf(track) > this.#limits.silentAfterMs) track.away = new Set();
    }
  }

  #hear(track: Track): void {
    if (track.away === undefined) return;
    // One that was deleted, and is back, may have been there: it says so itself. Who is asked by name has been told of the others.
    const { nodeNames } = this.#parts.cluster;
    const back = track.gap.openNodes === undefined ? nodeNames().filter((node) => this.#sights.has(node)) : [];
    for (const node of new Set([...track.nodes, ...back])) {
      if (track.told.has(node)) continue;
      const word = this.#wordOf(node, track);
      // What was made after it has nothing to tell, unless it turns out to be an older machine.
      if (!word.isOpen && (this.#sights.has(node) || !this.#isNewer(node, track))) track.told.set(node, word);
    }
    const isLate = (node: string): boolean =>
      track.told.has(node) || this.#isNewer(node, track) || this.#parts.standingOf(node) === "silent";
    track.isReady ||= this.#ageOf(track) > this.#limits.silentAfterMs || track.nodes.every(isLate);
  }

  #wordOf(node: string, track: Track): NodeWord {
    const { cluster, standingOf } = this.#parts;
    return wordOn(track.gap, {
      sight: this.#sights.get(node),
      standing: standingOf(node),
      createdAtMs: cluster.node(node)?.createdAtMs,
      isKubeletAway: track.away?.has(node) === true,
      isOverdue: this.#isOverdue(track),
    });
  }

  #isNewer(node: string, { gap }: Track): boolean {
    const createdAtMs = this.#parts.cluster.node(node)?.createdAtMs;
    return createdAtMs !== undefined && createdAtMs >= gap.toMs;
  }

  #isOverdue(track: Track): boolean {
    return this.#ageOf(track) > this.#limits.agentlessAfterMs;
  }

  #ageOf({ knownSince }: Track): number {
    return this.#parts.clock.monotonicMs() - knownSince;
  }

  /** True when there is something new to be taken into account. */
  #publish(): boolean {
    const words = [...this.#tracks.values()].filter(({ isReady }) => isReady).map((track) => this.#gapWord(track));
    const text = JSON.stringify(words.map(({ gap, blind, before }) => [gap.toMs, [...blind], before.size]));
    if (text === this.#text) return false;
    this.#text = text;
    this.#words = words;
    this.#times.clear();
    for (const { gap, blind } of words) {
      const until = formatMillisecondsUp(gap.toMs);
      const nodes = [...blind.keys()];
      this.#parts.logger.info(
        { until, nodes: nodes.length, first: nodes.slice(0, 5) },
        "a time in which no replica watched pods is taken into account; nodes that did not watch either",
      );
    }
    return true;
  }

  #gapWord(track: Track): GapWord {
    const all = new Set([...track.nodes, ...track.told.keys()]);
    const words = [...all].map((node) => [node, track.told.get(node) ?? this.#wordOf(node, track)] as const);
    const blind = words.filter(([, word]) => word.blind.length > 0).map(([node, word]) => [node, word.blind] as const);
    const before = words.flatMap(([node, word]) => (word.before === undefined ? [] : [[node, word.before] as const]));
    return { gap: track.gap, blind: new Map(blind), before: new Map(before) };
  }

  /** What was told and dealt with need not be told to a successor; it is as long as somebody may still come soon. */
  #settle(tracks: readonly Track[]): void {
    const isHeard = (track: Track): boolean =>
      track.nodes.every((node) => track.told.has(node) || this.#isNewer(node, track)) || this.#isOverdue(track);
    const heard = new Map(tracks.filter((one) => one.isReady && isHeard(one)).map((one) => [keyOf(one.gap), one]));
    if (heard.size === 0 || !this.#parts.isAtRest()) return;
    this.#parts.coverage.settle((gap) => {
      const track = heard.get(keyOf(gap));
      return track?.nodes.filter((node) => !track.told.has(node) && !this.#isNewer(node, track));
    });
  }
}
