import { describe, expect, it } from "vitest";
import { type RootRule, scanMountedVolumes } from "../../../../agent/core/mounted-volumes.ts";
import {
  initialState,
  type KnownMountedVolume,
  type NodeState,
  type PodFacts,
} from "../../../../agent/core/node-state.ts";
import { observe } from "../../../../agent/core/observe.ts";
import { interpretStored, mergeStored } from "../../../../agent/core/restore.ts";
import type { AgentGap } from "../../../../common/storage/node-report.ts";
import { csiMountPoint, formatMountLine, tokenMountPoint } from "../../../fakes/mount-table.ts";
import { knownMountedVolume, mountedVolumesOf, nodeState, unmountRecordOf } from "../../../fakes/node-states.ts";

const RULE: RootRule = { by: "own-pod", podUid: "agent-1", override: undefined };
const CLOCK = "monotonic-raw";
const NOW = { bootId: "boot-1", clock: CLOCK, nowMs: 1_000 };
const RUNNING = new Map([["u1", { name: "team/web-1", resourceVersion: "7", isRunning: true, isOver: false }]]);

/** A run that starts now, with what the journal gave it, after one complete scan at 100 that shows the volumes of these pods. */
function afterRead(stored: NodeState, now: Partial<Shown> = {}): NodeState {
  const { past } = interpretStored(stored, { ...NOW, nowMs: 90 });
  return scanWith(mergeStored(initialState("boot-1", { run: "run-2" }), past), 100, {
    shows: [],
    pods: new Map(),
    ...now,
  });
}

interface Shown {
  readonly shows: readonly number[];
  readonly pods: ReadonlyMap<string, PodFacts> | undefined;
}

function scanWith(state: NodeState, at: number, { shows, pods }: Shown): NodeState {
  const places = [tokenMountPoint("agent-1"), ...shows.map((n) => csiMountPoint(`u${n}`, `pv-${n}`))];
  const text = places.map((mountPoint) => formatMountLine({ mountPoint })).join("");
  const scan = scanMountedVolumes({ text, beganAt: at, endedAt: at + 1 }, RULE);
  return observe(state, { scan, podsResourceVersion: "1", pods }).state;
}

function intervals({ unmountRecords }: NodeState): readonly string[] {
  return unmountRecords.map(({ podUid, after, by }) => `${podUid} ${after ?? "?"}-${by}`);
}

