/**
 * How a mount path names a volume. Below `pods/` the kubelet uses the name of the PV (for inline volumes, the pod's own name for it). A
 * CSI staging path has only the driver and the SHA-256 of the volume handle. The in-tree plugins name the device in their own way
 * (`50060e801049cfd1-lun-0`), which leads to no PV.
 */
export type VolumeIdentity =
  | { readonly by: "name"; readonly name: string }
  | { readonly by: "handle"; readonly driver: string; readonly handleHash: string }
  | { readonly by: "device"; readonly plugin: string; readonly path: string };

/**
 * The kind of a mount: `pod` is the publish mount, `subpath` a bind of a part of it, `block` a bind-mounted device node, `staging` the
 * mount of the device that the pods' mounts come from.
 */
export type MountKind = "pod" | "subpath" | "block" | "staging";

/** A volume on a node, as the mount table shows it. A staging mount belongs to no pod. */
export interface MountedVolume {
  readonly kind: MountKind;
  readonly volume: VolumeIdentity;
  readonly podUid: string | undefined;
}

/** One that a pod uses: every kind but `staging`. */
export type MountedUse = MountedVolume & { readonly kind: Exclude<MountKind, "staging">; readonly podUid: string };

/** True for the mounted volumes that count as use. A staging mount keeps the volume on the node, but no pod uses the volume through it. */
export function isUse<T extends MountedVolume>(mountedVolume: T): mountedVolume is T & MountedUse {
  return mountedVolume.kind !== "staging" && mountedVolume.podUid !== undefined;
}

/** Equal for equal identities; `/` occurs in no name, driver, hash or plugin, and a device's path comes last. */
export function volumeKey(volume: VolumeIdentity): string {
  switch (volume.by) {
    case "name":
      return `name/${volume.name}`;
    case "handle":
      return `handle/${volume.driver}/${volume.handleHash}`;
    case "device":
      return `device/${volume.plugin}/${volume.path}`;
  }
}

/** Answers whether a volume is one of these. It makes no keys, as it is called for thousands of others. */
export function volumeMatcher(wanted: readonly VolumeIdentity[]): (volume: VolumeIdentity) => boolean {
  const names = wanted.flatMap((one) => (one.by === "name" ? [one.name] : []));
  const keys = new Set(wanted.map(volumeKey));
  const hashes = wanted.flatMap((one) => (one.by === "handle" ? [one.handleHash] : []));
  return (volume) => {
    if (volume.by === "name") return names.includes(volume.name);
    if (volume.by === "handle" && !hashes.includes(volume.handleHash)) return false;
    return keys.has(volumeKey(volume));
  };
}

/** One pod's use of one volume on a node: the unit whose end is an unmount record. */
export function useKey(use: { readonly volume: VolumeIdentity; readonly podUid: string }): string {
  return `${use.podUid}/${volumeKey(use.volume)}`;
}
