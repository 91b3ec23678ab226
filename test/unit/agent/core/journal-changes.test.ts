import { describe, expect, it } from "vitest";
import { changesSince, STAMP_EVERY_MS } from "../../../../agent/core/journal-changes.ts";
import type { NodeState } from "../../../../agent/core/node-state.ts";
import { holdsOf, knownHold, nodeState, releaseOf } from "../../../fakes/node-states.ts";

const SUSPENDED = { by: 21, podVersion: "7", isAnomaly: false };
const STORED = nodeState({ holds: holdsOf(knownHold(1), knownHold(2)), releases: [releaseOf(3)] });

interface Written {
  readonly puts: number;
  readonly drops: number;
  readonly isLasting: boolean;
}

function written(stored: NodeState | undefined, state: NodeState): Written | undefined {
  const changes = changesSince(stored, state);
  if (changes === undefined) return undefined;
  const { holds, releases, droppedHolds, droppedReleases, isLasting } = changes;
  return { puts: holds.size + releases.length, drops: droppedHolds.length + droppedReleases.length, isLasting };
}

describe("changesSince", () => {
  it.each<{ readonly name: string; readonly fields: Partial<NodeState>; readonly is: Written | undefined }>([
    { name: "nothing when nothing changed", fields: {}, is: undefined },
    { name: "nothing for a later generation alone", fields: { generation: 9 }, is: undefined },
    {
      name: "nothing for a read that is not yet a minute later",
      fields: { read: { beganAt: 30, endedAt: 20 + STAMP_EVERY_MS } },
      is: undefined,
    },
    {
      name: "the head for a read that is",
      fields: { read: { beganAt: 30, endedAt: 21 + STAMP_EVERY_MS } },
      is: { puts: 0, drops: 0, isLasting: false },
    },
    {
      name: "nothing for a hold's later sight",
      fields: { holds: holdsOf(knownHold(1, { seenAt: 99 }), knownHold(2)) },
      is: undefined,
    },
    {
      name: "a new hold, which must outlive a loss of power",
      fields: { holds: holdsOf(knownHold(1), knownHold(2), knownHold(4)) },
      is: { puts: 1, drops: 0, isLasting: true },
    },
    {
      name: "a release, which must, too, and that the hold is gone",
      fields: { holds: holdsOf(knownHold(1)), releases: [releaseOf(3), releaseOf(2)] },
      is: { puts: 1, drops: 1, isLasting: true },
    },
    { name: "that a release is settled", fields: { releases: [] }, is: { puts: 0, drops: 1, isLasting: false } },
    {
      name: "a release that is dated anew",
      fields: { releases: [releaseOf(3, 30, { by: 31 })] },
      is: { puts: 1, drops: 0, isLasting: true },
    },
    {
      name: "that a hold is suspended, which means nothing in another boot",
      fields: { holds: holdsOf(knownHold(1, { suspended: SUSPENDED }), knownHold(2)) },
      is: { puts: 1, drops: 0, isLasting: false },
    },
    {
      name: "that a hold is proven",
      fields: { holds: holdsOf(knownHold(1, { proven: false }), knownHold(2)) },
      is: { puts: 1, drops: 0, isLasting: false },
    },
    {
      name: "the name of a pod that was not known before",
      fields: { holds: holdsOf(knownHold(1, { pod: "team/other" }), knownHold(2)) },
      is: { puts: 1, drops: 0, isLasting: false },
    },
    {
      name: "another blind span",
      fields: { blind: [{ to: 11 }, { from: 12, to: 21 }] },
      is: { puts: 0, drops: 0, isLasting: false },
    },
    { name: "whose run it is", fields: { run: "run-2" }, is: { puts: 0, drops: 0, isLasting: false } },
  ])("writes $name", ({ fields, is }) => {
    expect(written(STORED, { ...STORED, ...fields })).toEqual(is);
  });

  it("writes everything where nothing is stored, and a head where there is nothing", () => {
    expect(written(undefined, STORED)).toEqual({ puts: 3, drops: 0, isLasting: true });
    expect(written(undefined, nodeState())).toEqual({ puts: 0, drops: 0, isLasting: false });
  });
});
