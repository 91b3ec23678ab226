import {
  displayPath,
  findKubeletRoots,
  type MountEntry,
  type MountTable,
  parseMountInfo,
} from "../../../common/mounts/core/mount-info.ts";

/** What one read of the mount table shows about a device. */
export type MountFinding =
  | { readonly kind: "free" }
  | { readonly kind: "held"; readonly by: string }
  | { readonly kind: "unknown"; readonly why: string };

/** The device as `major:minor`, and its node's name, `loop0`. */
export interface HeldDevice {
  readonly number: string;
  readonly name: string;
}

/** The mount table of a whole mount namespace. */
export function wholeTable(text: string): MountTable {
  return parseMountInfo(text, "/");
}

/**
 * Whether a mount table (latin1) shows the device: its filesystem, or its device node, which a Block volume is bound from. An absence
 * proves something only if no line was damaged and the table shows the token of the keeper's own pod: then it is the node's table.
 */
export function findHolder(text: string, { number, name }: HeldDevice, podUid: string | undefined): MountFinding {
  const { entries, damagedLines } = wholeTable(text);
  const holders = entries.filter((entry) => entry.device === number || isNodeOf(entry, name));
  // A pod is more informative than the kubelet's own mount, which comes first in the table.
  const holder = holders.find(({ mountPoint }) => podAt(mountPoint) !== undefined) ?? holders[0];
  if (holder !== undefined) return { kind: "held", by: describe(holder) };
  if (damagedLines > 0) return { kind: "unknown", why: "the mount table has lines that cannot be read" };
  if (podUid !== undefined && findKubeletRoots(text, podUid).length === 0)
    return { kind: "unknown", why: "the mount table does not show the keeper's own pod: it is not the node's" };
  return { kind: "free" };
}

/** Where device nodes are: for one inside a container, `/dev` may be a tmpfs. */
const NODE_FILESYSTEMS = ["devtmpfs", "tmpfs"];

function isNodeOf({ fsType, root }: MountEntry, name: string): boolean {
  return NODE_FILESYSTEMS.includes(fsType) && root.replace(/\/\/deleted$/, "") === `/${name}`;
}

/** The kubelet's path contains the pod's UID: for a Block volume's device it is the last part. */
const POD = /\/pods\/([\w-]{1,128})\//;
const BLOCK_POD = /\/volumeDevices\/[^/]+\/([\w-]{1,128})$/;
const LONGEST_PATH = 512;

function podAt(mountPoint: string): string | undefined {
  return (POD.exec(mountPoint) ?? BLOCK_POD.exec(mountPoint))?.[1];
}

function describe({ mountPoint }: MountEntry): string {
  const pod = podAt(mountPoint);
  const place = `the mount ${displayPath(mountPoint).slice(0, LONGEST_PATH)}`;
  return pod === undefined ? place : `pod ${pod} by ${place}`;
}

/** The mount at a path, the last of several; undefined where there is none. */
export function mountedAt({ entries }: MountTable, path: string): MountEntry | undefined {
  const place = Buffer.from(path, "utf8").toString("latin1");
  return entries.findLast(({ mountPoint }) => mountPoint === place);
}
