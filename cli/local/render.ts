import { type Column, cutMiddle, layOut, type Screen, type Table } from "../table.ts";
import type { DeletionResult, Loss } from "./forget.ts";
import type { Orphans, OrphanView } from "./orphans.ts";
import type { PoolView } from "./pools.ts";
import { sizeText } from "./size-text.ts";
import type { LocalVolume } from "./state.ts";
import type { Part } from "./uninstall.ts";

/** Versions of each list's schema. A new field does not change it; a renamed or removed field, or one with a new meaning, makes it v2. */
const API_VERSION = "cli.mooring.dev/v1";

type ColumnOf<T> = Column & { readonly cell: (row: T) => string; readonly isAlarm?: (row: T) => boolean };

function tableOf<T>(columns: readonly ColumnOf<T>[], rows: readonly T[]): Table {
  return {
    columns,
    rows: rows.map((row) =>
      columns.map(({ cell, isAlarm }) => ({ text: cell(row), isAlarm: isAlarm?.(row) ?? false })),
    ),
  };
}

function optionalSize(bytes: number | undefined): string {
  return bytes === undefined ? "?" : sizeText(bytes);
}

const POOLS: readonly ColumnOf<PoolView>[] = [
  { title: "NODE", shorten: cutMiddle, cell: ({ node }) => node },
  { title: "POOL", cell: ({ pool }) => pool },
  {
    title: "STATE",
    cell: ({ health }) => health,
    isAlarm: ({ health }) => health !== "usable" && health !== "empty" && health !== "unknown",
  },
  { title: "SIZE", cell: ({ sizeBytes }) => optionalSize(sizeBytes) },
  { title: "FREE", cell: ({ freeBytes }) => optionalSize(freeBytes) },
  { title: "USED", cell: ({ usedBytes }) => sizeText(usedBytes) },
  { title: "VOLUMES", cell: ({ volumes }) => String(volumes) },
  { title: "LARGEST", cell: ({ largest }) => (largest === undefined ? "" : sizeText(largest.bytes)) },
  { title: "CLASSES", shorten: cutMiddle, cell: ({ storageClasses }) => storageClasses.join(",") },
];

const ORPHANS: readonly ColumnOf<OrphanView>[] = [
  { title: "KIND", cell: ({ kind }) => kind, isAlarm: ({ kind }) => kind === "volume without data" },
  { title: "NODE", shorten: cutMiddle, cell: ({ node }) => node },
  { title: "VOLUME", shorten: cutMiddle, cell: ({ volume }) => volume },
  { title: "POOL", cell: ({ pool }) => pool },
  { title: "SIZE", cell: ({ bytes }) => sizeText(bytes) },
  { title: "CLAIM", shorten: cutMiddle, cell: ({ claim }) => claim ?? "" },
  { title: "WHY", shorten: cutMiddle, cell: ({ why }) => why },
];

const LOSSES: readonly ColumnOf<Loss>[] = [
  { title: "VOLUME", shorten: cutMiddle, cell: ({ volume }) => volume.name },
  { title: "SIZE", cell: ({ volume }) => sizeText(volume.bytes) },
  { title: "PHASE", cell: ({ volume }) => phaseOf(volume) },
  { title: "CLAIM", shorten: cutMiddle, cell: ({ volume }) => claimOf(volume) },
  { title: "PODS", shorten: cutMiddle, cell: ({ pods }) => pods?.join(",") ?? "?" },
];

const VOLUMES: readonly ColumnOf<LocalVolume>[] = [
  { title: "VOLUME", shorten: cutMiddle, cell: ({ name }) => name },
  { title: "NODE", shorten: cutMiddle, cell: ({ node }) => node },
  { title: "SIZE", cell: ({ bytes }) => sizeText(bytes) },
  { title: "PHASE", cell: phaseOf },
  { title: "POLICY", cell: ({ policy }) => policy },
  { title: "CLAIM", shorten: cutMiddle, cell: claimOf },
];

const PARTS: readonly ColumnOf<Part>[] = [
  { title: "OBJECT", shorten: cutMiddle, cell: ({ kind, name }) => `${kind}/${name}` },
];

const RESULTS: readonly ColumnOf<DeletionResult>[] = [
  { title: "OBJECT", shorten: cutMiddle, cell: ({ kind, name }) => `${kind}/${name}` },
  { title: "OUTCOME", cell: ({ outcome }) => outcome, isAlarm: ({ outcome }) => outcome === "kept" },
  { title: "WHY", shorten: cutMiddle, cell: ({ why }) => why ?? "" },
];

function phaseOf({ isDeleting, phase }: LocalVolume): string {
  return isDeleting ? "Terminating" : phase;
}

function claimOf({ claim }: LocalVolume): string {
  return claim === undefined ? "" : `${claim.namespace}/${claim.name}`;
}

/** A table; no lines at all without rows. */
function text<T>(columns: readonly ColumnOf<T>[], rows: readonly T[], screen: Screen): string {
  return rows.length === 0 ? "" : layOut(tableOf(columns, rows), screen);
}

export const poolTable = (pools: readonly PoolView[], screen: Screen): string => text(POOLS, pools, screen);
export const orphanTable = ({ items }: Orphans, screen: Screen): string => text(ORPHANS, items, screen);
export const lossTable = (losses: readonly Loss[], screen: Screen): string => text(LOSSES, losses, screen);
export const volumeTable = (all: readonly LocalVolume[], screen: Screen): string => text(VOLUMES, all, screen);
export const partTable = (parts: readonly Part[], screen: Screen): string => text(PARTS, parts, screen);
export const resultTable = (results: readonly DeletionResult[], screen: Screen): string =>
  text(RESULTS, results, screen);

/** A list as JSON for programs: every field is always present, `null` means unknown. */
export function jsonList(kind: string, items: readonly object[], more: object = {}): string {
  const whole = items.map((item) =>
    Object.fromEntries(Object.entries(item).map(([key, value]) => [key, value ?? null])),
  );
  return `${JSON.stringify({ apiVersion: API_VERSION, kind, ...more, items: whole }, undefined, 2)}\n`;
}
