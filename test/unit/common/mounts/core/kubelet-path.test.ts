import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mountedVolumeAt, NEVER_A_CLAIM } from "../../../../../common/mounts/core/kubelet-path.ts";
import { decodeNodeMessage } from "../../../../../common/storage/node-report.ts";
import { volumeKey } from "../../../../../common/storage/volume-identity.ts";

const ROOT = "/var/lib/kubelet";
const HASH = "0123456789abcdef".repeat(4);
const IQN = "10.0.0.1:3260-iqn.2003-01.io.example:disk-lun-1";
const IN_TREE = "plugins/kubernetes.io";
const CSI = `${IN_TREE}/csi`;

/** `<kind> <volume> [<pod UID>]` of the mounted volume that a path shows. */
function shownBy(path: string, root = ROOT): string | undefined {
  const mountedVolume = mountedVolumeAt(path, root);
  return (
    mountedVolume &&
    [
      mountedVolume.kind,
      volumeKey(mountedVolume.volume),
      ...(mountedVolume.podUid === undefined ? [] : [mountedVolume.podUid]),
    ].join(" ")
  );
}

describe("mountedVolumeAt, below pods", () => {
  it.each([
    { name: "a CSI file system", path: "pods/u1/volumes/kubernetes.io~csi/pv-1/mount", shows: "pod name/pv-1 u1" },
    { name: "a CSI inline volume", path: "pods/u1/volumes/kubernetes.io~csi/certs/mount", shows: "pod name/certs u1" },
    { name: "a local volume", path: "pods/u1/volumes/kubernetes.io~local-volume/pv-1", shows: "pod name/pv-1 u1" },
    { name: "an NFS volume", path: "pods/u1/volumes/kubernetes.io~nfs/pv-1", shows: "pod name/pv-1 u1" },
    { name: "an iSCSI volume", path: "pods/u1/volumes/kubernetes.io~iscsi/pv-1", shows: "pod name/pv-1 u1" },
    { name: "a Fibre Channel volume", path: "pods/u1/volumes/kubernetes.io~fc/pv-1", shows: "pod name/pv-1 u1" },
    { name: "an rbd volume", path: "pods/u1/volumes/kubernetes.io~rbd/pv-1", shows: "pod name/pv-1 u1" },
    { name: "a flexvolume", path: "pods/u1/volumes/example.com~disk/pv-1", shows: "pod name/pv-1 u1" },
    {
      name: "a plugin named like one of no claim",
      path: "pods/u1/volumes/x.io~secret/pv-1",
      shows: "pod name/pv-1 u1",
    },
    {
      name: "a volume of a static pod",
      path: "pods/9f86d08/volumes/kubernetes.io~nfs/pv-1",
      shows: "pod name/pv-1 9f86d08",
    },
    { name: "a subPath", path: "pods/u1/volume-subpaths/pv-1/main/0", shows: "subpath name/pv-1 u1" },
    {
      name: "a mount whose folder was deleted",
      path: "pods/u1/volumes/kubernetes.io~csi/pv-1/mount (deleted)",
      shows: "pod name/pv-1 u1",
    },
    {
      name: "a volume with the longest name",
      path: `pods/u1/volumes/kubernetes.io~nfs/${"a".repeat(253)}`,
      shows: `pod name/${"a".repeat(253)} u1`,
    },
  ])("recognizes $name", ({ path, shows }) => {
    expect(shownBy(`${ROOT}/${path}`)).toBe(shows);
  });

  it.each([
    { name: "memory", path: "pods/u1/volumes/kubernetes.io~empty-dir/cache" },
    { name: "a secret", path: "pods/u1/volumes/kubernetes.io~secret/tls" },
    { name: "a projected token", path: "pods/u1/volumes/kubernetes.io~projected/kube-api-access-x7k2p" },
    { name: "a config map", path: "pods/u1/volumes/kubernetes.io~configmap/settings" },
    { name: "the downward API", path: "pods/u1/volumes/kubernetes.io~downward-api/labels" },
    { name: "a git repository", path: "pods/u1/volumes/kubernetes.io~git-repo/src" },
    { name: "an image", path: "pods/u1/volumes/kubernetes.io~image/model" },
    { name: "the folder above a CSI mount", path: "pods/u1/volumes/kubernetes.io~csi/pv-1" },
    { name: "a mount inside a CSI volume", path: "pods/u1/volumes/kubernetes.io~csi/pv-1/mount/inside" },
    { name: "a mount inside a local volume", path: "pods/u1/volumes/kubernetes.io~local-volume/pv-1/inside" },
    { name: "a subPath without index", path: "pods/u1/volume-subpaths/pv-1/main" },
    { name: "a mount inside a subPath", path: "pods/u1/volume-subpaths/pv-1/main/0/inside" },
    { name: "a container's own mount", path: "pods/u1/containers/main/abc" },
    { name: "a folder of another area", path: "pods/u1/plugins/kubernetes.io~nfs/pv-1" },
    { name: "the etc-hosts of a pod", path: "pods/u1/etc-hosts" },
    { name: "a pod's folder", path: "pods/u1" },
    { name: "an empty pod UID", path: "pods//volumes/kubernetes.io~nfs/pv-1" },
    { name: "an empty volume name", path: "pods/u1/volumes/kubernetes.io~nfs/" },
    { name: "an empty plugin", path: "pods/u1/volumes//pv-1" },
    { name: "a name that no volume can have", path: "pods/u1/volumes/kubernetes.io~nfs/pv 1" },
    { name: "a name that is no ASCII", path: "pods/u1/volumes/kubernetes.io~nfs/pv-\u00e0" },
    { name: "a name that is longer than any volume's", path: `pods/u1/volumes/kubernetes.io~nfs/${"a".repeat(254)}` },
    { name: "a UID that is longer than any pod's", path: `pods/${"u".repeat(129)}/volumes/kubernetes.io~nfs/pv-1` },
    { name: "the kubelet's other folders", path: "device-plugins/x" },
    { name: "the root itself", path: "" },
  ])("sees no mounted volume in $name", ({ path }) => {
    expect(shownBy(`${ROOT}/${path}`)).toBeUndefined();
  });
});

