import type { Hold, HoldKind, VolumeIdentity } from "../../common/storage/volume-identity.ts";

/** Folders below `pods/<uid>/volumes` of volumes that no claim can name; a node has thousands of them. */
const NOT_CLAIMS = new Set(
  ["empty-dir", "secret", "projected", "configmap", "downward-api", "git-repo"].map(
    (plugin) => `kubernetes.io~${plugin}`,
  ),
);

/**
 * What a mount point says about a volume, by the kubelet's own layout below its root (kubernetes/kubernetes:
 * pkg/kubelet/kubelet_getters.go, pkg/volume/csi/csi_attacher.go, csi_block.go). Nothing for mounts that are no hold.
 */
export function holdAt(path: string, kubeletRoot: string): Hold | undefined {
  const root = kubeletRoot === "/" ? "" : kubeletRoot;
  if (!path.startsWith(`${root}/`)) return undefined;
  const [area, ...rest] = path.slice(root.length + 1).split("/");
  if (area === "pods") return podHold(rest);
  if (area === "plugins") return pluginHold(rest);
  return undefined;
}

/** `pods/<uid>/volumes/<plugin>/<name>[/mount]` and `pods/<uid>/volume-subpaths/<name>/<container>/<index>`. */
function podHold([podUid, folder, ...rest]: readonly string[]): Hold | undefined {
  if (!podUid) return undefined;
  if (folder === "volume-subpaths") {
    const [name, container, index, ...deeper] = rest;
    return name && container && index && deeper.length === 0 ? hold("subpath", byName(name), podUid) : undefined;
  }
  const [plugin, name, mount, ...deeper] = rest;
  if (folder !== "volumes" || !plugin || !name || deeper.length > 0 || NOT_CLAIMS.has(plugin)) return undefined;
  // Only CSI mounts one level below the folder that bears the name.
  if (mount !== (plugin === "kubernetes.io~csi" ? "mount" : undefined)) return undefined;
  return hold("pod", byName(name), podUid);
}

/** `plugins/<plugin>/volumeDevices/...` (block) and `plugins/kubernetes.io/csi/...` (staging and block). */
function pluginHold(segments: readonly string[]): Hold | undefined {
  const devices = segments.indexOf("volumeDevices");
  if (devices > 0) return blockHold(segments.slice(devices + 1));
  const [vendor, csi, driver, id, mount, ...deeper] = segments;
  if (vendor !== "kubernetes.io" || csi !== "csi" || mount !== "globalmount" || deeper.length > 0) return undefined;
  if (!driver || !id) return undefined;
  if (driver === "pv") return hold("staging", byName(id));
  return /^[0-9a-f]{64}$/.test(id) ? hold("staging", { by: "handle", driver, handleHash: id }) : undefined;
}

/** `<pv>/dev/<pod uid>`, `publish/<pv>/<pod uid>` and `staging/<pv>` below `volumeDevices`. */
function blockHold([first, second, third, ...deeper]: readonly string[]): Hold | undefined {
  if (!first || !second || deeper.length > 0) return undefined;
  if (first === "staging" && third === undefined) return hold("staging", byName(second));
  if (!third) return undefined;
  if (first === "publish") return hold("block", byName(second), third);
  return second === "dev" ? hold("block", byName(first), third) : undefined;
}

function byName(name: string): VolumeIdentity {
  return { by: "name", name };
}

function hold(kind: HoldKind, volume: VolumeIdentity, podUid?: string): Hold {
  return { kind, volume, podUid };
}
