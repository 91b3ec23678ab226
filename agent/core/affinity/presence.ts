import { isUse, type MountedVolume } from "../../../common/storage/volume-identity.ts";
import type { LiveNode, LiveVolume, LiveVolumeSource } from "./facts.ts";

/** How much of a volume is on the node. Only a complete scan proves absence. */
export type Presence =
  | { readonly kind: "absent" }
  /** The pod has it mounted or mapped. */
  | { readonly kind: "mounted"; readonly why: string }
  | { readonly kind: "attached"; readonly why: string }
  | { readonly kind: "unknown"; readonly why: string };

/** Where a volume of one pod is looked for. */
export interface Site {
  readonly podUid: string;
  readonly mountedVolumes: readonly MountedVolume[];
  readonly volumesAttached: LiveNode["volumesAttached"];
}

/**
 * What of a PV is there: mounts of this pod, staging mounts of any pod, and what the attach/detach controller has written into the Node.
 * Mounts of other pods do not count: the kubelet checks the affinity for each pod. iSCSI and Fibre Channel name their devices in their
 * own way, which leads to no PV, so any device of those plugins may be the volume.
 */
export function presenceOf({ name, source }: LiveVolume, site: Site): Presence {
  const own = site.mountedVolumes.filter(
    (mountedVolume) => isUse(mountedVolume) && mountedVolume.podUid === site.podUid,
  );
  if (own.some((mountedVolume) => isOf(mountedVolume, name, source)))
    return { kind: "mounted", why: "the pod has it mounted" };
  const plugin = source.kind === "in-tree" ? source.plugin : undefined;
  const staged = site.mountedVolumes.filter(({ kind }) => kind === "staging");
  if ([...own, ...staged].some(({ volume }) => volume.by === "device" && volume.plugin === plugin)) {
    return { kind: "unknown", why: `a mount of a device of the plugin ${plugin} may be its` };
  }
  if (staged.some((mountedVolume) => isOf(mountedVolume, name, source)))
    return { kind: "attached", why: "it is staged on the node" };
  return attachment(source, site.volumesAttached);
}

function isOf({ volume }: MountedVolume, name: string, source: LiveVolumeSource): boolean {
  if (volume.by === "name") return volume.name === name;
  if (volume.by === "device" || source.kind !== "csi") return false;
  return volume.driver === source.driver && volume.handleHash === source.handleHash;
}

/**
 * `kubernetes.io/csi/<driver>^<handle>` and `kubernetes.io/<plugin>/<device>` (k/k: pkg/volume/util/util.go, `GetUniqueVolumeName`); whatever
 * the driver says of attaching, as what it says may have changed since.
 */
function attachment(source: LiveVolumeSource, attached: readonly string[]): Presence {
  if (source.kind === "csi") {
    return attached.includes(`kubernetes.io/csi/${source.driver}^${source.handle}`)
      ? { kind: "attached", why: "it is attached to the node" }
      : { kind: "absent" };
  }
  return attached.some((name) => name.startsWith(`kubernetes.io/${source.plugin}/`))
    ? { kind: "unknown", why: `an attached ${source.plugin} volume may be it` }
    : { kind: "absent" };
}