describe("NEVER_A_CLAIM", () => {
  it.each([
    { path: "pods/u1/volumes/kubernetes.io~projected/token", isMatch: true },
    { path: "pods/u1/volumes/kubernetes.io~empty-dir/cache", isMatch: true },
    { path: "pods/u1/volumes/kubernetes.io~secret-store/pv-1", isMatch: false },
    { path: "pods/u1/volumes/x.io~secret/pv-1", isMatch: false },
    { path: "pods/u1/volumes/kubernetes.io~nfs/pv-1", isMatch: false },
    { path: "x/pods/u1/volumes/kubernetes.io~secret/tls", isMatch: false },
  ])("matches $path: $isMatch", ({ path, isMatch }) => {
    NEVER_A_CLAIM.lastIndex = 0;

    expect(NEVER_A_CLAIM.test(path)).toBe(isMatch);
    expect(shownBy(`${ROOT}/${path}`) !== undefined && isMatch).toBe(false);
  });
});

describe("mountedVolumeAt, below plugins", () => {
  it.each([
    { name: "CSI staging", path: `${CSI}/ebs.io/${HASH}/globalmount`, shows: `staging handle/ebs.io/${HASH}` },
    { name: "CSI staging before 1.24", path: `${CSI}/pv/pv-1/globalmount`, shows: "staging name/pv-1" },
    {
      name: "CSI staging of a driver that mounts below the folder it is given",
      path: `${CSI}/rbd.io/${HASH}/globalmount/0001-0009-rook-ceph`,
      shows: `staging handle/rbd.io/${HASH}`,
    },
    { name: "the same before 1.24", path: `${CSI}/pv/pv-1/globalmount/pool/image`, shows: "staging name/pv-1" },
    { name: "CSI block staging", path: `${CSI}/volumeDevices/staging/pv-1`, shows: "staging name/pv-1" },
    {
      name: "CSI block staging below it",
      path: `${CSI}/volumeDevices/staging/pv-1/0001-9`,
      shows: "staging name/pv-1",
    },
    { name: "a CSI block device", path: `${CSI}/volumeDevices/pv-1/dev/u1`, shows: "block name/pv-1 u1" },
    { name: "a published CSI block device", path: `${CSI}/volumeDevices/publish/pv-1/u1`, shows: "block name/pv-1 u1" },
    {
      name: "the device of a volume called staging",
      path: `${CSI}/volumeDevices/staging/dev/u1`,
      shows: "block name/staging u1",
    },
    {
      name: "the staging of a volume called dev",
      path: `${CSI}/volumeDevices/staging/dev/pool/1`,
      shows: "staging name/dev",
    },
    {
      name: "a volume called dev, as published",
      path: `${CSI}/volumeDevices/publish/dev/u1`,
      shows: "block name/dev u1",
    },
    { name: "the disk of a local volume", path: `${IN_TREE}/local-volume/mounts/pv-1`, shows: "staging name/pv-1" },
    {
      name: "a local block device",
      path: "plugins/kubernetes.io~local-volume/volumeDevices/pv-1/u1",
      shows: "block name/pv-1 u1",
    },
    {
      name: "an iSCSI disk",
      path: `${IN_TREE}/iscsi/iface-default/${IQN}`,
      shows: `staging device/iscsi/iface-default/${IQN}`,
    },
    {
      name: "an iSCSI block device",
      path: `${IN_TREE}/iscsi/volumeDevices/iface-default/${IQN}/u1`,
      shows: `block device/iscsi/iface-default/${IQN} u1`,
    },
    {
      name: "a device whose name would move a cursor",
      path: `${IN_TREE}/fc/\u001b[2J\u202e\ud83d`,
      shows: "staging device/fc/?[2J??",
    },
    { name: "a Fibre Channel disk", path: `${IN_TREE}/fc/50060e80-lun-0`, shows: "staging device/fc/50060e80-lun-0" },
    {
      name: "a Fibre Channel block device",
      path: `${IN_TREE}/fc/volumeDevices/3600508b/u1`,
      shows: "block device/fc/3600508b u1",
    },
    {
      name: "an rbd image",
      path: `${IN_TREE}/rbd/mounts/pool-image-1`,
      shows: "staging device/rbd/mounts/pool-image-1",
    },
    {
      name: "a disk of an unmount record that still had cloud plugins",
      path: `${IN_TREE}/vsphere-volume/mounts/[disks] kubevols/a.vmdk`,
      shows: "staging device/vsphere-volume/mounts/[disks] kubevols/a.vmdk",
    },
    {
      name: "a flexvolume's disk, whose name the driver chooses",
      path: `${IN_TREE}/flexvolume/example.com/disk/mounts/pv-1`,
      shows: "staging device/flexvolume/example.com/disk/mounts/pv-1",
    },
    {
      name: "two disks apart whose long paths differ at the end",
      path: `${IN_TREE}/fc/${"5006-".repeat(60)}lun-7`,
      shows: `staging device/fc/${`${"5006-".repeat(60)}lun-7`.slice(-253)}`,
    },
  ])("recognizes $name", ({ path, shows }) => {
    expect(shownBy(`${ROOT}/${path}`)).toBe(shows);
  });

  it.each([
    { name: "a staging folder whose hash is cut", path: `${CSI}/ebs.io/${HASH.slice(1)}/globalmount` },
    { name: "a staging folder whose hash is in capitals", path: `${CSI}/ebs.io/${HASH.toUpperCase()}/globalmount` },
    { name: "a driver that no driver can be called", path: `${CSI}/e bs/${HASH}/globalmount` },
    { name: "a mount beside a staging mount", path: `${CSI}/ebs.io/${HASH}/other` },
    { name: "the folder above a staging mount", path: `${CSI}/ebs.io/${HASH}` },
    { name: "the folder of CSI block data", path: `${CSI}/volumeDevices/pv-1/data` },
    { name: "the folder of CSI block devices", path: `${CSI}/volumeDevices/pv-1` },
    { name: "a mount inside a published device", path: `${CSI}/volumeDevices/publish/pv-1/u1/x` },
    { name: "the folder of published devices", path: `${CSI}/volumeDevices/publish/pv-1` },
    { name: "a mount inside a local volume's disk", path: `${IN_TREE}/local-volume/mounts/pv-1/inside` },
    { name: "the folder of local disks", path: `${IN_TREE}/local-volume/mounts` },
    { name: "a local device without a pod", path: "plugins/kubernetes.io~local-volume/volumeDevices/pv-1" },
    { name: "a local device with more than a pod", path: "plugins/kubernetes.io~local-volume/volumeDevices/a/b/u1" },
    { name: "an in-tree device of a pod that cannot be", path: `${IN_TREE}/fc/volumeDevices/3600508b/u 1` },
    { name: "an in-tree device without a pod", path: `${IN_TREE}/fc/volumeDevices/3600508b` },
    { name: "an in-tree plugin's folder", path: `${IN_TREE}/fc` },
    { name: "a plugin with an odd name", path: `${IN_TREE}/f c/x` },
    { name: "an option that the kubelet tries", path: `${IN_TREE}/empty-dir/tmpfs-noswap-test-3921` },
    { name: "the folder of all in-tree plugins", path: IN_TREE },
    { name: "a driver's socket folder", path: "plugins/ebs.csi.aws.com" },
    { name: "a driver's own mount", path: `plugins/ebs.csi.aws.com/volumeDevices/pv-1/u1` },
  ])("sees no mounted volume in $name", ({ path }) => {
    expect(shownBy(`${ROOT}/${path}`)).toBeUndefined();
  });
});

