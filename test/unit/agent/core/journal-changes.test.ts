import { describe, expect, it } from "vitest";
import { changesSince, STAMP_EVERY_MS } from "../../../../agent/core/journal-changes.ts";
import type { KnownMountedVolume, NodeState } from "../../../../agent/core/node-state.ts";
import { knownMountedVolume, mountedVolumesOf, nodeState, unmountRecordOf } from "../../../fakes/node-states.ts";

const pendingUnmount = { by: 19, podVersion: "7", isAnomaly: false };
const first = unmountRecordOf(1);
const stored = nodeState({
  mountedVolumes: mountedVolumesOf(knownMountedVolume(1), knownMountedVolume(2)),
  unmountRecords: [first, unmountRecordOf(2)],
});

describe("changesSince: the first time", () => {
  it("stores everything", () => {
    expect(changesSince(undefined, stored)).toEqual({
      ...{ mountedVolumes: stored.mountedVolumes, unmountRecords: stored.unmountRecords },
      ...{ droppedMountedVolumes: [], droppedUnmountRecords: [], isLasting: true },
    });
  });

  it("stores an empty state, too, and waits for the disk: its existence distinguishes an old machine from a new one", () => {
    expect(changesSince(undefined, nodeState())).toMatchObject({ isLasting: true });
  });
});

describe("changesSince: nothing is worth a write", () => {
  it.each<{ readonly name: string; readonly change: Partial<NodeState> }>([
    { name: "when nothing has changed", change: {} },
    { name: "for what only this run knows", change: { coverage: "broken", podsResourceVersion: "9", generation: 8 } },
    {
      name: "for a later scan of the same mounted volumes",
      change: {
        mountedVolumes: mountedVolumesOf(knownMountedVolume(1, { seenAt: 900 }), knownMountedVolume(2)),
        scan: { beganAt: 900, endedAt: 901 },
      },
    },
    {
      name: "for a last scan that is a millisecond less than the stamp interval away",
      change: { scan: { beganAt: 20, endedAt: 21 + STAMP_EVERY_MS - 1 } },
    },
  ])("$name", ({ change }) => {
    expect(changesSince(stored, { ...stored, ...change })).toBeUndefined();
  });
});

describe("changesSince: a mounted volume", () => {
  it.each<{
    readonly name: string;
    readonly mountedVolume: Partial<KnownMountedVolume>;
    readonly before?: Partial<KnownMountedVolume>;
  }>([
    { name: "whose pod is known now", before: { pod: undefined }, mountedVolume: {} },
    { name: "that is mounted elsewhere", mountedVolume: { mountPoint: "/elsewhere" } },
    { name: "of another device", mountedVolume: { device: "8:2" } },
    { name: "that began anew", mountedVolume: { since: 12 } },
    { name: "that a complete scan has shown now", before: { proven: false }, mountedVolume: {} },
    { name: "that has no known user", mountedVolume: { leakedSince: 20 } },
    { name: "that is a pending unmount", mountedVolume: { pendingUnmount } },
    { name: "that is back", before: { pendingUnmount }, mountedVolume: {} },
    {
      name: "that ended later than stored",
      before: { pendingUnmount },
      mountedVolume: { pendingUnmount: { ...pendingUnmount, by: 20 } },
    },
    {
      name: "whose pod has been listed",
      before: { pendingUnmount: { ...pendingUnmount, podVersion: undefined } },
      mountedVolume: { pendingUnmount },
    },
    {
      name: "that turns out to be an anomaly",
      before: { pendingUnmount },
      mountedVolume: { pendingUnmount: { ...pendingUnmount, isAnomaly: true } },
    },
  ])("$name is stored anew, alone, and need not wait for the disk", ({ before, mountedVolume }) => {
    const known = { ...stored, mountedVolumes: mountedVolumesOf(knownMountedVolume(1, before), knownMountedVolume(2)) };

    const changes = changesSince(known, {
      ...stored,
      mountedVolumes: mountedVolumesOf(knownMountedVolume(1, mountedVolume), knownMountedVolume(2)),
    });

    expect(changes).toEqual({
      mountedVolumes: mountedVolumesOf(knownMountedVolume(1, mountedVolume)),
      ...{ unmountRecords: [], droppedMountedVolumes: [], droppedUnmountRecords: [], isLasting: false },
    });
  });

  it("that is new is on the disk before it is reported", () => {
    const changes = changesSince(stored, {
      ...stored,
      mountedVolumes: mountedVolumesOf(knownMountedVolume(1), knownMountedVolume(2), knownMountedVolume(3)),
    });

    expect(changes).toMatchObject({
      mountedVolumes: mountedVolumesOf(knownMountedVolume(3)),
      droppedMountedVolumes: [],
      isLasting: true,
    });
  });

  it("that is new is on the disk before it is reported, although another one only changed", () => {
    const mountedVolumes = mountedVolumesOf(
      knownMountedVolume(1, { leakedSince: 20 }),
      knownMountedVolume(2),
      knownMountedVolume(3),
    );

    expect(changesSince(stored, { ...stored, mountedVolumes })).toMatchObject({ isLasting: true });
  });

  it("that is gone is dropped", () => {
    const changes = changesSince(stored, { ...stored, mountedVolumes: mountedVolumesOf(knownMountedVolume(2)) });

    expect(changes).toEqual({
      mountedVolumes: new Map(),
      ...{
        unmountRecords: [],
        droppedMountedVolumes: ["pod/u1/name/pv-1"],
        droppedUnmountRecords: [],
        isLasting: false,
      },
    });
  });
});

