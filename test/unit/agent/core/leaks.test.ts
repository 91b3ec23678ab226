import { describe, expect, it } from "vitest";
import { LEAK_AFTER_MS, leaksIn } from "../../../../agent/core/leaks.ts";
import { type RootRule, scanMountedVolumes } from "../../../../agent/core/mounted-volumes.ts";
import { initialState, type KnownMountedVolume, type NodeState } from "../../../../agent/core/node-state.ts";
import { observe } from "../../../../agent/core/observe.ts";
import { volumeKey } from "../../../../common/storage/volume-identity.ts";
import { csiMountPoint, formatMountLine, type MountLine, tokenMountPoint } from "../../../fakes/mount-table.ts";

const RULE: RootRule = { by: "own-pod", podUid: "agent-1", override: undefined };
const PLUGINS = "/var/lib/kubelet/plugins/kubernetes.io";
const HASH = { a: "a".repeat(64), b: "b".repeat(64) } as const;

/** What is mounted (major:minor), and what of it. */
type Mounted = Pick<MountLine, "device" | "root">;

/** A volume staged by its driver under the hash of its handle. */
function staged(letter: "a" | "b", mounted: Mounted): MountLine {
  return { mountPoint: `${PLUGINS}/csi/csi.example.com/${HASH[letter]}/globalmount`, ...mounted };
}

/** The mount of `pv-<letter>` for the pod u1. */
function used(letter: string, mounted: Mounted): MountLine {
  return { mountPoint: csiMountPoint("u1", `pv-${letter}`), ...mounted };
}

function localDisk(letter: string, mounted: Mounted): MountLine {
  return { mountPoint: `${PLUGINS}/local-volume/mounts/pv-${letter}`, ...mounted };
}

function usedLocalDisk(letter: string, mounted: Mounted): MountLine {
  return { mountPoint: `/var/lib/kubelet/pods/u1/volumes/kubernetes.io~local-volume/pv-${letter}`, ...mounted };
}

function stagedBlock(letter: string, mounted: Mounted): MountLine {
  return { mountPoint: `${PLUGINS}/csi/volumeDevices/staging/pv-${letter}`, ...mounted };
}

function usedBlock(letter: string, mounted: Mounted): MountLine {
  return { mountPoint: `${PLUGINS}/csi/volumeDevices/publish/pv-${letter}/u1`, ...mounted };
}

function scanWith(state: NodeState, lines: readonly MountLine[], { damaged = false } = {}): NodeState {
  const whole = [{ mountPoint: tokenMountPoint("agent-1") }, ...lines].map(formatMountLine).join("");
  const text = damaged ? `${whole}36 35 8:1` : whole;
  const pods = new Map([["u1", { name: "team/web", resourceVersion: "1", isRunning: true, isOver: false }]]);
  return observe(state, {
    scan: scanMountedVolumes({ text, beganAt: 10, endedAt: 11 }, RULE),
    podsResourceVersion: "1",
    pods,
  }).state;
}

function unusedIn(state: NodeState): readonly string[] {
  return leaksIn(state, 11 + LEAK_AFTER_MS).map(({ known }) => volumeKey(known.mountedVolume.volume));
}

describe("a staged volume", () => {
  const ofA = `handle/csi.example.com/${HASH.a}`;
  it.each<{ readonly name: string; readonly table: readonly MountLine[]; readonly unused: readonly string[] }>([
    {
      name: "is used by a pod's bind mount of it",
      table: [staged("a", { device: "8:16" }), used("a", { device: "8:16" })],
      unused: [],
    },
    {
      name: "is not used by a mount of another disk",
      table: [staged("a", { device: "8:16" }), used("b", { device: "8:32" })],
      unused: [ofA],
    },
    {
      name: "is used by a pod's bind mount of a folder in it",
      table: [staged("a", { device: "8:16", root: "/" }), used("a", { device: "8:16", root: "/data/web" })],
      unused: [],
    },
    {
      name: "is not used by a mount of another folder of its disk",
      table: [
        staged("a", { device: "8:1", root: "/disk/a" }),
        staged("b", { device: "8:1", root: "/disk/b" }),
        used("b", { device: "8:1", root: "/disk/b" }),
      ],
      unused: [ofA],
    },
    {
      name: "is not used by a mount of a folder whose name begins as its own does",
      table: [staged("a", { device: "8:1", root: "/disk/a" }), used("b", { device: "8:1", root: "/disk/ab" })],
      unused: [ofA],
    },
    {
      name: "is not used by a mount of the folder above it",
      table: [staged("a", { device: "8:1", root: "/disk/a" }), used("b", { device: "8:1", root: "/disk" })],
      unused: [ofA],
    },
    {
      name: "is used by a bind mount of its folder after that was removed",
      table: [
        staged("a", { device: "8:1", root: "/disk/a//deleted" }),
        used("a", { device: "8:1", root: "/disk/a//deleted" }),
      ],
      unused: [],
    },
    {
      name: "is used by a subPath of a pod alone",
      table: [
        staged("a", { device: "8:1", root: "/disk/a" }),
        {
          mountPoint: "/var/lib/kubelet/pods/u1/volume-subpaths/pv-a/main/0",
          device: "8:1",
          root: "/disk/a/logs//deleted",
        },
      ],
      unused: [],
    },
    {
      name: "is used under its name, whatever its driver mounts for the pod",
      table: [stagedBlock("a", { device: "0:50" }), usedBlock("a", { device: "0:6", root: "/sdb" })],
      unused: [],
    },
    {
      name: "is not used under its name when a pod has another volume of the same disk",
      table: [
        localDisk("a", { device: "8:16" }),
        localDisk("b", { device: "8:16" }),
        usedLocalDisk("b", { device: "8:16" }),
      ],
      unused: ["name/pv-a"],
    },
    {
      name: "is not used as a block device when a pod has another one, though all are files of one file system",
      table: [
        stagedBlock("a", { device: "0:6", root: "/sdb" }),
        stagedBlock("b", { device: "0:6", root: "/sdc" }),
        usedBlock("b", { device: "0:6", root: "/sdc" }),
      ],
      unused: ["name/pv-a"],
    },
  ])("$name", ({ table, unused }) => {
    expect(unusedIn(scanWith(initialState("boot-1"), table))).toEqual(unused);
  });

  it.each<{ readonly name: string; readonly shows: readonly MountLine[]; readonly unused: readonly string[] }>([
    {
      name: "counts as used by a mount of its disk whose folder the journal does not have",
      shows: [staged("a", { device: "8:1", root: "/disk/a" })],
      unused: [],
    },
    {
      name: "counts as used while the journal does not have its own folder",
      shows: [used("b", { device: "8:1", root: "/disk/b" })],
      unused: [],
    },
  ])("$name", ({ shows, unused }) => {
    const table = [staged("a", { device: "8:1", root: "/disk/a" }), used("b", { device: "8:1", root: "/disk/b" })];
    const before = scanWith(initialState("boot-1"), table);
    const restored = [...before.mountedVolumes].map(([key, known]): [string, KnownMountedVolume] => [
      key,
      { ...known, root: undefined },
    ]);

    const state = scanWith({ ...before, mountedVolumes: new Map(restored) }, shows, { damaged: true });

    expect(unusedIn(before)).toEqual([ofA]);
    expect(unusedIn(state)).toEqual(unused);
  });
});
