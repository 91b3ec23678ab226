import { describe, expect, it } from "vitest";
import { changesSince, STAMP_EVERY_MS } from "../../../../agent/core/journal-changes.ts";
import type { KnownHold, NodeState } from "../../../../agent/core/node-state.ts";
import { holdsOf, knownHold, nodeState, releaseOf } from "../../../fakes/node-states.ts";

const pendingUnmount = { by: 19, podVersion: "7", isAnomaly: false };
const first = releaseOf(1);
const stored = nodeState({ holds: holdsOf(knownHold(1), knownHold(2)), releases: [first, releaseOf(2)] });

describe("changesSince: the first time", () => {
  it("stores everything there is", () => {
    expect(changesSince(undefined, stored)).toEqual({
      ...{ holds: stored.holds, releases: stored.releases },
      ...{ droppedHolds: [], droppedReleases: [], isLasting: true },
    });
  });

  it("stores a state that knows nothing yet, too, and waits for the disk: that there was one tells an old machine from a new one", () => {
    expect(changesSince(undefined, nodeState())).toMatchObject({ isLasting: true });
  });
});

describe("changesSince: nothing is worth a write", () => {
  it.each<{ readonly name: string; readonly change: Partial<NodeState> }>([
    { name: "when nothing has changed", change: {} },
    { name: "for what only this run knows", change: { sight: "broken", podsResourceVersion: "9", generation: 8 } },
    {
      name: "for a later look at the same holds",
      change: { holds: holdsOf(knownHold(1, { seenAt: 900 }), knownHold(2)), read: { beganAt: 900, endedAt: 901 } },
    },
    {
      name: "for a last read that is a stamp's time away, less a millisecond",
      change: { read: { beganAt: 20, endedAt: 21 + STAMP_EVERY_MS - 1 } },
    },
  ])("$name", ({ change }) => {
    expect(changesSince(stored, { ...stored, ...change })).toBeUndefined();
  });
});

describe("changesSince: a hold", () => {
  it.each<{ readonly name: string; readonly hold: Partial<KnownHold>; readonly before?: Partial<KnownHold> }>([
    { name: "whose pod is known now", before: { pod: undefined }, hold: {} },
    { name: "that is mounted elsewhere", hold: { mountPoint: "/elsewhere" } },
    { name: "of another device", hold: { device: "8:2" } },
    { name: "that began anew", hold: { since: 12 } },
    { name: "that a complete read has shown now", before: { proven: false }, hold: {} },
    { name: "that nobody is known to use", hold: { leakedSince: 20 } },
    { name: "that is a pending unmount", hold: { pendingUnmount } },
    { name: "that is back", before: { pendingUnmount }, hold: {} },
    {
      name: "that ended later than was thought",
      before: { pendingUnmount },
      hold: { pendingUnmount: { ...pendingUnmount, by: 20 } },
    },
    {
      name: "whose pod has been listed",
      before: { pendingUnmount: { ...pendingUnmount, podVersion: undefined } },
      hold: { pendingUnmount },
    },
    {
      name: "that turns out to be an anomaly",
      before: { pendingUnmount },
      hold: { pendingUnmount: { ...pendingUnmount, isAnomaly: true } },
    },
  ])("$name is stored anew, alone, and need not wait for the disk", ({ before, hold }) => {
    const known = { ...stored, holds: holdsOf(knownHold(1, before), knownHold(2)) };

    const changes = changesSince(known, { ...stored, holds: holdsOf(knownHold(1, hold), knownHold(2)) });

    expect(changes).toEqual({
      holds: holdsOf(knownHold(1, hold)),
      ...{ releases: [], droppedHolds: [], droppedReleases: [], isLasting: false },
    });
  });

  it("that is new is on the disk before it is told", () => {
    const changes = changesSince(stored, { ...stored, holds: holdsOf(knownHold(1), knownHold(2), knownHold(3)) });

    expect(changes).toMatchObject({ holds: holdsOf(knownHold(3)), droppedHolds: [], isLasting: true });
  });

  it("that is new is on the disk before it is told, though another one only changed", () => {
    const holds = holdsOf(knownHold(1, { leakedSince: 20 }), knownHold(2), knownHold(3));

    expect(changesSince(stored, { ...stored, holds })).toMatchObject({ isLasting: true });
  });

  it("that is gone is dropped", () => {
    const changes = changesSince(stored, { ...stored, holds: holdsOf(knownHold(2)) });

    expect(changes).toEqual({
      holds: new Map(),
      ...{ releases: [], droppedHolds: ["pod/u1/name/pv-1"], droppedReleases: [], isLasting: false },
    });
  });
});