describe("after a restart in the same boot", () => {
  it.each<{
    readonly name: string;
    readonly stored: Partial<NodeState>;
    readonly now?: Partial<Shown>;
    readonly unmountRecords: readonly string[];
  }>([
    {
      name: "a mount that is gone ended between the last scan that showed it and the first scan of this run",
      stored: { mountedVolumes: mountedVolumesOf(knownMountedVolume(1)) },
      unmountRecords: ["u1 20-101"],
    },
    {
      name: "the last complete scan counts, which is stored more often than each mounted volume",
      stored: {
        mountedVolumes: mountedVolumesOf(knownMountedVolume(1, { seenAt: 12 })),
        scan: { beganAt: 70, endedAt: 71 },
      },
      unmountRecords: ["u1 70-101"],
    },
    {
      name: "a mounted volume that only damaged scans showed was seen when it was stored",
      stored: {
        mountedVolumes: mountedVolumesOf(knownMountedVolume(1, { seenAt: 12, proven: false })),
        scan: { beganAt: 70, endedAt: 71 },
      },
      unmountRecords: ["u1 12-101"],
    },
    {
      name: "a volume that is still mounted continues its use",
      stored: { mountedVolumes: mountedVolumesOf(knownMountedVolume(1)) },
      now: { shows: [1] },
      unmountRecords: [],
    },
    {
      name: "a mounted volume that is gone while its pod runs is kept",
      stored: { mountedVolumes: mountedVolumesOf(knownMountedVolume(1)) },
      now: { pods: RUNNING },
      unmountRecords: [],
    },
    {
      name: "a mounted volume that is gone before the pods are listed is kept: its pod may run",
      stored: { mountedVolumes: mountedVolumesOf(knownMountedVolume(1)) },
      now: { pods: undefined },
      unmountRecords: [],
    },
    {
      name: "a pending unmount counts from the first scan: meanwhile it may have been mounted again",
      stored: {
        mountedVolumes: mountedVolumesOf(
          knownMountedVolume(1, { pendingUnmount: { by: 21, podVersion: "7", isAnomaly: false } }),
        ),
      },
      unmountRecords: ["u1 20-101"],
    },
    {
      name: "unacknowledged unmount records are kept as they were",
      stored: { unmountRecords: [unmountRecordOf(2)] },
      unmountRecords: ["u2 20-30"],
    },
    {
      name: "the end of a staging mount is no unmount record",
      stored: { mountedVolumes: mountedVolumesOf(knownMountedVolume(1, { kind: "staging" })) },
      unmountRecords: [],
    },
  ])("$name", ({ stored, now, unmountRecords }) => {
    expect(intervals(afterRead(nodeState(stored), now))).toEqual(unmountRecords);
  });

  it("a pending unmount ends with the pod, also across the restart", () => {
    const stored = nodeState({
      mountedVolumes: mountedVolumesOf(
        knownMountedVolume(1, { pendingUnmount: { by: 21, podVersion: "7", isAnomaly: false } }),
      ),
    });

    const first = afterRead(stored, { pods: RUNNING });
    const second = scanWith(first, 200, { shows: [], pods: new Map() });

    expect(intervals(first)).toEqual([]);
    expect(intervals(second)).toEqual(["u1 20-101"]);
  });

  it("knows since when a volume is mounted that stayed mounted", () => {
    const state = afterRead(nodeState({ mountedVolumes: mountedVolumesOf(knownMountedVolume(1)) }), { shows: [1] });

    expect([...state.mountedVolumes.values()]).toMatchObject([{ since: 11, seenAt: 100, pod: "team/web-1" }]);
  });

  it("keeps whether this is the machine's first boot", () => {
    const ofBoot = (bootId: string): boolean => afterRead(nodeState({ bootId, isFirstBoot: true })).isFirstBoot;

    expect([ofBoot("boot-1"), ofBoot("boot-0")]).toEqual([true, false]);
  });

  it("has a gap from the last complete scan to the first of this run", () => {
    expect(afterRead(nodeState({ scan: { beganAt: 70, endedAt: 71 } })).agentGaps).toEqual([
      { to: 11 },
      { from: 70, to: 101 },
    ]);
  });

  it("has a gap with an unknown begin where no scan is known", () => {
    expect(afterRead(initialState("boot-1", { run: "run-1", clock: CLOCK })).agentGaps).toEqual([{ to: 101 }]);
  });
});

describe("in another boot", () => {
  const stored = nodeState({
    bootId: "boot-0",
    scan: { beganAt: 5_000, endedAt: 5_001 },
    mountedVolumes: mountedVolumesOf(
      knownMountedVolume(1, { seenAt: 5_000 }),
      knownMountedVolume(1, { kind: "subpath" }),
      knownMountedVolume(2, { kind: "staging" }),
      knownMountedVolume(3, { pendingUnmount: { by: 21, podVersion: "7", isAnomaly: true } }),
    ),
    unmountRecords: [unmountRecordOf(4, 4_000)],
  });

  it("unmount records ended by the begin of this boot, and uses that its first scan lacks ended by that scan", () => {
    expect(intervals(afterRead(stored))).toEqual(["u4 ?-0", "u1 ?-101", "u3 ?-101"]);
  });

  it("a use goes on while its pod is not over, which may mount its volume again, and is no anomaly", () => {
    const rebooted = afterRead(stored, { pods: RUNNING });
    const before = scanWith(rebooted, 200, { shows: [], pods: RUNNING });
    const stillRuns = new Map([["u1", { name: "team/web-1", resourceVersion: "8", isRunning: true, isOver: false }]]);
    const again = scanWith(before, 300, { shows: [1], pods: stillRuns });

    expect([rebooted, before, again].map(intervals)).toEqual(Array(3).fill(["u4 ?-0", "u3 ?-101"]));
    expect([...before.mountedVolumes.values()]).toMatchObject([
      { pendingUnmount: { by: 101, isAnomaly: false } },
      { pendingUnmount: { by: 101, isAnomaly: false } },
    ]);
    expect(intervals(scanWith(again, 400, { shows: [], pods: new Map() }))).toContain("u1 300-401");
  });

  it("an unmount record keeps its ID, so that a lost answer does not make two of it", () => {
    const [unmountRecord] = afterRead(stored).unmountRecords;

    expect(unmountRecord?.id).toBe(unmountRecordOf(4, 4_000).id);
  });

  it("a mounted volume that this boot shows is a new one", () => {
    const state = afterRead(stored, { shows: [1] });

    expect([...state.mountedVolumes.values()]).toMatchObject([{ since: 101 }]);
    expect(intervals(state)).toEqual(["u4 ?-0", "u3 ?-101"]);
  });

  it("nothing is known of the time before the first scan", () => {
    expect(afterRead(stored).agentGaps).toEqual([{ to: 101 }]);
  });
});

