import { type MountEntry, parseMountInfo } from "../../common/mounts/core/mount-info.ts";
import type { NodeFacts } from "../../common/storage/node-facts.ts";

/** What a mount table shows beside the mounted volumes: people see by it whether it is the right one. */
export interface TableSurvey {
  readonly lines: number;
  /** Lines that could not be read, wherever they are. */
  readonly damagedLines: number;
  /** Type of the file system at `/`; undefined when the table does not show it. */
  readonly rootFsType: string | undefined;
  /** Folders below which pods' volumes are mounted as a kubelet does it, most mounts first. Paths are bytes as latin1. */
  readonly kubeletRoots: readonly { readonly path: string; readonly mounts: number }[];
  readonly facts: Pick<NodeFacts, "cgroup" | "containerRuntime">;
}

/** Surveys a whole mount table (latin1). */
export function surveyTable(text: string): TableSurvey {
  const { entries, damagedLines } = parseMountInfo(text, "/");
  return {
    lines: text.split("\n").filter((line) => line !== "").length,
    damagedLines,
    rootFsType: entries.find(({ mountPoint }) => mountPoint === "/")?.fsType,
    kubeletRoots: kubeletRootsIn(entries),
    facts: { cgroup: cgroupIn(entries), containerRuntime: containerRuntimeIn(entries) },
  };
}

/** Any plugin's folder: that of a volume has a tilde for the slash in the plugin's name. */
const POD_VOLUME = /^(.*)\/pods\/[^/]+\/volumes\/[^/~]+~[^/]+\//;

function kubeletRootsIn(entries: readonly MountEntry[]): TableSurvey["kubeletRoots"] {
  const roots = new Map<string, number>();
  for (const { mountPoint } of entries) {
    const root = POD_VOLUME.exec(mountPoint)?.[1];
    if (root !== undefined) roots.set(root || "/", (roots.get(root || "/") ?? 0) + 1);
  }
  return [...roots].map(([path, mounts]) => ({ path, mounts })).toSorted((one, other) => other.mounts - one.mounts);
}

function cgroupIn(entries: readonly MountEntry[]): NodeFacts["cgroup"] {
  const has = (type: string): boolean => entries.some(({ fsType }) => fsType === type);
  if (has("cgroup2")) return has("cgroup") ? "hybrid" : "v2";
  return has("cgroup") ? "v1" : undefined;
}

/** Where the runtimes mount the root file systems of their containers, by their own defaults. */
const RUNTIMES = [
  { name: "containerd", place: /\/containerd\/io\.containerd\.runtime\.v2\.task\/k8s\.io\// },
  { name: "cri-o", place: /\/containers\/storage\/overlay(-containers)?\/[0-9a-f]{64}\// },
  { name: "docker", place: /\/docker\/(overlay2|containers)\/[0-9a-f]{64}\// },
] as const;

function containerRuntimeIn(entries: readonly MountEntry[]): string | undefined {
  return RUNTIMES.find(({ place }) => entries.some(({ mountPoint }) => place.test(mountPoint)))?.name;
}

/**
 * Whether two mount tables are of one mount namespace. A mount belongs to one namespace, and no two mounts of a kernel have one ID at a
 * time, so one common ID proves it; without mounts in one of them the answer is unknown.
 */
export function namespaceOf(table: string, own: string): NodeFacts["mountNamespace"] {
  const [ids, ownIds] = [table, own].map((text) => parseMountInfo(text, "/").entries.map(({ mountId }) => mountId));
  if (!ids?.length || !ownIds?.length) return undefined;
  const known = new Set(ownIds);
  return ids.some((id) => known.has(id)) ? "own" : "other";
}
