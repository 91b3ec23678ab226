import {
  displayPath,
  findKubeletRoots,
  type MountEntry,
  type MountTable,
  parseMountInfo,
} from "../../../common/mounts/core/mount-info.ts";

/** What one read of the mount table says of a device. */
export type MountFinding =
  | { readonly kind: "free" }
  | { readonly kind: "held"; readonly by: string }
  | { readonly kind: "unknown"; readonly why: string };

/** The device as `major:minor` and as the name of its node, `loop0`. */
export interface HeldDevice {
  readonly number: string;
  readonly name: string;
}

/** The mount table of all of a mount namespace. */
export function wholeTable(text: string): MountTable {
  return parseMountInfo(text, "/");
}

/**
 * Whether a mount table (latin1) shows the device: its filesystem, or its node, which a Block volume is bound from. What a table does not show
 * proves something only where no line was damaged, and where it shows the token of the keeper's own pod: then it is the node's.
 */
export function findHolder(text: string, { number, name }: HeldDevice, podUid: string | undefined): MountFinding {
  const { entries, damagedLines } = wholeTable(text);
  const holders = entries.filter((entry) => entry.device === number || isNodeOf(entry, name));
  // A pod says more than the kubelet's own mount, which comes before it in the table.
  const holder = holders.find(({ mountPoint }) => podAt(mountPoint) !== undefined) ?? holders[0];
  if (holder !== undefined) return { kind: "held", by: describe(holder) };
  if (damagedLines > 0) return { kind: "unknown", why: "the mount table has lines that cannot be read" };
  if (podUid !== undefined && findKubeletRoots(text, podUid).length === 0)
    return { kind: "unknown", why: "the mount table does not show the keeper's own pod: it is not the node's" };
  return { kind: "free" };
}

/** Where nodes of devices are: a node inside a container may have a tmpfs at `/dev`. */
const NODE_FILESYSTEMS = ["devtmpfs", "tmpfs"];

function isNodeOf({ fsType, root }: MountEntry, name: string): boolean {
  return NODE_FILESYSTEMS.includes(fsType) && root.replace(/\/\/deleted$/, "") === `/${name}`;
}

/** The kubelet has the UID of the pod in the path: last in that of a Block volume's device. */
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

/** What is mounted at a path, the last one of several; nothing where there is none. */
export function mountedAt({ entries }: MountTable, path: string): MountEntry | undefined {
  const place = Buffer.from(path, "utf8").toString("latin1");
  return entries.findLast(({ mountPoint }) => mountPoint === place);
}
