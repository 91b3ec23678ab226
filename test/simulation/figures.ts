import type { Chances } from "../judge/docket.ts";
import { addChances, addCounts, chanceRows } from "../judge/tally.ts";
import type { SiteFigure } from "./engine/sites.ts";
import type { StepKind } from "./plan/step.ts";

/** The counts of many worlds. */
export interface Figures {
  readonly seeds: number;
  readonly steps: number;
  readonly events: number;
  readonly virtualMs: number;
  readonly uses: number;
  readonly writes: number;
  /** By kind of step. */
  readonly kinds: Readonly<Record<string, number>>;
  /** By network fault: how many requests it hit. */
  readonly network: Readonly<Record<string, number>>;
  /** By promise: how often it was judged or could have been. */
  readonly chances: Readonly<Record<string, Chances>>;
  /** By `site/phase`. */
  readonly sites: Readonly<Record<string, SiteFigure>>;
}

export const NO_FIGURES: Figures = {
  ...{ seeds: 0, steps: 0, events: 0, virtualMs: 0, uses: 0, writes: 0 },
  ...{ kinds: {}, network: {}, chances: {}, sites: {} },
};

/** The sum of two groups of worlds. */
export function addFigures(one: Figures, other: Figures): Figures {
  return {
    seeds: one.seeds + other.seeds,
    steps: one.steps + other.steps,
    events: one.events + other.events,
    virtualMs: one.virtualMs + other.virtualMs,
    uses: one.uses + other.uses,
    writes: one.writes + other.writes,
    kinds: addCounts(one.kinds, other.kinds),
    network: addCounts(one.network, other.network),
    chances: addChances(one.chances, other.chances),
    sites: addSites(one.sites, other.sites),
  };
}

function addSites(one: Figures["sites"], other: Figures["sites"]): Figures["sites"] {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  const sum = (name: string): SiteFigure => ({
    visits: (one[name]?.visits ?? 0) + (other[name]?.visits ?? 0),
    crashes: (one[name]?.crashes ?? 0) + (other[name]?.crashes ?? 0),
  });
  return Object.fromEntries([...names].map((name) => [name, sum(name)]));
}

/** What a large run has to cover. */
export interface Wanted {
  readonly kinds: readonly StepKind[];
  readonly network: readonly string[];
  readonly sites: readonly string[];
}

/** What a run did not cover: a fault that never hit proves nothing. */
export function notCovered({ kinds, network, sites }: Figures, wanted: Wanted): readonly string[] {
  return [
    ...wanted.kinds.filter((kind) => !kinds[kind]).map((kind) => `step ${kind}`),
    ...wanted.network.filter((fault) => !network[fault]).map((fault) => `network ${fault}`),
    ...wanted.sites.filter((site) => !sites[site]?.crashes).map((site) => `crash at ${site}`),
  ];
}

/** The figures as text. */
export function figuresText(figures: Figures, tookMs: number): string {
  const { seeds, steps, events, virtualMs, uses, writes } = figures;
  const hours = Math.round(virtualMs / 3_600_000);
  const head = `${seeds} seeds, ${steps} steps, ${uses} uses, ${writes} writes to claims, ${events} events, ${hours} hours of virtual time; ${Math.round(tookMs / Math.max(1, seeds))} ms a seed`;
  const faults = [...rowsOf("step", figures.kinds), ...rowsOf("network", figures.network)];
  const crashes = Object.entries(figures.sites)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(
      ([name, { visits, crashes }]) =>
        `  ${name.padEnd(44)} ${String(visits).padStart(12)} ${String(crashes).padStart(10)}`,
    );
  return [
    head,
    "",
    "Steps by kind, and requests by the network fault that hit them:",
    ...faults,
    "",
    ...chanceRows(figures.chances),
    "",
    `  ${"Crash site".padEnd(44)} ${"visited".padStart(12)} ${"died there".padStart(10)}`,
    ...crashes,
  ].join("\n");
}

function rowsOf(what: string, counts: Readonly<Record<string, number>>): readonly string[] {
  return Object.entries(counts)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, count]) => `  ${`${what} ${name}`.padEnd(44)} ${String(count).padStart(12)}`);
}