describe("a journal that is ahead of the clock", () => {
  it.each<{ readonly name: string; readonly stored: Partial<NodeState> }>([
    { name: "the last scan", stored: { scan: { beganAt: 1_000, endedAt: 1_000.1 } } },
    {
      name: "a mounted volume",
      stored: { mountedVolumes: mountedVolumesOf(knownMountedVolume(1, { seenAt: 1_001 })) },
    },
    {
      name: "a pending unmount",
      stored: {
        mountedVolumes: mountedVolumesOf(
          knownMountedVolume(1, { pendingUnmount: { by: 1_001, podVersion: "7", isAnomaly: true } }),
        ),
      },
    },
    { name: "an unmount record", stored: { unmountRecords: [unmountRecordOf(2, 1_001)] } },
    { name: "a gap", stored: { agentGaps: [{ to: 1_001 }] } },
    { name: "a clock sample", stored: { clockSamples: [{ at: 1_001, ms: 5 }] } },
  ])("has any stamp ahead of the clock: $name", ({ stored }) => {
    expect(interpretStored(nodeState(stored), NOW).kind).toBe("later-clock");
  });

  it("counts like one of another clock of the same boot, which only the earlier agent could read", () => {
    const { kind, past } = interpretStored(nodeState({ unmountRecords: [unmountRecordOf(2)] }), {
      ...NOW,
      clock: "monotonic",
    });

    expect(kind).toBe("other-clock");
    expect(intervals(past)).toEqual(["u2 ?-1000"]);
    expect(past).toMatchObject({ scan: undefined, clock: "monotonic" });
  });

  it("is not one whose latest stamp is now", () => {
    expect(interpretStored(nodeState({ scan: { beganAt: 999, endedAt: 1_000 } }), NOW).kind).toBe("same-boot");
  });

  it("loses no use: each ended by now or by the first scan without it, with an unknown begin", () => {
    const stored = nodeState({
      scan: { beganAt: 5_000, endedAt: 5_001 },
      mountedVolumes: mountedVolumesOf(
        knownMountedVolume(1, { seenAt: 5_000 }),
        knownMountedVolume(3, { seenAt: 5_000 }),
      ),
      unmountRecords: [unmountRecordOf(2, 4_000)],
    });

    const state = afterRead(stored, { shows: [3] });

    expect(intervals(state)).toEqual(["u2 ?-90", "u1 ?-101"]);
    expect(state.agentGaps).toEqual([{ to: 101 }]);
    expect([...state.mountedVolumes.values()]).toMatchObject([{ since: 101 }]);
  });
});

describe("a mount that is gone in the same boot although its pod runs, where the journal is of another clock", () => {
  const anomaly = { by: 21, podVersion: "7", isAnomaly: true };
  const scan = { beganAt: 5_000, endedAt: 5_001 };

  it.each<{ readonly name: string; readonly stored: NodeState }>([
    {
      name: "the journal is ahead of the clock and has a pending unmount",
      stored: nodeState({ scan, mountedVolumes: mountedVolumesOf(knownMountedVolume(1, { pendingUnmount: anomaly })) }),
    },
    {
      name: "the journal is ahead of the clock and shows the mount",
      stored: nodeState({ scan, mountedVolumes: mountedVolumesOf(knownMountedVolume(1)) }),
    },
    {
      name: "the earlier agent had a better clock and a pending unmount",
      stored: nodeState({
        clock: "monotonic",
        mountedVolumes: mountedVolumesOf(knownMountedVolume(1, { pendingUnmount: anomaly })),
      }),
    },
    {
      name: "the earlier agent had a better clock and saw the mount",
      stored: nodeState({ clock: "monotonic", mountedVolumes: mountedVolumesOf(knownMountedVolume(1)) }),
    },
  ])("may be used by its containers until the pod is over: $name", ({ stored }) => {
    const runs = (resourceVersion: string): ReadonlyMap<string, PodFacts> =>
      new Map([["u1", { name: "team/web-1", resourceVersion, isRunning: true, isOver: false }]]);
    const found = afterRead(stored, { pods: runs("8") });
    const later = scanWith(found, 200, { shows: [], pods: runs("9") });

    const over = scanWith(later, 300, { shows: [], pods: new Map() });

    expect([found, later, over].map(intervals)).toEqual([[], [], ["u1 ?-301"]]);
  });
});

