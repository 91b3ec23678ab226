import { describe, expect, it } from "vitest";
import type { MountScan } from "../../../../agent/core/mounted-volumes.ts";
import {
  type KnownMountedVolume,
  type NodeState,
  type PodFacts,
  unmountRecordOf,
} from "../../../../agent/core/node-state.ts";
import { extendCoverage, hasAbsence, observe } from "../../../../agent/core/observe.ts";
import { knownMountedVolume, mountedVolumesOf, nodeState } from "../../../fakes/node-states.ts";

/** A scan that took a millisecond and shows the mounted volumes of these volumes. */
function readAt(beganAt: number, { shows = [], incomplete }: { shows?: readonly number[]; incomplete?: string } = {}) {
  const mountedVolumes = shows.map((n) => {
    const { mountedVolume, mountPoint, device } = knownMountedVolume(n);
    return { ...mountedVolume, mount: { mountId: n, parentId: 1, device, root: "/", mountPoint, fsType: "ext4" } };
  });
  const scan: MountScan = {
    beganAt,
    endedAt: beganAt + 1,
    mountedVolumes,
    incomplete,
    kubeletRoot: "/var/lib/kubelet",
  };
  return scan;
}

function podsWith(
  resourceVersion: string,
  phase: "running" | "pending" | "over" = "running",
): ReadonlyMap<string, PodFacts> {
  const stage = { isRunning: phase === "running", isOver: phase === "over" };
  return new Map([["u1", { name: "team/web-1", resourceVersion, ...stage }]]);
}

function stateAfter(state: NodeState, scan: MountScan, pods = podsWith("7")): NodeState {
  return observe(state, { scan, podsResourceVersion: "9", pods }).state;
}

function only({ mountedVolumes }: NodeState): KnownMountedVolume | undefined {
  return [...mountedVolumes.values()][0];
}

const holding = nodeState({ mountedVolumes: mountedVolumesOf(knownMountedVolume(1)) });

describe("the last moment at which a volume was surely mounted", () => {
  it.each([
    {
      name: "is the begin of a complete scan that shows it",
      before: true,
      reads: [readAt(30, { shows: [1] })],
      at: 30,
    },
    {
      name: "is not moved by damaged scans once a complete one has shown it, however many",
      before: true,
      reads: [
        readAt(30, { shows: [1], incomplete: "damaged" }),
        readAt(40, { shows: [1], incomplete: "damaged" }),
        readAt(50, { shows: [1], incomplete: "damaged" }),
      ],
      at: 20,
    },
    {
      name: "is moved by each damaged scan as long as no complete one has shown it",
      before: false,
      reads: [readAt(30, { shows: [1], incomplete: "damaged" }), readAt(40, { shows: [1], incomplete: "damaged" })],
      at: 40,
    },
  ])("$name", ({ before, reads: scans, at }) => {
    const known = nodeState({ mountedVolumes: mountedVolumesOf(knownMountedVolume(1, { proven: before })) });

    const state = scans.reduce((one, scan) => stateAfter(one, scan), known);

    expect(only(state)?.seenAt).toBe(at);
  });
});

describe("a mount that disappeared while its pod ran", () => {
  const gone = stateAfter(holding, readAt(30));
  const over = podsWith("8", "over");

  it("ended when it disappeared, where the next change of the pod shows it over", () => {
    expect(stateAfter(gone, readAt(40), over).unmountRecords).toMatchObject([{ by: 31 }]);
  });

  it("ended with its pod, where the pod ran on", () => {
    const anomalous = stateAfter(gone, readAt(40), podsWith("8"));

    expect(stateAfter(anomalous, readAt(50), podsWith("9", "over")).unmountRecords).toMatchObject([{ by: 51 }]);
  });

  it("is no absence that a second scan must confirm", () => {
    expect(hasAbsence(gone, readAt(40))).toBe(false);
    expect(hasAbsence(holding, readAt(40))).toBe(true);
    expect(hasAbsence(holding, readAt(40, { incomplete: "damaged" }))).toBe(false);
  });

  it("is not extended by a time without changes", () => {
    expect(only(extendCoverage(gone, { from: 10, until: 90 }))?.seenAt).toBe(20);
  });
});

describe("a mount that disappeared before its pod had started", () => {
  const GONE: ReadonlyMap<string, PodFacts> = new Map();
  const waiting = podsWith("7", "pending");
  const empty = nodeState();
  const cleanedUp = [readAt(90_000, { shows: [1] }), readAt(93_000, { shows: [1] }), readAt(97_000), readAt(100_000)];
  const watched = [...cleanedUp, readAt(104_000)].reduce((state, scan) => stateAfter(state, scan, waiting), empty);

  it("has not ended as long as the pod is not over", () => {
    expect(watched.unmountRecords).toEqual([]);
    expect(watched.mountedVolumes.size).toBe(1);
  });

  it("ended by the first scan without it, where the agent had no gap since", () => {
    expect(stateAfter(watched, readAt(108_000), GONE).unmountRecords).toMatchObject([{ after: 93_000, by: 97_001 }]);
  });

  it("ended by the first scan after a gap, in which it may have been mounted again", () => {
    expect(stateAfter(watched, readAt(125_000), GONE).unmountRecords).toMatchObject([{ by: 125_001 }]);
  });

  it("ended by the first scan after the gap, also where its pod was over later", () => {
    const waited = stateAfter(watched, readAt(125_000), waiting);

    expect(stateAfter(waited, readAt(128_000), GONE).unmountRecords).toMatchObject([{ by: 125_001 }]);
  });
});

describe("a time without changes", () => {
  it.each([
    { name: "that began before a mounted volume was seen shows that it was there until then", from: 19, seenAt: 90 },
    { name: "that began when a mounted volume was seen does so, too", from: 20, seenAt: 90 },
    { name: "that began later does not change its bound", from: 21, seenAt: 20 },
  ])("$name", ({ from, seenAt }) => {
    expect(only(extendCoverage(holding, { from, until: 90 }))?.seenAt).toBe(seenAt);
  });

  it("never moves a bound backwards", () => {
    expect(only(extendCoverage(holding, { from: 10, until: 15 }))?.seenAt).toBe(20);
  });
});

describe("a mount that a complete scan lacks before the pods are listed", () => {
  it("is gone where it is staging: no pod has it", () => {
    const staged = nodeState({ mountedVolumes: mountedVolumesOf(knownMountedVolume(1, { kind: "staging" })) });

    const { state } = observe(staged, { scan: readAt(30), podsResourceVersion: undefined, pods: undefined });

    expect(state.mountedVolumes.size).toBe(0);
  });

  it("is kept where it is a mount of a pod, which may be running", () => {
    const { state } = observe(holding, { scan: readAt(30), podsResourceVersion: undefined, pods: undefined });

    expect(state.mountedVolumes.size).toBe(1);
  });
});

describe("unmountRecordOf", () => {
  const volume = { by: "name", name: "pv-1" } as const;
  const use = { kind: "pod", volume, podUid: "u1" } as const;

  it("leaves out what is not known", () => {
    expect(unmountRecordOf("boot-1", { use, pod: undefined, after: undefined, by: 1.5 })).toStrictEqual({
      ...{ id: "boot-1/1500/u1/name/pv-1", volume, podUid: "u1", by: 1.5 },
    });
  });
});
