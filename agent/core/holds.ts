import { type Hold, volumeKey } from "../../common/storage/volume-identity.ts";
import { holdAt } from "./kubelet-path.ts";
import { findKubeletRoot, type MountEntry, parseMountInfo } from "./mount-info.ts";

/** A hold together with the mount that shows it. */
export interface MountedHold extends Hold {
  readonly mount: MountEntry;
}

/** One read of the mount table. Stamps are milliseconds on the boot clock. */
export interface MountRead {
  readonly beganAt: number;
  readonly endedAt: number;
  readonly holds: readonly MountedHold[];
  /** Why absence proves nothing in this read; undefined when the read is complete. */
  readonly incomplete: string | undefined;
  readonly kubeletRoot: string;
}

/** The text of a mount table (latin1) and when its read began and ended. */
export interface MountInfoText {
  readonly text: string;
  readonly beganAt: number;
  readonly endedAt: number;
}

/** Where the kubelet keeps its volumes: found by the agent's own mount, or given. */
export type RootRule =
  | { readonly by: "own-pod"; readonly podUid: string; readonly override: string | undefined }
  | { readonly by: "path"; readonly path: string };

/** The kubelet's default root. */
export const DEFAULT_KUBELET_ROOT = "/var/lib/kubelet";

/** What a read of the mount table shows, and whether what it does not show is really gone. */
export function readHolds({ text, beganAt, endedAt }: MountInfoText, rule: RootRule): MountRead {
  const found = rule.by === "own-pod" ? findKubeletRoot(text, rule.podUid) : undefined;
  const override = rule.by === "path" ? rule.path : rule.override;
  const kubeletRoot = override ?? found ?? DEFAULT_KUBELET_ROOT;
  const table = parseMountInfo(text, kubeletRoot);
  const incomplete =
    (table.damagedLines > 0 ? `${table.damagedLines} damaged lines` : undefined) ??
    (rule.by === "own-pod" && found === undefined ? "own pod's token mount is not in the table" : undefined) ??
    (rule.by === "path" ? "outside a pod: nothing proves that this is the kubelet's mount table" : undefined);
  return {
    beganAt,
    endedAt,
    holds: table.entries.flatMap((mount) => mountedHold(mount, kubeletRoot)),
    incomplete,
    kubeletRoot,
  };
}

function mountedHold(mount: MountEntry, kubeletRoot: string): MountedHold[] {
  const hold = holdAt(mount.mountPoint, kubeletRoot);
  return hold === undefined ? [] : [{ ...hold, mount }];
}

/** Equal for the same hold in two reads, however many mounts show it (stacked mounts, one for each subPath). */
export function holdKey(hold: Hold): string {
  return `${hold.kind}/${hold.podUid ?? ""}/${volumeKey(hold.volume)}`;
}

/** Two reads, one right after the other, as one: present is what either shows, absent is what both lack. */
export function mergeReads(first: MountRead, second: MountRead): MountRead {
  return {
    beganAt: first.beganAt,
    endedAt: second.endedAt,
    holds: [...second.holds, ...first.holds],
    incomplete: first.incomplete ?? second.incomplete,
    kubeletRoot: second.kubeletRoot,
  };
}
