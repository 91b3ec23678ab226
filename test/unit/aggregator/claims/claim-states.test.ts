import { expect, it } from "vitest";
import { ClaimStates } from "../../../../aggregator/claims/state.ts";
import type { EndedPod } from "../../../../aggregator/core/cluster-objects.ts";
import { FleetState } from "../../../../aggregator/nodes/fleet-state.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { ended } from "../core/evidence.ts";
import { claim as listed, seen } from "../sources/cluster-scene.ts";
import { claimWith, NOON } from "../world.ts";

const nothing = (): undefined => undefined;

async function statesWith(objects: Parameters<typeof seen>[0], of: readonly EndedPod[] = []): Promise<ClaimStates> {
  const { cluster } = await seen(objects, []);
  const fleet = new FleetState(createFakeClock());
  const ends = { of: () => of, isOpen: () => false, isIncluded: () => false };
  return new ClaimStates(
    { cluster, fleet, ends },
    { viewOf: nothing, agentStateOf: () => "Reporting", assumedEnd: nothing },
  );
}

it.each([
  { name: "is kept until the watch shows it", objects: [listed()], kept: 1 },
  { name: "leaves nothing behind where the claim has gone before the answer came", objects: [], kept: 0 },
  { name: "leaves nothing behind where another claim has its name", objects: [listed({ uid: "claim-2" })], kept: 0 },
])("what our last write left of a claim $name", async ({ objects, kept }) => {
  const states = await statesWith(objects);

  states.noteWritten(claimWith());

  expect(states.size).toBe(kept);
});

it.each([
  { name: "counts where it was seen after the claim was made", seenAtMs: NOON, claimUids: [], isOpen: true },
  { name: "is an earlier claim's where it was seen before", seenAtMs: NOON - 1, claimUids: ["claim-0"], isOpen: false },
  { name: "counts by a clock that has gone back since", seenAtMs: NOON - 1, claimUids: ["claim-1"], isOpen: true },
])("the end of a pod that names a claim $name", async ({ isOpen, ...end }) => {
  const states = await statesWith([], [ended({}, end)]);

  expect(states.isOpen(claimWith({ createdAtMs: NOON }))).toBe(isOpen);
});
