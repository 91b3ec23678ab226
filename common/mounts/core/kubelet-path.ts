import { toPlain } from "../../storage/node-report.ts";
import type { MountedVolume, MountKind } from "../../storage/volume-identity.ts";

/** Plugins whose volumes no claim can name; a node has thousands of their mounts. */
const NOT_CLAIMS = new Set(["empty-dir", "secret", "projected", "configmap", "downward-api", "git-repo", "image"]);

/** Matches the begin of their paths below the kubelet's root, as the mount table has them; sticky, for use inside a text. */
export const NEVER_A_CLAIM = new RegExp(`pods/[^/ ]+/volumes/kubernetes\\.io~(?:${[...NOT_CLAIMS].join("|")})/`, "y");

/** What the API takes as a name or a UID: anything else in a path belongs to no volume, and no report could carry it. */
const NAME = /^[\w.-]{1,253}$/;
const UID = /^[\w.-]{1,128}$/;
const IN_TREE_PLUGIN = /^[\w.-]{1,63}$/;

/** A longer path of a device is cut at its front: portals and pools come first, what tells devices apart comes last. */
const MAX_DEVICE_PATH = 253;

/** What the kernel adds to a mount point whose folder was deleted; the mount is still there. */
const DELETED = / \(deleted\)$/;

/**
 * What a mount point says about a volume, by the kubelet's own layout below its root (kubernetes/kubernetes 1.36:
 * pkg/kubelet/kubelet_getters.go and the files named below). Nothing for mounts of anything else. Paths are latin1, a
 * character a byte.
 */
export function mountedVolumeAt(path: string, kubeletRoot: string): MountedVolume | undefined {
  const root = kubeletRoot === "/" ? "" : kubeletRoot;
  if (!path.startsWith(`${root}/`)) return undefined;
  const [area, ...rest] = path
    .slice(root.length + 1)
    .replace(DELETED, "")
    .split("/");
  if (area === "pods") return podVolume(rest);
  if (area === "plugins") return pluginVolume(rest);
  return undefined;
}

/**
 * `pods/<uid>/volumes/<plugin>/<name>[/mount]` (GetPath of each plugin below pkg/volume) and
 * `pods/<uid>/volume-subpaths/<name>/<container>/<index>` (pkg/volume/util/subpath/subpath_linux.go). What is in
 * `pods/<uid>/volumeDevices` are links.
 */
function podVolume([podUid, folder, ...rest]: readonly string[]): MountedVolume | undefined {
  if (folder === "volume-subpaths") {
    const [name, container, index, ...deeper] = rest;
    return container && index && deeper.length === 0 ? mountedVolume("subpath", name, podUid) : undefined;
  }
  const [plugin, name, mount, ...deeper] = rest;
  if (folder !== "volumes" || !plugin || deeper.length > 0) return undefined;
  const [vendor, kind = ""] = plugin.split("~");
  if (vendor === "kubernetes.io" && NOT_CLAIMS.has(kind)) return undefined;
  // Only CSI mounts one level below the folder that bears the name.
  if (mount !== (plugin === "kubernetes.io~csi" ? "mount" : undefined)) return undefined;
  return mountedVolume("pod", name, podUid);
}

/** `plugins/kubernetes.io/<plugin>/...`, where a block volume of a local disk has `kubernetes.io~local-volume` instead. */
function pluginVolume([vendor, ...rest]: readonly string[]): MountedVolume | undefined {
  if (vendor === "kubernetes.io~local-volume") return inTreeVolume("local-volume", rest);
  const [plugin, ...below] = rest;
  if (vendor !== "kubernetes.io" || !plugin || !IN_TREE_PLUGIN.test(plugin)) return undefined;
  // Not even there: the kubelet mounts below `empty-dir` for a moment to try an option (pkg/kubelet/util/swap/swap_util.go).
  if (NOT_CLAIMS.has(plugin)) return undefined;
  return plugin === "csi" ? csiVolume(below) : inTreeVolume(plugin, below);
}

/**
 * CSI staging: `<driver>/<hash>/globalmount` (pkg/volume/csi/csi_attacher.go), before 1.24 `pv/<name>/globalmount`. A driver may mount
 * below the folder that it is given, as ceph/ceph-csi does (internal/rbd/nodeserver.go: the staging path, `/`, the volume ID).
 */
function csiVolume([driver, ...rest]: readonly string[]): MountedVolume | undefined {
  if (driver === "volumeDevices") return csiBlockVolume(rest);
  const [id, mount] = rest;
  if (mount !== "globalmount" || !driver || !id) return undefined;
  if (driver === "pv") return mountedVolume("staging", id);
  if (!NAME.test(driver) || !/^[0-9a-f]{64}$/.test(id)) return undefined;
  return { kind: "staging", volume: { by: "handle", driver, handleHash: id }, podUid: undefined };
}

/** `<name>/dev/<pod uid>`, `publish/<name>/<pod uid>`, and `staging/<name>` or below it (pkg/volume/csi/csi_block.go). */
function csiBlockVolume([first, second, third, ...deeper]: readonly string[]): MountedVolume | undefined {
  if (!second) return undefined;
  const isOfPod = third !== undefined && deeper.length === 0;
  if (first === "publish") return isOfPod ? mountedVolume("block", second, third) : undefined;
  if (second === "dev" && isOfPod) return mountedVolume("block", first, third);
  return first === "staging" ? mountedVolume("staging", second) : undefined;
}

/**
 * Local volumes go by name: `mounts/<name>` where the disk is mounted, `volumeDevices/<name>/<pod uid>` as a block device
 * (pkg/volume/local/local.go). The others go by the device: `<device>` or `mounts/<device>` where it is mounted,
 * `volumeDevices/<device>/<pod uid>` as a block device (pkg/volume/iscsi/iscsi_util.go, fc/fc_util.go, flexvolume/plugin.go,
 * util/volumepathhandler/volume_path_handler.go).
 */
function inTreeVolume(plugin: string, below: readonly string[]): MountedVolume | undefined {
  const [folder] = below;
  const isBlock = folder === "volumeDevices";
  const device = isBlock ? below.slice(1, -1) : below;
  const podUid = isBlock ? below.at(-1) : undefined;
  if (plugin !== "local-volume") return deviceVolume(plugin, device.join("/"), podUid);
  const [first, second, ...deeper] = device;
  if (isBlock) return second === undefined ? mountedVolume("block", first, podUid) : undefined;
  return folder === "mounts" && deeper.length === 0 ? mountedVolume("staging", second) : undefined;
}

function deviceVolume(plugin: string, device: string, podUid: string | undefined): MountedVolume | undefined {
  if (device === "") return undefined;
  const volume = { by: "device", plugin, path: toPlain(device.slice(-MAX_DEVICE_PATH)) } as const;
  if (podUid === undefined) return { kind: "staging", volume, podUid };
  return UID.test(podUid) ? { kind: "block", volume, podUid } : undefined;
}

function mountedVolume(kind: MountKind, name: string | undefined, podUid?: string): MountedVolume | undefined {
  if (name === undefined || !NAME.test(name)) return undefined;
  if (kind === "staging") return { kind, volume: { by: "name", name }, podUid: undefined };
  return podUid !== undefined && UID.test(podUid) ? { kind, volume: { by: "name", name }, podUid } : undefined;
}
