import { mountedVolumeAt, NEVER_A_CLAIM } from "../../common/mounts/core/kubelet-path.ts";
import {
  displayPath,
  findKubeletRoots,
  type MountEntry,
  type MountInfoText,
  parseMountInfo,
} from "../../common/mounts/core/mount-info.ts";
import { type MountedVolume, volumeKey } from "../../common/storage/volume-identity.ts";

/** A mounted volume with the mount that shows it. */
export interface MountedVolumeEntry extends MountedVolume {
  readonly mount: MountEntry;
}

/** One scan of the mount table. Stamps are milliseconds on the boot clock. */
export interface MountScan {
  readonly beganAt: number;
  readonly endedAt: number;
  readonly mountedVolumes: readonly MountedVolumeEntry[];
  /** Why absence proves nothing in this scan; undefined when the scan is complete. */
  readonly incomplete: string | undefined;
  /** Lines that may have hidden a mounted volume; undefined without any. */
  readonly damagedLines?: number;
  readonly kubeletRoot: string;
}

/** Where the kubelet keeps its volumes: found by the agent's own mount, or configured. Paths are bytes as latin1. */
export type RootRule =
  | { readonly by: "own-pod"; readonly podUid: string; readonly override: string | undefined }
  | { readonly by: "path"; readonly path: string };

/** The kubelet's default root. */
export const DEFAULT_KUBELET_ROOT = "/var/lib/kubelet";

/** What a scan of the mount table shows, and whether an absence counts in it. */
export function scanMountedVolumes({ text, beganAt, endedAt }: MountInfoText, rule: RootRule): MountScan {
  const { kubeletRoot, unproven } = rootOf(text, rule);
  const table = parseMountInfo(text, kubeletRoot, NEVER_A_CLAIM);
  return {
    beganAt,
    endedAt,
    mountedVolumes: table.entries.flatMap((mount) => mountedVolumeEntry(mount, kubeletRoot)),
    incomplete: table.damagedLines > 0 ? `${table.damagedLines} damaged lines` : unproven,
    ...(table.damagedLines > 0 && { damagedLines: table.damagedLines }),
    kubeletRoot,
  };
}

/** Where the kubelet keeps its volumes, and why this table does not prove it. */
function rootOf(text: string, rule: RootRule): { readonly kubeletRoot: string; readonly unproven: string | undefined } {
  if (rule.by === "path") {
    return {
      kubeletRoot: withoutSlash(rule.path),
      unproven: "outside a pod: nothing proves that this is the kubelet's mount table",
    };
  }
  const roots = findKubeletRoots(text, rule.podUid);
  const kubeletRoot = withoutSlash(rule.override ?? roots[0] ?? DEFAULT_KUBELET_ROOT);
  if (roots.includes(kubeletRoot)) return { kubeletRoot, unproven: undefined };
  const found = roots.length === 0 ? "not in the table" : `below ${roots.map(displayPath).join(" and ")}`;
  return {
    kubeletRoot,
    unproven: `own pod's token mount is ${found}${rule.override === undefined ? "" : `, not below ${displayPath(kubeletRoot)}`}`,
  };
}

function withoutSlash(path: string): string {
  return path.replace(/(?<=[^/])\/+$/, "");
}

function mountedVolumeEntry(mount: MountEntry, kubeletRoot: string): MountedVolumeEntry[] {
  const mountedVolume = mountedVolumeAt(mount.mountPoint, kubeletRoot);
  return mountedVolume === undefined ? [] : [{ ...mountedVolume, mount }];
}

/** Equal for the same mounted volume in two scans, however many mounts show it (stacked mounts, one for each subPath). */
export function mountedVolumeKey(mountedVolume: MountedVolume): string {
  return `${mountedVolume.kind}/${mountedVolume.podUid ?? ""}/${volumeKey(mountedVolume.volume)}`;
}

/** Two consecutive scans as one: present is what either shows, absent is what both lack. */
export function mergeScans(first: MountScan, second: MountScan): MountScan {
  return {
    beganAt: first.beganAt,
    endedAt: second.endedAt,
    mountedVolumes: [...second.mountedVolumes, ...first.mountedVolumes],
    incomplete: first.incomplete ?? second.incomplete,
    damagedLines: (first.damagedLines ?? 0) + (second.damagedLines ?? 0),
    kubeletRoot: second.kubeletRoot,
  };
}

/** True for two scans that agree: the same mounted volumes, and the same reason, if any, why absence proves nothing. */
export function isSameScan(first: MountScan, second: MountScan): boolean {
  return first.incomplete === second.incomplete && keysOf(first).symmetricDifference(keysOf(second)).size === 0;
}

function keysOf({ mountedVolumes }: MountScan): ReadonlySet<string> {
  return new Set(mountedVolumes.map(mountedVolumeKey));
}
