import type { Hold, HoldKind } from "../../common/storage/volume-identity.ts";

/** Folders below `pods/<uid>/volumes` of volumes that no claim can name; a node has thousands of them. */
const NOT_CLAIMS = new Set(
  ["empty-dir", "secret", "projected", "configmap", "downward-api", "git-repo"].map(
    (plugin) => `kubernetes.io~${plugin}`,
  ),
);

/** What the API takes as a name or a UID: anything else in a path belongs to no volume, and no report could carry it. */
const NAME = /^[\w.-]{1,253}$/;
const UID = /^[\w.-]{1,128}$/;

/** What the kernel adds to a mount point whose folder was deleted; the mount is still there. */
const DELETED = / \(deleted\)$/;

/**
 * What a mount point says about a volume, by the kubelet's own layout below its root (kubernetes/kubernetes:
 * pkg/kubelet/kubelet_getters.go, pkg/volume/csi/csi_attacher.go, csi_block.go, pkg/volume/local/local.go). Nothing for mounts
 * that are no hold.
 */
export function holdAt(path: string, kubeletRoot: string): Hold | undefined {
  const root = kubeletRoot === "/" ? "" : kubeletRoot;
  if (!path.startsWith(`${root}/`)) return undefined;
  const [area, ...rest] = path
    .slice(root.length + 1)
    .replace(DELETED, "")
    .split("/");
  if (area === "pods") return podHold(rest);
  if (area === "plugins") return pluginHold(rest);
  return undefined;
}

/** `pods/<uid>/volumes/<plugin>/<name>[/mount]` and `pods/<uid>/volume-subpaths/<name>/<container>/<index>`. */
function podHold([podUid, folder, ...rest]: readonly string[]): Hold | undefined {
  if (!podUid) return undefined;
  if (folder === "volume-subpaths") {
    const [name, container, index, ...deeper] = rest;
    return container && index && deeper.length === 0 ? hold("subpath", name, podUid) : undefined;
  }
  const [plugin, name, mount, ...deeper] = rest;
  if (folder !== "volumes" || !plugin || deeper.length > 0 || NOT_CLAIMS.has(plugin)) return undefined;
  // Only CSI mounts one level below the folder that bears the name.
  if (mount !== (plugin === "kubernetes.io~csi" ? "mount" : undefined)) return undefined;
  return hold("pod", name, podUid);
}

/** `plugins/<plugin>/volumeDevices/...` (block), `plugins/kubernetes.io/csi/...` and `.../local-volume/mounts/<pv>` (staging). */
function pluginHold(segments: readonly string[]): Hold | undefined {
  const devices = segments.indexOf("volumeDevices");
  if (devices > 0) return blockHold(segments.slice(0, devices).join("/"), segments.slice(devices + 1));
  const [vendor, plugin, driver, id, mount, ...deeper] = segments;
  if (vendor !== "kubernetes.io") return undefined;
  if (plugin === "local-volume") return driver === "mounts" && mount === undefined ? hold("staging", id) : undefined;
  if (plugin !== "csi" || mount !== "globalmount" || deeper.length > 0 || !driver || !id) return undefined;
  if (driver === "pv") return hold("staging", id);
  if (!NAME.test(driver) || !/^[0-9a-f]{64}$/.test(id)) return undefined;
  return { kind: "staging", volume: { by: "handle", driver, handleHash: id }, podUid: undefined };
}

/** Below `volumeDevices`, for CSI `<pv>/dev/<pod uid>`, `publish/<pv>/<pod uid>` and `staging/<pv>`, for local `<pv>/<pod uid>`. */
function blockHold(plugin: string, [first, second, third, ...deeper]: readonly string[]): Hold | undefined {
  if (!second || deeper.length > 0) return undefined;
  if (plugin === "kubernetes.io~local-volume") return third === undefined ? hold("block", first, second) : undefined;
  // The others go by the device, which no API object repeats.
  if (plugin !== "kubernetes.io/csi") return undefined;
  if (third === undefined) return first === "staging" ? hold("staging", second) : undefined;
  if (first === "publish") return hold("block", second, third);
  return second === "dev" ? hold("block", first, third) : undefined;
}

function hold(kind: HoldKind, name: string | undefined, podUid?: string): Hold | undefined {
  if (name === undefined || !NAME.test(name)) return undefined;
  if (kind === "staging") return { kind, volume: { by: "name", name }, podUid: undefined };
  return podUid !== undefined && UID.test(podUid) ? { kind, volume: { by: "name", name }, podUid } : undefined;
}
