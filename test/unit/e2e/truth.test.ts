import { describe, expect, it } from "vitest";
import { both, continuousSince, latest, missedMounts, umountsOf, useMounts } from "../../e2e/scenarios/truth.ts";
import type { MountOperation } from "../../rig/csi/record.ts";
import type { LifeEvent, OracleLine, Stamp } from "../../rig/oracle/record.ts";

const USE = { podUid: "uid-1", volume: "pv-1" };
const PUBLISHED = "/var/lib/kubelet/pods/uid-1/volumes/kubernetes.io~csi/pv-1/mount";
const SUB_PATH = "/var/lib/kubelet/pods/uid-1/volume-subpaths/pv-1/main/0";
const DEVICE = "/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices/pv-1/dev/uid-1";
const STAGED = "/var/lib/kubelet/plugins/kubernetes.io/csi/driver/0a1b/globalmount";

function at(wallMs: number): Stamp {
  return { wallMs, monotonicMs: wallMs };
}

function life(kind: "present" | "attached" | "detached", mount: string, mountPoint: string): LifeEvent {
  const after = kind === "detached" ? 200 : 100;
  return { kind, mount, mountPoint, root: "/", fsType: "tmpfs", device: "0:1", after: at(after), by: at(after + 5) };
}

describe("useMounts", () => {
  it.each([
    { name: "the pod's mount", mountPoint: PUBLISHED },
    { name: "a subPath", mountPoint: SUB_PATH },
    { name: "a raw device", mountPoint: DEVICE },
  ])("counts $name", ({ mountPoint }) => {
    const lines = [life("attached", "1", mountPoint), life("detached", "1", mountPoint)];

    const end = { mountPoint, beganMs: 105, at: { afterMs: 200, byMs: 205 } };
    expect(useMounts(lines, USE)).toEqual({ left: [], ended: [end] });
  });

  it.each([
    { name: "a staging mount", mountPoint: STAGED },
    { name: "another pod's mount", mountPoint: PUBLISHED.replace("uid-1", "uid-2") },
    { name: "another volume of the pod", mountPoint: PUBLISHED.replace("pv-1", "pv-2") },
  ])("does not count $name", ({ mountPoint }) => {
    const lines = [life("attached", "1", mountPoint), life("detached", "1", mountPoint)];

    expect(useMounts(lines, USE)).toEqual({ left: [], ended: [] });
  });

  it.each<{ name: string; lines: readonly OracleLine[]; left: readonly string[] }>([
    { name: "one that appeared", lines: [life("attached", "1", PUBLISHED)], left: [PUBLISHED] },
    { name: "one that was there before", lines: [life("present", "1", PUBLISHED)], left: [PUBLISHED] },
    {
      name: "one that is back under another identifier",
      lines: [life("attached", "1", PUBLISHED), life("detached", "1", PUBLISHED), life("attached", "2", PUBLISHED)],
      left: [PUBLISHED],
    },
    {
      name: "none where all are gone and only other mounts are listed",
      lines: [
        { kind: "watching", at: at(90) },
        life("attached", "1", PUBLISHED),
        { kind: "missed", mount: "7", after: at(100), by: at(105) },
        life("detached", "1", PUBLISHED),
      ],
      left: [],
    },
  ])("knows what is left: $name", ({ lines, left }) => {
    expect(useMounts(lines, USE).left).toEqual(left);
  });
});

describe("missedMounts", () => {
  it("counts mounts without a known mount point", () => {
    const missed = (mount: string): LifeEvent => ({ kind: "missed", mount, after: at(100), by: at(105) });

    expect(missedMounts([missed("1"), life("attached", "2", PUBLISHED), missed("3")])).toBe(2);
  });
});

describe("umountsOf", () => {
  const umount: MountOperation = {
    operation: "umount",
    call: "NodeUnpublishVolume",
    volume: "pv-1",
    target: PUBLISHED,
    began: at(100),
    ended: at(107),
    error: undefined,
  };

  it("returns when a driver unmounted a mount point", () => {
    expect(umountsOf([umount], PUBLISHED)).toEqual([{ afterMs: 100, byMs: 107 }]);
  });

  it.each<{ name: string; operation: MountOperation }>([
    { name: "one that failed", operation: { ...umount, error: "target is busy" } },
    { name: "one that a crash of the driver interrupted", operation: { ...umount, ended: undefined } },
    { name: "one elsewhere", operation: { ...umount, target: SUB_PATH } },
    { name: "an unstaging", operation: { ...umount, call: "NodeUnstageVolume" } },
    { name: "a mount", operation: { ...umount, operation: "mount" } },
  ])("leaves out $name", ({ operation }) => {
    expect(umountsOf([operation], PUBLISHED)).toEqual([]);
  });
});

describe("both", () => {
  it.each([
    { name: "the later begin and the earlier end", one: [1, 5], other: [2, 8], known: [2, 5] },
    { name: "the narrower one", one: [1, 8], other: [2, 5], known: [2, 5] },
    { name: "the moment that they share", one: [1, 5], other: [5, 8], known: [5, 5] },
  ] as const)("knows $name", ({ one, other, known }) => {
    expect(both(truth(one), truth(other))).toEqual(truth(known));
    expect(both(truth(other), truth(one))).toEqual(truth(known));
  });

  it("is undefined where they contradict each other", () => {
    expect(both(truth([1, 4]), truth([5, 8]))).toBeUndefined();
  });
});

describe("latest", () => {
  it("takes the later begin and the later end, of any users", () => {
    expect(latest([truth([1, 9]), truth([2, 5])])).toEqual(truth([2, 9]));
  });

  it("is undefined without ends", () => {
    expect(latest([])).toBeUndefined();
  });
});

describe("continuousSince", () => {
  it.each<{ name: string; uses: readonly (readonly [beganMs: number, endMs: number])[]; sinceMs: number | undefined }>([
    { name: "one mount", uses: [[1, 5]], sinceMs: 1 },
    {
      name: "a mount that lasts and one that ends sooner",
      uses: [
        [1, 9],
        [2, 5],
      ],
      sinceMs: 1,
    },
    {
      name: "one that began before another ended",
      uses: [
        [1, 5],
        [4, 9],
      ],
      sinceMs: 1,
    },
    {
      name: "three, each taking over from the one before",
      uses: [
        [7, 9],
        [1, 5],
        [4, 8],
      ],
      sinceMs: 1,
    },
    {
      name: "one that began when nothing was mounted",
      uses: [
        [1, 5],
        [6, 9],
      ],
      sinceMs: 6,
    },
    { name: "none", uses: [], sinceMs: undefined },
  ])("knows since when there always was one: $name", ({ uses, sinceMs }) => {
    const mounts = uses.map(([beganMs, endMs]) => ({ mountPoint: PUBLISHED, beganMs, at: truth([endMs, endMs]) }));

    expect(continuousSince(mounts)).toBe(sinceMs);
  });
});

function truth([afterMs, byMs]: readonly [number, number]): { afterMs: number; byMs: number } {
  return { afterMs, byMs };
}
