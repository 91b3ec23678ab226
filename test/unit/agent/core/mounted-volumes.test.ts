import { describe, expect, it } from "vitest";
import {
  isSameScan,
  mergeScans,
  mountedVolumeKey,
  type RootRule,
  scanMountedVolumes,
} from "../../../../agent/core/mounted-volumes.ts";
import { csiMountPoint, formatMountLine, tokenMountPoint } from "../../../fakes/mount-table.ts";

const OWN: RootRule = { by: "own-pod", podUid: "agent-1", override: undefined };
const MOUNT = csiMountPoint("u1", "pv-1");
const ROOT = "/var/lib/kubelet";

function textOf(...mountPoints: readonly string[]): string {
  return mountPoints.map((mountPoint) => formatMountLine({ mountPoint })).join("");
}

function read(text: string, rule: RootRule = OWN) {
  return scanMountedVolumes({ text, beganAt: 10, endedAt: 11 }, rule);
}

describe("scanMountedVolumes", () => {
  it("finds the mounted volumes below the root that shows the own pod's token", () => {
    const result = read(textOf("/", tokenMountPoint("agent-1"), MOUNT, "/home"));

    expect(result).toMatchObject({ beganAt: 10, endedAt: 11, incomplete: undefined, kubeletRoot: "/var/lib/kubelet" });
    expect(result.mountedVolumes).toMatchObject([
      { kind: "pod", volume: { by: "name", name: "pv-1" }, podUid: "u1", mount: { mountPoint: MOUNT } },
    ]);
  });

  it("finds another kubelet root", () => {
    const result = read(
      textOf(tokenMountPoint("agent-1", "/data/kubelet"), csiMountPoint("u1", "pv-1", "/data/kubelet"), MOUNT),
    );

    expect(result).toMatchObject({ incomplete: undefined, kubeletRoot: "/data/kubelet" });
    expect(result.mountedVolumes).toHaveLength(1);
  });

  it.each([
    {
      name: "the own pod's token is not there",
      text: textOf("/", MOUNT),
      why: "own pod's token mount is not in the table",
    },
    { name: "the table is empty", text: "", why: "1 damaged lines" },
    {
      name: "its last line is torn",
      text: `${textOf(tokenMountPoint("agent-1"), MOUNT)}36 35 8:1 / /var`,
      why: "1 damaged lines",
    },
    {
      name: "a line below the root is damaged",
      text: `${textOf(tokenMountPoint("agent-1"), MOUNT)}36 35 8:1 / ${MOUNT} rw\n`,
      why: "1 damaged lines",
    },
  ])("proves no absence when $name", ({ text, why }) => {
    expect(read(text).incomplete).toBe(why);
  });

  it("shows mounted volumes also where it proves no absence", () => {
    expect(read(textOf(MOUNT)).mountedVolumes).toHaveLength(1);
  });

  it("stays complete with an odd line elsewhere", () => {
    const text = `${textOf(tokenMountPoint("agent-1"), MOUNT)}77 1 0:9 /odd one /mnt/x rw - odd none rw\n`;

    expect(read(text)).toMatchObject({ incomplete: undefined, mountedVolumes: [{ kind: "pod" }] });
  });

  it("is incomplete when the token is not below the configured root, so that a typing error ends no use", () => {
    const text = textOf(tokenMountPoint("agent-1", "/data/kubelet"), csiMountPoint("u1", "pv-1", "/data/kubelet"));

    const result = read(text, { ...OWN, override: "/var/lib/kubelet" });

    expect(result.incomplete).toBe("own pod's token mount is below /data/kubelet, not below /var/lib/kubelet");
  });

  it("uses the configured root when the token shows below several", () => {
    const text = textOf(
      tokenMountPoint("agent-1"),
      tokenMountPoint("agent-1", "/mnt/copy"),
      csiMountPoint("u1", "pv-1", "/mnt/copy"),
    );

    expect(read(text)).toMatchObject({ incomplete: undefined, kubeletRoot: "/var/lib/kubelet", mountedVolumes: [] });
    expect(read(text, { ...OWN, override: "/mnt/copy" })).toMatchObject({
      incomplete: undefined,
      kubeletRoot: "/mnt/copy",
      mountedVolumes: [{ kind: "pod" }],
    });
  });

  it.each([
    { name: "a space", root: "/my data/kubelet" },
    { name: "a backslash and digits", root: "/k\\040" },
    { name: "a hash", root: "/k#1" },
    { name: "bytes that are no UTF-8", root: "/\u00ff\u00e0" },
    { name: "a newline", root: "/k\n1" },
    { name: "dots, as in the target of a link", root: "/..2026_01/kubelet" },
    { name: "the path of a volume of another kubelet", root: csiMountPoint("u9", "pv-9") },
  ])("finds a kubelet root with $name", ({ root }) => {
    const text = textOf("/", tokenMountPoint("agent-1", root), csiMountPoint("u1", "pv-1", root));

    expect(read(text)).toMatchObject({
      incomplete: undefined,
      kubeletRoot: root,
      mountedVolumes: [{ kind: "pod", podUid: "u1" }],
    });
  });

  it("finds a kubelet root that is the root directory", () => {
    const text = textOf("/", tokenMountPoint("agent-1", ""), csiMountPoint("u1", "pv-1", ""));

    expect(read(text)).toMatchObject({ incomplete: undefined, kubeletRoot: "/", mountedVolumes: [{ kind: "pod" }] });
    expect(read(text, { ...OWN, override: "/" })).toMatchObject({
      incomplete: undefined,
      mountedVolumes: [{ kind: "pod" }],
    });
  });

  it.each(["/var/lib/kubelet/", "/var/lib/kubelet//"])(
    "takes a root that is set with slashes at its end: %s",
    (path) => {
      const text = textOf(tokenMountPoint("agent-1"), MOUNT);

      expect(read(text, { ...OWN, override: path })).toMatchObject({ incomplete: undefined, kubeletRoot: ROOT });
      expect(read(text, { by: "path", path })).toMatchObject({ kubeletRoot: ROOT, mountedVolumes: [{ kind: "pod" }] });
    },
  );

  it("counts a mount that shows under two paths once, under the root", () => {
    const text = textOf(
      tokenMountPoint("agent-1"),
      MOUNT,
      csiMountPoint("u1", "pv-1", "/host/kubelet"),
      `/host${MOUNT}`,
    );

    expect(read(text).mountedVolumes.map(({ mount }) => mount.mountPoint)).toEqual([MOUNT]);
  });

  it("shows each of several mounts that are stacked", () => {
    const lines = [36, 37, 38].map((mountId) => formatMountLine({ mountPoint: MOUNT, mountId, parentId: mountId - 1 }));

    const result = read(textOf(tokenMountPoint("agent-1")) + lines.join(""));

    expect(result.mountedVolumes.map(({ mount }) => mount.mountId)).toEqual([36, 37, 38]);
    expect(new Set(result.mountedVolumes.map(mountedVolumeKey)).size).toBe(1);
  });

  it("never proves an absence outside a pod", () => {
    const result = read(textOf(MOUNT), { by: "path", path: "/var/lib/kubelet" });

    expect(result.incomplete).toContain("outside a pod");
    expect(result.mountedVolumes).toHaveLength(1);
  });
});