describe("mountedVolumeAt, below any root", () => {
  const place = "pods/u1/volumes/kubernetes.io~nfs/pv-1";

  it.each([
    { name: "the root directory", root: "/", path: `/${place}` },
    { name: "a root with a space", root: "/my data/k", path: `/my data/k/${place}` },
    { name: "a root that is called pods", root: "/pods", path: `/pods/${place}` },
    { name: "a root with dots and a backslash", root: "/..data/k\\0", path: `/..data/k\\0/${place}` },
    { name: "a root within another kubelet's", root: `/k/${place}`, path: `/k/${place}/${place}` },
  ])("recognizes a mounted volume below $name", ({ root, path }) => {
    expect(shownBy(path, root)).toBe("pod name/pv-1 u1");
  });

  it.each([
    { name: "elsewhere", path: `/elsewhere/${place}` },
    { name: "beside the root", path: `${ROOT}2/${place}` },
    { name: "at a copy of the root", path: `/host${ROOT}/${place}` },
  ])("sees no mounted volume $name", ({ path }) => {
    expect(shownBy(path)).toBeUndefined();
  });

  it("finds only, for any path, what a report can contain", () => {
    const words = [
      "pods",
      "plugins",
      "kubernetes.io",
      "csi",
      "volumeDevices",
      "globalmount",
      "volumes",
      "mount",
      "mounts",
    ];
    const byte = fc.integer({ min: 1, max: 255 }).map((code) => String.fromCharCode(code));
    const segment = fc.oneof(
      fc.constantFrom(...words, "kubernetes.io~csi", "kubernetes.io~nfs", "volume-subpaths", "dev", "pv", HASH, "u1"),
      fc.string({ unit: byte, maxLength: 300 }),
    );

    fc.assert(
      fc.property(fc.array(segment, { maxLength: 9 }), (segments) => {
        const mountedVolume = mountedVolumeAt(`${ROOT}/${segments.join("/")}`, ROOT);

        const mountedVolumes = mountedVolume === undefined ? [] : [{ ...mountedVolume, since: 1 }];
        expect(decodeNodeMessage(JSON.parse(JSON.stringify({ ...REPORT, mountedVolumes })))).toMatchObject({
          ok: true,
        });
      }),
      { numRuns: 500 },
    );
  });
});

const REPORT = {
  ...{ version: 1, node: "n", bootId: "b", podUid: "a", instance: "i", generation: 0, driftPpm: 0, sentAt: 3 },
  ...{ scan: { beganAt: 1, endedAt: 2 }, observedSince: 1, agentGaps: [{ to: 1 }], unmountRecords: [] },
};