describe("changesSince: one thing comes as another goes", () => {
  const [known1, known2, known3] = [knownMountedVolume(1), knownMountedVolume(2), knownMountedVolume(3)];

  it.each<{ readonly name: string; readonly state: Partial<NodeState>; readonly changes: object }>([
    {
      name: "a mounted volume and another mounted volume",
      state: { mountedVolumes: mountedVolumesOf(known2, known3) },
      changes: { mountedVolumes: mountedVolumesOf(known3), droppedMountedVolumes: ["pod/u1/name/pv-1"] },
    },
    {
      name: "a mounted volume and an unmount record",
      state: { mountedVolumes: mountedVolumesOf(known1, known2, known3), unmountRecords: [unmountRecordOf(2)] },
      changes: { mountedVolumes: mountedVolumesOf(known3), droppedUnmountRecords: [first.id] },
    },
    {
      name: "a pending unmount and its unmount record",
      state: {
        mountedVolumes: mountedVolumesOf({ ...known1, pendingUnmount }, known2),
        unmountRecords: [...stored.unmountRecords, unmountRecordOf(3)],
      },
      changes: {
        mountedVolumes: mountedVolumesOf({ ...known1, pendingUnmount }),
        unmountRecords: [unmountRecordOf(3)],
      },
    },
    {
      name: "an unmount record and another unmount record",
      state: { unmountRecords: [unmountRecordOf(2), unmountRecordOf(3)] },
      changes: { unmountRecords: [unmountRecordOf(3)], droppedUnmountRecords: [first.id] },
    },
  ])("$name are both stored", ({ state, changes }) => {
    expect(changesSince(stored, { ...stored, ...state })).toMatchObject(changes);
  });
});

describe("changesSince: an unmount record", () => {
  it.each([
    {
      name: "that is new",
      unmountRecords: [...stored.unmountRecords, unmountRecordOf(3)],
      reported: [unmountRecordOf(3)],
    },
    {
      name: "of which the end is another",
      unmountRecords: [{ ...first, by: 31 }, unmountRecordOf(2)],
      reported: [{ ...first, by: 31 }],
    },
    {
      name: "of which the begin is another",
      unmountRecords: [{ ...first, after: 21 }, unmountRecordOf(2)],
      reported: [{ ...first, after: 21 }],
    },
  ])("$name is on the disk before it is reported", ({ unmountRecords, reported }) => {
    expect(changesSince(stored, { ...stored, unmountRecords })).toEqual({
      mountedVolumes: new Map(),
      ...{ unmountRecords: reported, droppedMountedVolumes: [], droppedUnmountRecords: [], isLasting: true },
    });
  });

  it("that is acknowledged is dropped, which need not wait for the disk", () => {
    expect(changesSince(stored, { ...stored, unmountRecords: [unmountRecordOf(2)] })).toEqual({
      mountedVolumes: new Map(),
      ...{ unmountRecords: [], droppedMountedVolumes: [], droppedUnmountRecords: [first.id], isLasting: false },
    });
  });

  it("takes the place of an acknowledged one, and of a mounted volume", () => {
    const changes = changesSince(stored, {
      ...stored,
      mountedVolumes: mountedVolumesOf(knownMountedVolume(2)),
      unmountRecords: [first, unmountRecordOf(3)],
    });

    expect(changes).toMatchObject({
      droppedMountedVolumes: ["pod/u1/name/pv-1"],
      droppedUnmountRecords: [unmountRecordOf(2).id],
    });
    expect(changes?.unmountRecords).toEqual([unmountRecordOf(3)]);
  });
});

describe("changesSince: the basis of a report is stored", () => {
  const agentGaps = [{ to: 11 }, { from: 14, to: 15 }];

  it.each<{ readonly name: string; readonly before?: Partial<NodeState>; readonly change: Partial<NodeState> }>([
    { name: "when the node has booted", change: { bootId: "boot-2" } },
    { name: "when the stamps are of another clock", change: { clock: "monotonic" } },
    { name: "when another run writes it", change: { run: "run-2" } },
    { name: "when there is another gap", change: { agentGaps } },
    { name: "when the last gap is another", before: { agentGaps }, change: { agentGaps: [{ to: 11 }, { to: 16 }] } },
    { name: "when many gaps became fewer", before: { agentGaps }, change: { agentGaps: [{ to: 15 }] } },
    { name: "once the stamp interval has passed", change: { scan: { beganAt: 20, endedAt: 21 + STAMP_EVERY_MS } } },
    {
      name: "when the first complete scan comes late",
      before: { scan: undefined },
      change: { scan: { beganAt: 20, endedAt: STAMP_EVERY_MS } },
    },
  ])("$name", ({ before, change }) => {
    const changes = changesSince({ ...stored, ...before }, { ...stored, ...before, ...change });

    expect(changes).toEqual({
      mountedVolumes: new Map(),
      ...{ unmountRecords: [], droppedMountedVolumes: [], droppedUnmountRecords: [], isLasting: false },
    });
  });

  it("a stamp every minute", () => {
    expect(STAMP_EVERY_MS).toBe(60_000);
  });
});
