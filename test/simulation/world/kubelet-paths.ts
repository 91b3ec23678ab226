import { createHash } from "node:crypto";

/**
 * Where a kubelet mounts what, written from kubernetes/kubernetes 1.36 (pkg/kubelet/kubelet_getters.go, pkg/volume/csi,
 * pkg/volume/local, pkg/volume/nfs, pkg/volume/util/subpath), not from what Mooring makes of it.
 */

/** How a pod gets a volume. */
export type VolumeKind =
  /** A CSI driver that stages the device first. */
  | "csi"
  /** A CSI driver without staging. */
  | "csi-plain"
  /** A CSI volume as a raw block device. */
  | "csi-block"
  | "local"
  | "nfs"
  /** The runtime binds the directory into the container: no mount below the kubelet's root. */
  | "host-path";

export const VOLUME_KINDS: readonly VolumeKind[] = ["csi", "csi-plain", "csi-block", "local", "nfs", "host-path"];

/** A PersistentVolume, as far as the kubelet needs it. */
export interface KubeletVolume {
  readonly pv: string;
  readonly kind: VolumeKind;
  /** CSI only. */
  readonly handle: string;
}

export const CSI_DRIVER = "disk.csi.example";

/** The mounts that show a pod's use of the volume, in mount order. */
export function useMounts(root: string, podUid: string, volume: KubeletVolume): readonly string[] {
  const { pv, kind } = volume;
  const volumes = `${root}/pods/${podUid}/volumes`;
  const devices = `${root}/plugins/kubernetes.io/csi/volumeDevices`;
  switch (kind) {
    case "csi":
    case "csi-plain":
      return [`${volumes}/kubernetes.io~csi/${pv}/mount`];
    case "csi-block":
      return [`${devices}/publish/${pv}/${podUid}`, `${devices}/${pv}/dev/${podUid}`];
    case "local":
      return [`${volumes}/kubernetes.io~local-volume/${pv}`];
    case "nfs":
      return [`${volumes}/kubernetes.io~nfs/${pv}`];
    case "host-path":
      return [];
  }
}

/** The subPath binds of the volume, one for each container with a subPath. */
export function subPathMounts(root: string, podUid: string, pv: string): readonly string[] {
  return ["main", "sidecar"].map((container) => `${root}/pods/${podUid}/volume-subpaths/${pv}/${container}/0`);
}

/** The staging mount of the device; undefined for volumes that need no staging. */
export function stagingMount(root: string, { pv, kind, handle }: KubeletVolume): string | undefined {
  if (kind === "csi-block") return `${root}/plugins/kubernetes.io/csi/volumeDevices/staging/${pv}/disk`;
  if (kind !== "csi") return undefined;
  const hash = createHash("sha256").update(handle).digest("hex");
  return `${root}/plugins/kubernetes.io/csi/${CSI_DRIVER}/${hash}/globalmount`;
}

/** The projected service-account token of a pod. */
export function tokenMount(root: string, podUid: string): string {
  return `${root}/pods/${podUid}/volumes/kubernetes.io~projected/kube-api-access-x7k2p`;
}

/** The root filesystem of a pod's container: mounted at its start and unmounted at its end, in between the volumes of other pods. */
export function containerMount(podUid: string): string {
  return `/run/containerd/io.containerd.runtime.v2.task/k8s.io/${podUid}/rootfs`;
}

/** An inline CSI volume has the name from the pod's spec, which may equal the name of any PV. */
export function inlineMount(root: string, podUid: string, name: string): string {
  return `${root}/pods/${podUid}/volumes/kubernetes.io~csi/${name}/mount`;
}

/** Mounts that every node has and that are no volumes. */
export function foreignMounts(root: string): readonly { readonly point: string; readonly fsType: string }[] {
  return [
    { point: "/", fsType: "ext4" },
    { point: "/proc", fsType: "proc" },
    { point: "/sys", fsType: "sysfs" },
    { point: "/sys/fs/cgroup", fsType: "cgroup2" },
    { point: "/run", fsType: "tmpfs" },
    { point: "/run/netns/cni-0b 1c", fsType: "nsfs" },
    { point: "/var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes/4f\\ab/shm", fsType: "tmpfs" },
    { point: root, fsType: "xfs" },
  ];
}
