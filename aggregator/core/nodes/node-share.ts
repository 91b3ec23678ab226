import { volumeKey } from "../../../common/storage/volume-identity.ts";
import type { NodeMountedVolume, NodeUnmountRecord, NodeView } from "./node-view.ts";

/** The limit of one node: more than any report of 2 MiB takes. Bytes. */
const NODE_MOST = 3 * 1024 * 1024;
/** The limit of all nodes together: 5,000 nodes with thirty mounts take half of it. */
const ALL_MOST = 128 * 1024 * 1024;
/** A node may always have so much, some hundred mounts, whatever the others take. */
const NODE_LEAST = 256 * 1024;

/** What a mounted volume or unmount record takes beside its texts. */
const ENTRY_BYTES = 200;

/** About how much memory a node's view takes, never less than its texts. Bytes. */
export function bytesOf({
  mountedVolumes,
  unmountRecords,
}: Pick<NodeView, "mountedVolumes" | "unmountRecords">): number {
  let bytes = 0;
  for (const mountedVolume of mountedVolumes) bytes += entryBytes(mountedVolume);
  for (const unmountRecord of unmountRecords.values()) bytes += entryBytes(unmountRecord) + unmountRecord.id.length;
  return bytes;
}

function entryBytes({ volume, podUid = "", pod = "" }: Pick<NodeMountedVolume, "volume" | "podUid" | "pod">): number {
  return ENTRY_BYTES + volumeKey(volume).length + podUid.length + pod.length;
}

/** Why a node may not have so much; undefined where it may. `othersBytes` is what all other nodes have. */
export function shareProblem(bytes: number, othersBytes: number): string | undefined {
  if (bytes > NODE_MOST)
    return `what is to be remembered of the node takes ${bytes} bytes, and a node may have ${NODE_MOST}`;
  if (bytes <= NODE_LEAST || bytes + othersBytes <= ALL_MOST) return undefined;
  return `what is to be remembered of all nodes takes more than ${ALL_MOST} bytes, and of this one ${bytes}`;
}

/** True when the first ended after the second on the same node's clock. */
function isLater(one: NodeUnmountRecord, other: NodeUnmountRecord): boolean {
  return one.timeline === other.timeline ? one.by > other.by : one.timeline > other.timeline;
}

/**
 * The view without ends that the node no longer reports and that a later end of the same volume replaces. What it reports stays, as it
 * has to be acknowledged.
 */
export function withoutEarlier(view: NodeView): NodeView {
  const byVolume = Map.groupBy(view.unmountRecords.values(), ({ volume }) => volumeKey(volume));
  const latest = [...byVolume.values()].map((ends) => ends.reduce((best, one) => (isLater(one, best) ? one : best)));
  const kept = new Set(latest);
  return {
    ...view,
    unmountRecords: new Map([...view.unmountRecords].filter(([, one]) => one.isReported || kept.has(one))),
  };
}
