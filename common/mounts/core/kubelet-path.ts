import { toPlain } from "../../storage/node-report.ts";
import type { MountedVolume, MountKind } from "../../storage/volume-identity.ts";

/** Plugins whose volumes cannot belong to a claim; a node has thousands of their mounts. */
const NOT_CLAIMS = new Set(["empty-dir", "secret", "projected", "configmap", "downward-api", "git-repo", "image"]);

/** Matches the start of their paths below the kubelet's root, as in the mount table; sticky, for use inside a text. */
export const NEVER_A_CLAIM = new RegExp(`pods/[^/ ]+/volumes/kubernetes\\.io~(?:${[...NOT_CLAIMS].join("|")})/`, "y");

/** What the API accepts as a name or a UID. Anything else in a path belongs to no volume, and no report could contain it. */
const NAME = /^[\w.-]{1,253}$/;
const UID = /^[\w.-]{1,128}$/;
const IN_TREE_PLUGIN = /^[\w.-]{1,63}$/;

/** A longer device path is cut at its front: it starts with portals and pools, and its end distinguishes devices. */
const MAX_DEVICE_PATH = 253;

/** The suffix that the kernel adds to a mount point whose folder was deleted; the mount still exists. */
const DELETED = / \(deleted\)$/;

/**
 * Reads a volume from a mount point, by the kubelet's layout below its root (kubernetes/kubernetes 1.36: pkg/kubelet/kubelet_getters.go and
 * the files named below). Undefined for any other mount. Paths are latin1, one character per byte.
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
 * `pods/<uid>/volume-subpaths/<name>/<container>/<index>` (pkg/volume/util/subpath/subpath_linux.go). `pods/<uid>/volumeDevices` contains
 * links.
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
  // Only CSI mounts one level below the folder with the volume's name.
  if (mount !== (plugin === "kubernetes.io~csi" ? "mount" : undefined)) return undefined;
  return mountedVolume("pod", name, podUid);
}

/** `plugins/kubernetes.io/<plugin>/...`; a local disk's block volume has `kubernetes.io~local-volume` instead. */
function pluginVolume([vendor, ...rest]: readonly string[]): MountedVolume | undefined {
  if (vendor === "kubernetes.io~local-volume") return inTreeVolume("local-volume", rest);
  const [plugin, ...below] = rest;
  if (vendor !== "kubernetes.io" || !plugin || !IN_TREE_PLUGIN.test(plugin)) return undefined;
  // Checked here, too: the kubelet mounts below `empty-dir` for a moment to test an option (pkg/kubelet/util/swap/swap_util.go).
  if (NOT_CLAIMS.has(plugin)) return undefined;
  return plugin === "csi" ? csiVolume(below) : inTreeVolume(plugin, below);
}

/**
 * CSI staging: `<driver>/<hash>/globalmount` (pkg/volume/csi/csi_attacher.go), before 1.24 `pv/<name>/globalmount`. A driver may mount
 * below its folder, as ceph/ceph-csi does (internal/rbd/nodeserver.go: the staging path, `/`, the volume ID).
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
 * Local volumes are identified by name: `mounts/<name>` for a mounted disk, `volumeDevices/<name>/<pod uid>` for a block device
 * (pkg/volume/local/local.go). The other plugins identify the device: `<device>` or `mounts/<device>` for a mounted one,
 * `volumeDevices/<device>/<pod uid>` for a block device (pkg/volume/iscsi/iscsi_util.go, fc/fc_util.go, flexvolume/plugin.go,
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
