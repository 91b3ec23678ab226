import { type VolumeIdentity, volumeKey } from "../../common/storage/volume-identity.ts";
import type { NodeUnmountRecord, NodeView } from "./node-view.ts";

/** Of a node: more than any one report takes, whose texts are in a body of 2 MiB. Bytes. */
const NODE_MOST = 3 * 1024 * 1024;
/** Of all nodes together: 5,000 with thirty mounts take half of it. */
const ALL_MOST = 128 * 1024 * 1024;
/** So much a node may always have, whatever the others take: some hundred mounts. */
const NODE_LEAST = 256 * 1024;

/** What a mounted volume or unmount record takes beside its texts. */
const ENTRY_BYTES = 200;

interface Weighed {
  readonly volume: VolumeIdentity;
  readonly podUid: string | undefined;
  readonly pod: string | undefined;
  readonly id?: string;
}

/** About how much memory it takes to remember what a node shows, never less than its texts. Bytes. */
export function bytesOf({
  mountedVolumes,
  unmountRecords,
}: Pick<NodeView, "mountedVolumes" | "unmountRecords">): number {
  let bytes = 0;
  for (const mountedVolume of mountedVolumes) bytes += entryBytes(mountedVolume);
  for (const unmountRecord of unmountRecords.values()) bytes += entryBytes(unmountRecord);
  return bytes;
}

function entryBytes({ volume, podUid = "", pod = "", id = "" }: Weighed): number {
  return ENTRY_BYTES + volumeKey(volume).length + podUid.length + pod.length + id.length;
}

/** Why a node may not have so much; nothing where it may. `othersBytes` is what all other nodes have. */
export function shareProblem(bytes: number, othersBytes: number): string | undefined {
  if (bytes > NODE_MOST)
    return `what is to be remembered of the node takes ${bytes} bytes, and a node may have ${NODE_MOST}`;
  if (bytes <= NODE_LEAST || bytes + othersBytes <= ALL_MOST) return undefined;
  return `what is to be remembered of all nodes takes more than ${ALL_MOST} bytes, and of this one ${bytes}`;
}

/** True when one ended after the other on the same node's clock. */
function isLater(one: NodeUnmountRecord, other: NodeUnmountRecord): boolean {
  return one.timeline === other.timeline ? one.by > other.by : one.timeline > other.timeline;
}

/**
 * The view without ends that nobody tells any more and that a later one of the same volume makes up for. What a report tells stays: it is to
 * be acknowledged.
 */
export function withoutEarlier(view: NodeView): NodeView {
  const latest = new Map<string, NodeUnmountRecord>();
  for (const unmountRecord of view.unmountRecords.values()) {
    const key = volumeKey(unmountRecord.volume);
    const known = latest.get(key);
    if (known === undefined || isLater(unmountRecord, known)) latest.set(key, unmountRecord);
  }
  const kept = new Set(latest.values());
  return {
    ...view,
    unmountRecords: new Map([...view.unmountRecords].filter(([, one]) => one.isTold || kept.has(one))),
  };
}
