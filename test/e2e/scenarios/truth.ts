import type { MountOperation } from "../../rig/csi/record.ts";
import type { OracleLine } from "../../rig/oracle/record.ts";
import type { Moment } from "./scenario.ts";

/** The use of a volume by a pod: each of its mounts names both, and a staging mount no pod. */
export interface Use {
  readonly podUid: string;
  readonly volume: string;
}

/** A mount that is gone. */
export interface EndedMount {
  readonly mountPoint: string;
  /** It was there by then, wall clock, milliseconds. */
  readonly beganMs: number;
  /** When it went. */
  readonly at: Moment;
}

/** What the kernel told of the mounts of a use. */
export interface UseMounts {
  /** Mount points that are still there. */
  readonly left: readonly string[];
  readonly ended: readonly EndedMount[];
}

/** The mounts of a use in a node's record: those in the pod's folder, subPaths included, and the places of raw devices. */
export function useMounts(lines: readonly OracleLine[], { podUid, volume }: Use): UseMounts {
  const left = new Map<string, Omit<EndedMount, "at">>();
  const ended: EndedMount[] = [];
  for (const line of lines) {
    // All mounts of a node that is down are gone; the watcher tells each of them.
    if (!("mountPoint" in line)) continue;
    const { kind, mount, mountPoint, after, by } = line;
    if (!mountPoint.includes(podUid) || !mountPoint.includes(volume)) continue;
    if (kind !== "detached") {
      left.set(mount, { mountPoint, beganMs: by.wallMs });
      continue;
    }
    const beganMs = left.get(mount)?.beganMs ?? after.wallMs;
    left.delete(mount);
    ended.push({ mountPoint, beganMs, at: { afterMs: after.wallMs, byMs: by.wallMs } });
  }
  return { left: [...left.values()].map((one) => one.mountPoint), ended };
}

/** How many mounts came and went before the kernel's record could say where: a use may be among them. */
export function missedMounts(lines: readonly OracleLine[]): number {
  return lines.filter(({ kind }) => kind === "missed").length;
}

/** Since when there was always one of these mounts, until the last one went. Nothing without any. */
export function continuousSince(mounts: readonly EndedMount[]): number | undefined {
  const [last, ...others] = mounts.toSorted((one, other) => other.at.afterMs - one.at.afterMs);
  return others.reduce(
    (sinceMs, { beganMs, at }) =>
      sinceMs === undefined || at.afterMs < sinceMs ? sinceMs : Math.min(sinceMs, beganMs),
    last?.beganMs,
  );
}

/** The successful umounts of a place in the drivers' records. */
export function umountsOf(operations: readonly MountOperation[], mountPoint: string): readonly Moment[] {
  return operations.flatMap(({ operation, call, target, began, ended, error }) => {
    const isIt = operation === "umount" && call === "NodeUnpublishVolume" && target === mountPoint;
    if (!isIt || ended === undefined || error !== undefined) return [];
    return [{ afterMs: began.wallMs, byMs: ended.wallMs }];
  });
}

/**
 * What two witnesses of one moment know together. Nothing when they contradict each other: then one of them is wrong.
 */
export function both(one: Moment, other: Moment): Moment | undefined {
  const afterMs = Math.max(one.afterMs, other.afterMs);
  const byMs = Math.min(one.byMs, other.byMs);
  return afterMs <= byMs ? { afterMs, byMs } : undefined;
}

/** The last of several ends. Nothing when there is none. */
export function latest(ends: readonly Moment[]): Moment | undefined {
  if (ends.length === 0) return undefined;
  return {
    afterMs: Math.max(...ends.map(({ afterMs }) => afterMs)),
    byMs: Math.max(...ends.map(({ byMs }) => byMs)),
  };
}