describe("the journal of another agent that ends while this one watches", () => {
  /** This run has read the table at 10 and at 50; the other one's last scan ended at 41. */
  const own = nodeState({ run: "run-2", scan: { beganAt: 50, endedAt: 51 }, agentGaps: [{ to: 11 }] });
  const past = nodeState({ scan: { beganAt: 40, endedAt: 41 }, agentGaps: [{ to: 5 }] });
  const pendingUnmount = { by: 30, podVersion: "7", isAnomaly: false };

  it.each<{
    readonly name: string;
    readonly left: readonly KnownMountedVolume[];
    readonly recorded?: number;
    readonly unmountRecords: readonly string[];
  }>([
    {
      name: "a mounted volume that this agent never saw ended by its next scan",
      left: [knownMountedVolume(1, { seenAt: 40 })],
      unmountRecords: ["u1 40-101"],
    },
    {
      name: "a mounted volume whose unmount this agent has recorded gets no second record",
      left: [knownMountedVolume(1, { seenAt: 40 })],
      recorded: 45,
      unmountRecords: ["u1 35-45"],
    },
    {
      name: "a use that began after an earlier unmount record is another use",
      left: [knownMountedVolume(1, { seenAt: 40 })],
      recorded: 35,
      unmountRecords: ["u1 25-35", "u1 40-101"],
    },
    {
      name: "a pending unmount counts from a scan of this run without it",
      left: [knownMountedVolume(1, { pendingUnmount })],
      unmountRecords: ["u1 20-51"],
    },
  ])("$name", ({ left, recorded, unmountRecords }) => {
    const state = { ...own, unmountRecords: recorded === undefined ? [] : [unmountRecordOf(1, recorded)] };

    const next = scanWith(mergeStored(state, { ...past, mountedVolumes: mountedVolumesOf(...left) }), 100, {
      shows: [],
      pods: new Map(),
    });

    expect(intervals(next)).toEqual(unmountRecords);
  });

  it("what both agents know keeps this agent's state", () => {
    const state = mergeStored(
      { ...own, mountedVolumes: mountedVolumesOf(knownMountedVolume(1, { since: 11, seenAt: 50 })) },
      { ...past, mountedVolumes: mountedVolumesOf(knownMountedVolume(1, { since: 3, seenAt: 40 })) },
    );

    expect([...state.mountedVolumes.values()]).toMatchObject([{ since: 11, seenAt: 50 }]);
  });

  it.each<{
    readonly name: string;
    readonly past: Partial<NodeState>;
    readonly own: readonly AgentGap[];
    readonly agentGaps: readonly AgentGap[];
  }>([
    { name: "there is no gap where either agent watched", past: {}, own: [{ to: 11 }], agentGaps: [{ to: 5 }] },
    {
      name: "there is a gap between the end of one agent and the begin of the other",
      past: { scan: { beganAt: 7, endedAt: 8 } },
      own: [{ to: 11 }],
      agentGaps: [{ to: 5 }, { from: 7, to: 11 }],
    },
    {
      name: "the other agent's gaps before this one began stay",
      past: { agentGaps: [{ to: 5 }, { from: 6, to: 9 }] },
      own: [{ to: 11 }],
      agentGaps: [{ to: 5 }, { from: 6, to: 9 }],
    },
    {
      name: "the other agent's gap ends where this one's coverage begins",
      past: { agentGaps: [{ to: 5 }, { from: 6, to: 30 }] },
      own: [{ to: 11 }],
      agentGaps: [{ to: 5 }, { from: 6, to: 11 }],
    },
    {
      name: "the other agent's gap while this one watched does not count",
      past: { agentGaps: [{ to: 5 }, { from: 20, to: 30 }] },
      own: [{ to: 11 }],
      agentGaps: [{ to: 5 }],
    },
    {
      name: "this agent's own gaps stay",
      past: {},
      own: [{ to: 11 }, { from: 20, to: 30 }],
      agentGaps: [{ to: 5 }, { from: 20, to: 30 }],
    },
    {
      name: "an agent that never scanned adds nothing",
      past: { scan: undefined, agentGaps: [] },
      own: [{ to: 11 }],
      agentGaps: [{ to: 11 }],
    },
  ])("$name", ({ past: left, own: agentGaps, agentGaps: expected }) => {
    expect(mergeStored({ ...own, agentGaps }, { ...past, ...left }).agentGaps).toEqual(expected);
  });

  it("its clock samples count, too", () => {
    const clockSamples = [{ at: 30, ms: 1_030 }];
    const left = [{ at: 20, ms: 1_020 }];

    expect(mergeStored({ ...own, clockSamples }, { ...past, clockSamples: left }).clockSamples).toEqual([
      ...left,
      ...clockSamples,
    ]);
  });

  it("its unmount records are reported, too, and none twice", () => {
    const state = mergeStored(
      { ...own, unmountRecords: [unmountRecordOf(1)] },
      { ...past, unmountRecords: [unmountRecordOf(1), unmountRecordOf(2)] },
    );

    expect(state.unmountRecords.map(({ podUid }) => podUid)).toEqual(["u1", "u2"]);
    expect(state.generation).toBeGreaterThan(own.generation);
  });
});

