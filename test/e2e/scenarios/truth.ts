import type { MountOperation } from "../../csi/record.ts";
import type { OracleLine } from "../../oracle/record.ts";
import type { Truth } from "./scenario.ts";

/** The use of a volume by a pod: each of its mounts names both, and a staging mount no pod. */
export interface Use {
  readonly podUid: string;
  readonly volume: string;
}

/** What the kernel told of the mounts of a use. */
export interface UseMounts {
  /** Mount points that are still there. */
  readonly left: readonly string[];
  /** When each of those that are gone went. */
  readonly ended: readonly { readonly mountPoint: string; readonly at: Truth }[];
}

/** The mounts of a use in a node's record: those in the pod's folder, subPaths included, and the places of raw devices. */
export function useMounts(lines: readonly OracleLine[], { podUid, volume }: Use): UseMounts {
  const left = new Map<string, string>();
  const ended: { mountPoint: string; at: Truth }[] = [];
  for (const line of lines) {
    // All mounts of a node that is down are gone; the watcher tells each of them.
    if (!("mountPoint" in line)) continue;
    const { kind, mount, mountPoint, after, by } = line;
    if (!mountPoint.includes(podUid) || !mountPoint.includes(volume)) continue;
    if (kind !== "detached") {
      left.set(mount, mountPoint);
      continue;
    }
    left.delete(mount);
    ended.push({ mountPoint, at: { afterMs: after.wallMs, byMs: by.wallMs } });
  }
  return { left: [...left.values()], ended };
}

/** The successful umounts of a place in the drivers' records. */
export function umountsOf(operations: readonly MountOperation[], mountPoint: string): readonly Truth[] {
  return operations.flatMap(({ operation, call, target, began, ended, error }) => {
    const isIt = operation === "umount" && call === "NodeUnpublishVolume" && target === mountPoint;
    if (!isIt || ended === undefined || error !== undefined) return [];
    return [{ afterMs: began.wallMs, byMs: ended.wallMs }];
  });
}

/**
 * What two witnesses of one moment know together. Nothing when they contradict each other: then one of them is wrong.
 */
export function both(one: Truth, other: Truth): Truth | undefined {
  const afterMs = Math.max(one.afterMs, other.afterMs);
  const byMs = Math.min(one.byMs, other.byMs);
  return afterMs <= byMs ? { afterMs, byMs } : undefined;
}

/** The last of several ends. Nothing when there is none. */
export function latest(ends: readonly Truth[]): Truth | undefined {
  if (ends.length === 0) return undefined;
  return {
    afterMs: Math.max(...ends.map(({ afterMs }) => afterMs)),
    byMs: Math.max(...ends.map(({ byMs }) => byMs)),
  };
}