describe("mergeScans", () => {
  const empty = textOf(tokenMountPoint("agent-1"));
  const full = textOf(tokenMountPoint("agent-1"), MOUNT);
  const torn = full.slice(0, -1);

  it.each([
    { name: "contains what only the first shows", texts: [full, empty], mountedVolumes: 1, isComplete: true },
    { name: "contains what only the second shows", texts: [empty, full], mountedVolumes: 1, isComplete: true },
    { name: "lacks what neither shows", texts: [empty, empty], mountedVolumes: 0, isComplete: true },
    { name: "is incomplete when the first is damaged", texts: [torn, empty], mountedVolumes: 0, isComplete: false },
    { name: "is incomplete when the second is damaged", texts: [empty, torn], mountedVolumes: 0, isComplete: false },
  ])("of two scans $name", ({ texts: [first = "", second = ""], mountedVolumes, isComplete }) => {
    const merged = mergeScans(
      scanMountedVolumes({ text: first, beganAt: 10, endedAt: 11 }, OWN),
      scanMountedVolumes({ text: second, beganAt: 12, endedAt: 13 }, OWN),
    );

    expect(new Set(merged.mountedVolumes.map(mountedVolumeKey)).size).toBe(mountedVolumes);
    expect(merged.incomplete === undefined).toBe(isComplete);
    expect(merged).toMatchObject({ beganAt: 10, endedAt: 13 });
  });
});

describe("isSameScan", () => {
  const token = tokenMountPoint("agent-1");
  const other = csiMountPoint("u2", "pv-1");

  it.each([
    { name: "the same table", texts: [textOf(token, MOUNT), textOf(token, MOUNT)], isSame: true },
    { name: "another order", texts: [textOf(token, MOUNT, other), textOf(other, MOUNT, token)], isSame: true },
    { name: "a mount elsewhere more", texts: [textOf(token, MOUNT), textOf(token, MOUNT, "/home")], isSame: true },
    {
      name: "a mounted volume that is stacked",
      texts: [textOf(token, MOUNT), textOf(token, MOUNT, MOUNT)],
      isSame: true,
    },
    { name: "a mounted volume more", texts: [textOf(token), textOf(token, MOUNT)], isSame: false },
    { name: "a mounted volume less", texts: [textOf(token, MOUNT), textOf(token)], isSame: false },
    { name: "another mounted volume", texts: [textOf(token, MOUNT), textOf(token, other)], isSame: false },
    { name: "damage in one", texts: [textOf(token, MOUNT), `${textOf(token, MOUNT)}36 3`], isSame: false },
    { name: "the token in one", texts: [textOf(MOUNT), textOf(token, MOUNT)], isSame: false },
    { name: "the token in none", texts: [textOf(MOUNT), textOf(MOUNT)], isSame: true },
  ])("of two scans with $name: $isSame", ({ texts: [first = "", second = ""], isSame }) => {
    expect(isSameScan(read(first), read(second))).toBe(isSame);
  });
});

describe("mountedVolumeKey", () => {
  it.each([
    { name: "mounts stacked on one path", one: MOUNT, other: MOUNT, isSame: true },
    {
      name: "two subPaths of one volume in a pod",
      one: "/var/lib/kubelet/pods/u1/volume-subpaths/pv-1/a/0",
      other: "/var/lib/kubelet/pods/u1/volume-subpaths/pv-1/b/3",
      isSame: true,
    },
    { name: "one volume in two pods", one: MOUNT, other: csiMountPoint("u2", "pv-1"), isSame: false },
    { name: "two volumes in one pod", one: MOUNT, other: csiMountPoint("u1", "pv-2"), isSame: false },
    {
      name: "a volume and a subPath of it",
      one: MOUNT,
      other: "/var/lib/kubelet/pods/u1/volume-subpaths/pv-1/a/0",
      isSame: false,
    },
  ])("is the same for $name: $isSame", ({ one, other, isSame }) => {
    const [first, second] = read(textOf(tokenMountPoint("agent-1"), one, other)).mountedVolumes.map(mountedVolumeKey);

    expect(first === second).toBe(isSame);
  });
});