describe("changesSince: one thing comes as another goes", () => {
  const [known1, known2, known3] = [knownHold(1), knownHold(2), knownHold(3)];

  it.each<{ readonly name: string; readonly state: Partial<NodeState>; readonly changes: object }>([
    {
      name: "a hold and another hold",
      state: { holds: holdsOf(known2, known3) },
      changes: { holds: holdsOf(known3), droppedHolds: ["pod/u1/name/pv-1"] },
    },
    {
      name: "a hold and a release",
      state: { holds: holdsOf(known1, known2, known3), releases: [releaseOf(2)] },
      changes: { holds: holdsOf(known3), droppedReleases: [first.id] },
    },
    {
      name: "a hold that is a pending unmount and a release that is told",
      state: {
        holds: holdsOf({ ...known1, pendingUnmount }, known2),
        releases: [...stored.releases, releaseOf(3)],
      },
      changes: { holds: holdsOf({ ...known1, pendingUnmount }), releases: [releaseOf(3)] },
    },
    {
      name: "a release and another release",
      state: { releases: [releaseOf(2), releaseOf(3)] },
      changes: { releases: [releaseOf(3)], droppedReleases: [first.id] },
    },
  ])("$name are both stored", ({ state, changes }) => {
    expect(changesSince(stored, { ...stored, ...state })).toMatchObject(changes);
  });
});

describe("changesSince: a release", () => {
  it.each([
    { name: "that is new", releases: [...stored.releases, releaseOf(3)], told: [releaseOf(3)] },
    {
      name: "of which the end is another",
      releases: [{ ...first, by: 31 }, releaseOf(2)],
      told: [{ ...first, by: 31 }],
    },
    {
      name: "of which the begin is another",
      releases: [{ ...first, after: 21 }, releaseOf(2)],
      told: [{ ...first, after: 21 }],
    },
  ])("$name is on the disk before it is told", ({ releases, told }) => {
    expect(changesSince(stored, { ...stored, releases })).toEqual({
      holds: new Map(),
      ...{ releases: told, droppedHolds: [], droppedReleases: [], isLasting: true },
    });
  });

  it("that is settled is dropped, which need not wait for the disk", () => {
    expect(changesSince(stored, { ...stored, releases: [releaseOf(2)] })).toEqual({
      holds: new Map(),
      ...{ releases: [], droppedHolds: [], droppedReleases: [first.id], isLasting: false },
    });
  });

  it("takes the place of one that is settled, and of a hold", () => {
    const changes = changesSince(stored, { ...stored, holds: holdsOf(knownHold(2)), releases: [first, releaseOf(3)] });

    expect(changes).toMatchObject({ droppedHolds: ["pod/u1/name/pv-1"], droppedReleases: [releaseOf(2).id] });
    expect(changes?.releases).toEqual([releaseOf(3)]);
  });
});

describe("changesSince: what stands behind all of it is stored", () => {
  const blind = [{ to: 11 }, { from: 14, to: 15 }];

  it.each<{ readonly name: string; readonly before?: Partial<NodeState>; readonly change: Partial<NodeState> }>([
    { name: "when the node has booted", change: { bootId: "boot-2" } },
    { name: "when the stamps are of another clock", change: { clock: "monotonic" } },
    { name: "when another run knows it", change: { run: "run-2" } },
    { name: "when there is another blind span", change: { blind } },
    { name: "when the last blind span is another", before: { blind }, change: { blind: [{ to: 11 }, { to: 16 }] } },
    { name: "when many blind spans became fewer", before: { blind }, change: { blind: [{ to: 15 }] } },
    { name: "once a stamp's time has passed", change: { read: { beganAt: 20, endedAt: 21 + STAMP_EVERY_MS } } },
    {
      name: "when the first complete read comes late",
      before: { read: undefined },
      change: { read: { beganAt: 20, endedAt: STAMP_EVERY_MS } },
    },
  ])("$name", ({ before, change }) => {
    const changes = changesSince({ ...stored, ...before }, { ...stored, ...before, ...change });

    expect(changes).toEqual({
      holds: new Map(),
      ...{ releases: [], droppedHolds: [], droppedReleases: [], isLasting: false },
    });
  });

  it("a stamp every minute", () => {
    expect(STAMP_EVERY_MS).toBe(60_000);
  });
});
