import { describe, expect, it } from "vitest";
import { holdAt } from "../../../../agent/core/kubelet-path.ts";

const ROOT = "/var/lib/kubelet";
const HASH = "0123456789abcdef".repeat(4);
const byName = (name: string) => ({ by: "name", name });

describe("holdAt", () => {
  it.each([
    {
      name: "a CSI file system volume",
      path: "pods/u1/volumes/kubernetes.io~csi/pv-1/mount",
      kind: "pod",
      volume: byName("pv-1"),
      podUid: "u1",
    },
    {
      name: "a local volume",
      path: "pods/u1/volumes/kubernetes.io~local-volume/pv-1",
      kind: "pod",
      volume: byName("pv-1"),
      podUid: "u1",
    },
    {
      name: "an NFS volume",
      path: "pods/u1/volumes/kubernetes.io~nfs/pv-1",
      kind: "pod",
      volume: byName("pv-1"),
      podUid: "u1",
    },
    {
      name: "an iSCSI volume",
      path: "pods/u1/volumes/kubernetes.io~iscsi/pv-1",
      kind: "pod",
      volume: byName("pv-1"),
      podUid: "u1",
    },
    {
      name: "a volume of a driver of its own",
      path: "pods/u1/volumes/example.com~disk/pv-1",
      kind: "pod",
      volume: byName("pv-1"),
      podUid: "u1",
    },
    {
      name: "a volume of a static pod, whose UID is a hash",
      path: "pods/9f86d081884c7d65/volumes/kubernetes.io~nfs/pv-1",
      kind: "pod",
      volume: byName("pv-1"),
      podUid: "9f86d081884c7d65",
    },
    {
      name: "a subPath",
      path: "pods/u1/volume-subpaths/pv-1/main/0",
      kind: "subpath",
      volume: byName("pv-1"),
      podUid: "u1",
    },
    {
      name: "a CSI block volume's device",
      path: "plugins/kubernetes.io/csi/volumeDevices/pv-1/dev/u1",
      kind: "block",
      volume: byName("pv-1"),
      podUid: "u1",
    },
    {
      name: "a CSI block volume as published",
      path: "plugins/kubernetes.io/csi/volumeDevices/publish/pv-1/u1",
      kind: "block",
      volume: byName("pv-1"),
      podUid: "u1",
    },
    {
      name: "the device of a CSI block volume called staging",
      path: "plugins/kubernetes.io/csi/volumeDevices/staging/dev/u1",
      kind: "block",
      volume: byName("staging"),
      podUid: "u1",
    },
    {
      name: "a local block volume's device",
      path: "plugins/kubernetes.io~local-volume/volumeDevices/pv-1/u1",
      kind: "block",
      volume: byName("pv-1"),
      podUid: "u1",
    },
    {
      name: "CSI block staging",
      path: "plugins/kubernetes.io/csi/volumeDevices/staging/pv-1",
      kind: "staging",
      volume: byName("pv-1"),
    },
    {
      name: "CSI staging",
      path: `plugins/kubernetes.io/csi/ebs.csi.aws.com/${HASH}/globalmount`,
      kind: "staging",
      volume: { by: "handle", driver: "ebs.csi.aws.com", handleHash: HASH },
    },
    {
      name: "CSI staging of older releases",
      path: "plugins/kubernetes.io/csi/pv/pv-1/globalmount",
      kind: "staging",
      volume: byName("pv-1"),
    },
    {
      name: "the device mount of a local volume",
      path: "plugins/kubernetes.io/local-volume/mounts/pv-1",
      kind: "staging",
      volume: byName("pv-1"),
    },
    {
      name: "a mount whose place was deleted",
      path: "pods/u1/volumes/kubernetes.io~csi/pv-1/mount (deleted)",
      kind: "pod",
      volume: byName("pv-1"),
      podUid: "u1",
    },
    {
      name: "a volume with the longest name",
      path: `pods/u1/volumes/kubernetes.io~nfs/${"a".repeat(253)}`,
      kind: "pod",
      volume: byName("a".repeat(253)),
      podUid: "u1",
    },
  ])("knows $name", ({ path, kind, volume, podUid }) => {
    expect(holdAt(`${ROOT}/${path}`, ROOT)).toEqual({ kind, volume, podUid });
  });

  it.each([
    { name: "memory", path: "pods/u1/volumes/kubernetes.io~empty-dir/cache" },
    { name: "a secret", path: "pods/u1/volumes/kubernetes.io~secret/tls" },
    { name: "a projected token", path: "pods/u1/volumes/kubernetes.io~projected/kube-api-access-x7k2p" },
    { name: "a config map", path: "pods/u1/volumes/kubernetes.io~configmap/settings" },
    { name: "the downward API", path: "pods/u1/volumes/kubernetes.io~downward-api/labels" },
    { name: "a git repository", path: "pods/u1/volumes/kubernetes.io~git-repo/src" },
    { name: "the folder above a CSI mount", path: "pods/u1/volumes/kubernetes.io~csi/pv-1" },
    { name: "a mount inside a CSI volume", path: "pods/u1/volumes/kubernetes.io~csi/pv-1/mount/inside" },
    { name: "a mount inside a local volume", path: "pods/u1/volumes/kubernetes.io~local-volume/pv-1/inside" },
    { name: "a subPath without index", path: "pods/u1/volume-subpaths/pv-1/main" },
    { name: "a mount inside a subPath", path: "pods/u1/volume-subpaths/pv-1/main/0/inside" },
    { name: "a container's own mount", path: "pods/u1/containers/main/abc" },
    { name: "the etc-hosts of a pod", path: "pods/u1/etc-hosts" },
    { name: "a pod's folder", path: "pods/u1" },
    {
      name: "a staging folder whose hash is cut",
      path: `plugins/kubernetes.io/csi/ebs.csi.aws.com/${HASH.slice(1)}/globalmount`,
    },
    {
      name: "a mount inside a staging mount",
      path: `plugins/kubernetes.io/csi/ebs.csi.aws.com/${HASH}/globalmount/inside`,
    },
    { name: "a mount beside a staging mount", path: `plugins/kubernetes.io/csi/ebs.csi.aws.com/${HASH}/other` },
    {
      name: "a device of a plugin that does not go by the volume's name",
      path: "plugins/kubernetes.io/fc/volumeDevices/50060e801049cfd1-lun-0/u1",
    },
    { name: "a plugin's socket folder", path: "plugins/ebs.csi.aws.com" },
    { name: "the kubelet's other folders", path: "device-plugins/x" },
    { name: "an empty pod UID", path: "pods//volumes/kubernetes.io~nfs/pv-1" },
    { name: "an empty volume name", path: "pods/u1/volumes/kubernetes.io~nfs/" },
    { name: "a name that no volume can have", path: "pods/u1/volumes/kubernetes.io~nfs/pv 1" },
    { name: "a name that is longer than any volume's", path: `pods/u1/volumes/kubernetes.io~nfs/${"a".repeat(254)}` },
    { name: "a UID that is longer than any pod's", path: `pods/${"u".repeat(129)}/volumes/kubernetes.io~nfs/pv-1` },
  ])("sees no hold in $name", ({ path }) => {
    expect(holdAt(`${ROOT}/${path}`, ROOT)).toBeUndefined();
  });

  it("sees no hold outside of the root", () => {
    expect(holdAt("/elsewhere/pods/u1/volumes/kubernetes.io~nfs/pv-1", ROOT)).toBeUndefined();
    expect(holdAt(`${ROOT}2/pods/u1/volumes/kubernetes.io~nfs/pv-1`, ROOT)).toBeUndefined();
  });

  it("knows holds below any root", () => {
    expect(holdAt("/pods/u1/volumes/kubernetes.io~nfs/pv-1", "/")).toMatchObject({ kind: "pod" });
    expect(holdAt("/data/k/pods/u1/volumes/kubernetes.io~nfs/pv-1", "/data/k")).toMatchObject({ kind: "pod" });
  });
});
