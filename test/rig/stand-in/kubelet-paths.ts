import { createHash } from "node:crypto";

/** A volume as the kubelet of a node gets it. */
export interface StandInVolume {
  /** Name of the PersistentVolume. */
  readonly name: string;
  /** With a CSI driver the volume is staged first; without it is a local volume. */
  readonly csi?: { readonly driver: string; readonly handle: string };
}

/** Where a pod's volume is mounted, below the kubelet's root. */
export function publishPath(root: string, podUid: string, { name, csi }: StandInVolume): string {
  const volumes = `${root}/pods/${podUid}/volumes`;
  return csi === undefined
    ? `${volumes}/kubernetes.io~local-volume/${name}`
    : `${volumes}/kubernetes.io~csi/${name}/mount`;
}

/** Where a container's folder of that volume is mounted. */
export function subPathOf(root: string, podUid: string, { name }: StandInVolume): string {
  return `${root}/pods/${podUid}/volume-subpaths/${name}/main/0`;
}

/** Where a volume is staged on a node; nothing for a volume that is not. */
export function stagingPath(root: string, { csi }: StandInVolume): string | undefined {
  if (csi === undefined) return undefined;
  const hash = createHash("sha256").update(csi.handle).digest("hex");
  return `${root}/plugins/kubernetes.io/csi/${csi.driver}/${hash}/globalmount`;
}
