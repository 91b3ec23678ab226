import type { Dice } from "./dice.ts";
import { formatMount, type Mount, type MountTable } from "./mount-table.ts";

/** How a kernel lists its mounts while they change. */
export type KernelKind =
  /** Since 5.8: a reader's place is kept, and what is there all the time is shown (torvalds/linux 9f6c61f96f2d). */
  | "stable-cursor"
  /** Before: a reader's place is a number of lines, so that an unmount before it makes the line be left out that is read next. */
  | "line-count";

/** What goes wrong with one scan. */
export type ReadDamage =
  /** It ends in the middle of a line. */
  | "cut"
  /** A line loses its end, and the next goes on. */
  | "short-line"
  /** Nothing is shown. */
  | "empty"
  /** The table of another mount namespace, which the kubelet's mounts do not reach. */
  | "foreign"
  /** The file cannot be read. */
  | "failing";

interface TableRead {
  readonly kernel: KernelKind;
  readonly dice: Dice;
  /** How long the read had been going on. */
  readonly windowMs: number;
  readonly damage: ReadDamage | undefined;
  /** What the table shows below here, other namespaces do not. */
  readonly root: string;
}

/**
 * The text of one scan. A table is read piece by piece, so that what was unmounted while it was read may or may not be in it; what was
 * there all the time is, but for kernels that count lines. Nothing when the read fails.
 */
export function readTable(table: MountTable, read: TableRead): string | undefined {
  const { damage, dice, root } = read;
  if (damage === "failing") return undefined;
  if (damage === "empty") return "";
  const seen = seenMounts(table, read);
  if (damage === "foreign") return textOf(seen.filter(({ point }) => !point.startsWith(`${root}/`)));
  if (damage === "cut") return textOf(seen).slice(0, dice.between(1, textOf(seen).length - 2));
  if (damage !== "short-line") return textOf(seen);
  const lines = textOf(seen).split("\n");
  const at = dice.between(0, lines.length - 2);
  return lines.map((line, index) => (index === at ? line.slice(0, dice.between(0, line.length - 4)) : line)).join("\n");
}

function seenMounts(table: MountTable, { kernel, dice, windowMs }: TableRead): readonly Mount[] {
  const recent = table.unmountedSince(windowMs);
  if (kernel === "line-count") {
    const { all } = table;
    const behind = recent
      .map(({ next }) => (next === undefined ? -1 : all.indexOf(next)))
      .filter((index) => index >= 0);
    // The line that a buffer was to begin with: wherever the reader was, behind what was unmounted.
    const skipped = new Set(behind.flatMap((index) => (dice.chance(0.5) ? [dice.between(index, all.length - 1)] : [])));
    return all.filter((_, index) => !skipped.has(index));
  }
  const shown = recent.filter(() => dice.chance(0.5)).map(({ mount }) => mount);
  return [...table.all, ...shown];
}

function textOf(mounts: readonly Mount[]): string {
  return mounts.map(formatMount).join("");
}