describe("interpretStored", () => {
  it("dates no mounted volume of another agent by a scan that did not show it", () => {
    const own = scanWith(initialState("boot-1", { run: "run-2", clock: CLOCK }), 100, { shows: [], pods: new Map() });
    const both = mergeStored(
      own,
      nodeState({ mountedVolumes: mountedVolumesOf(knownMountedVolume(1, { seenAt: 20 })) }),
    );

    expect([...interpretStored(both, NOW).past.mountedVolumes.values()]).toMatchObject([{ seenAt: 20 }]);
  });

  it.each([
    { name: "date stamps of the same boot", now: {}, clockSamples: [{ at: 20, ms: 1_020 }] },
    { name: "are void in another boot", now: { bootId: "boot-2" }, clockSamples: [] },
    { name: "are void on another clock", now: { clock: "monotonic" }, clockSamples: [] },
  ])("clock samples $name", ({ now, clockSamples }) => {
    const stored = nodeState({ clockSamples: [{ at: 20, ms: 1_020 }] });

    expect(interpretStored(stored, { ...NOW, ...now }).past.clockSamples).toEqual(clockSamples);
  });

  it("keeps a pending unmount as stored: the last complete scan lacked it", () => {
    const pendingUnmount = { by: 31, podVersion: "7", isAnomaly: false };
    const stored = nodeState({
      mountedVolumes: mountedVolumesOf(knownMountedVolume(1, { pendingUnmount })),
      scan: { beganAt: 70, endedAt: 71 },
    });

    const { past } = interpretStored(stored, NOW);

    expect([...past.mountedVolumes.values()]).toEqual([knownMountedVolume(1, { pendingUnmount })]);
  });

  it("keeps in another boot the run that wrote it, with the present clock", () => {
    const { past } = interpretStored(nodeState(), { bootId: "boot-2", clock: "monotonic", nowMs: 5 });

    expect(past).toMatchObject({ bootId: "boot-2", clock: "monotonic", run: "run-1" });
  });
});

describe("mergeStored", () => {
  it.each([
    { name: "than the past", own: 3, past: 8, generation: 9 },
    { name: "than its own", own: 8, past: 3, generation: 9 },
  ])("gives a generation higher $name, so that an aggregator that has either state asks for the whole", (row) => {
    const { own, past, generation } = row;

    expect(mergeStored(nodeState({ generation: own }), nodeState({ generation: past })).generation).toBe(generation);
  });

  it("drops a stored use whose unmount this run has recorded, and keeps one that was seen after it", () => {
    const own = nodeState({ unmountRecords: [unmountRecordOf(1, 30)] });

    const mountedVolumes = (seenAt: number) =>
      mergeStored(own, nodeState({ mountedVolumes: mountedVolumesOf(knownMountedVolume(1, { seenAt })) }))
        .mountedVolumes.size;

    expect([mountedVolumes(29), mountedVolumes(30), mountedVolumes(31)]).toEqual([0, 0, 1]);
  });
});
