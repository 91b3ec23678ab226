import { describe, expect, it } from "vitest";
import { namespaceOf, surveyTable } from "../../../../agent/core/table-survey.ts";
import { csiMountPoint, formatMountLine, type MountLine, tokenMountPoint } from "../../../fakes/mount-table.ts";

function table(...lines: readonly (string | MountLine)[]): string {
  return lines.map((line) => formatMountLine(typeof line === "string" ? { mountPoint: line } : line)).join("");
}

const ID = "0123456789abcdef".repeat(4);

describe("surveyTable", () => {
  it("counts lines, and the damaged ones wherever they are", () => {
    const text = `${table("/", "/data")}nonsense\n${table("/home").slice(0, -1)}`;

    expect(surveyTable(text)).toMatchObject({ lines: 4, damagedLines: 2 });
  });

  it.each([
    { name: "the file system at the root", lines: ["/data", { mountPoint: "/", fsType: "btrfs" }], type: "btrfs" },
    { name: "nothing where no root is shown", lines: ["/data"], type: undefined },
  ])("knows $name", ({ lines, type }) => {
    expect(surveyTable(table(...lines)).rootFsType).toBe(type);
  });

  it.each([
    { name: "the default one", lines: [csiMountPoint("u1", "pv-1")], roots: [["/var/lib/kubelet", 1]] },
    {
      name: "several, the one with most mounts first",
      lines: [
        csiMountPoint("u1", "pv-1"),
        csiMountPoint("u2", "pv-2", "/data/kubelet"),
        tokenMountPoint("u2", "/data/kubelet"),
      ],
      roots: [
        ["/data/kubelet", 2],
        ["/var/lib/kubelet", 1],
      ],
    },
    { name: "the root itself", lines: [csiMountPoint("u1", "pv-1", "")], roots: [["/", 1]] },
    {
      name: "one with a space in its name",
      lines: [csiMountPoint("u1", "pv-1", "/my kubelet")],
      roots: [["/my kubelet", 1]],
    },
    {
      name: "none in paths that only look alike",
      lines: ["/pods/u1/volumes", "/x/pods/u1/volumes/data/y", "/x/pods/volumes/kubernetes.io~csi/pv/mount"],
      roots: [],
    },
  ])("finds the kubelet's root by the mounts of pods: $name", ({ lines, roots }) => {
    const { kubeletRoots } = surveyTable(table(...lines));

    expect(kubeletRoots.map(({ path, mounts }) => [path, mounts])).toEqual(roots);
  });

  it.each([
    { name: "version 2", types: ["cgroup2"], cgroup: "v2" },
    { name: "version 1", types: ["cgroup", "cgroup"], cgroup: "v1" },
    { name: "both", types: ["cgroup", "cgroup2"], cgroup: "hybrid" },
    { name: "not shown", types: ["ext4"], cgroup: undefined },
  ])("tells the cgroup version: $name", ({ types, cgroup }) => {
    const lines = types.map((fsType) => ({ mountPoint: "/sys/fs/cgroup", fsType }));

    expect(surveyTable(table(...lines)).facts.cgroup).toBe(cgroup);
  });

  it.each([
    { place: `/run/containerd/io.containerd.runtime.v2.task/k8s.io/${ID}/rootfs`, runtime: "containerd" },
    { place: `/run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/${ID}/rootfs`, runtime: "containerd" },
    { place: `/var/lib/containers/storage/overlay/${ID}/merged`, runtime: "cri-o" },
    { place: `/run/containers/storage/overlay-containers/${ID}/userdata/shm`, runtime: "cri-o" },
    { place: `/var/lib/docker/overlay2/${ID}/merged`, runtime: "docker" },
    { place: "/run/containerd/io.containerd.runtime.v2.task/moby/x/rootfs", runtime: undefined },
    { place: "/var/lib/docker", runtime: undefined },
  ])("knows $runtime as the container runtime by $place", ({ place, runtime }) => {
    expect(surveyTable(table("/", place)).facts.containerRuntime).toBe(runtime);
  });

  it("says of an empty table that nothing is known", () => {
    expect(surveyTable("")).toEqual({
      lines: 0,
      damagedLines: 1,
      rootFsType: undefined,
      kubeletRoots: [],
      facts: { cgroup: undefined, containerRuntime: undefined },
    });
  });
});

describe("namespaceOf", () => {
  const node = table({ mountPoint: "/", mountId: 22 }, { mountPoint: "/data", mountId: 30 });

  it.each([
    { name: "the same table", own: node, namespace: "own" },
    { name: "a part of it, as in a chroot", own: table({ mountPoint: "/", mountId: 30 }), namespace: "own" },
    { name: "a copy with mounts of its own", own: table({ mountPoint: "/", mountId: 522 }), namespace: "other" },
    { name: "no table", own: "", namespace: undefined },
  ])("compares the mounts themselves: $name", ({ own, namespace }) => {
    expect(namespaceOf(node, own)).toBe(namespace);
  });
});
