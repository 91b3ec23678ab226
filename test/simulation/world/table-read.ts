import type { Dice } from "./dice.ts";
import { formatMount, type Mount, type MountTable } from "./mount-table.ts";

/** How a kernel lists mounts that change during the scan. */
export type KernelKind =
  /** Since 5.8: the reader's place is stable, and every mount that exists all the time is listed (torvalds/linux 9f6c61f96f2d). */
  | "stable-cursor"
  /** Before 5.8: the reader's place is a line count, so that an unmount before it drops the next line. */
  | "line-count";

/** Damage of one scan. */
export type ReadDamage =
  /** The text ends within a line. */
  | "cut"
  /** One line loses its end, and the next line continues it. */
  | "short-line"
  /** The text is empty. */
  | "empty"
  /** The table of another mount namespace, which the kubelet's mounts do not reach. */
  | "foreign"
  /** The read fails. */
  | "failing";

interface TableRead {
  readonly kernel: KernelKind;
  readonly dice: Dice;
  /** How long the scan has been running. */
  readonly windowMs: number;
  readonly damage: ReadDamage | undefined;
  /** Other mount namespaces lack the mounts below this folder. */
  readonly root: string;
}

/**
 * The text of one scan. A process reads the table piece by piece: a mount that is unmounted meanwhile may be missing, and a mount that
 * stays is listed, except on kernels that count lines. Undefined when the read fails.
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
    // A buffer begins with this line: wherever the reader was, after the unmounted line.
    const skipped = new Set(behind.flatMap((index) => (dice.chance(0.5) ? [dice.between(index, all.length - 1)] : [])));
    return all.filter((_, index) => !skipped.has(index));
  }
  const shown = recent.filter(() => dice.chance(0.5)).map(({ mount }) => mount);
  return [...table.all, ...shown];
}

function textOf(mounts: readonly Mount[]): string {
  return mounts.map(formatMount).join("");
}
