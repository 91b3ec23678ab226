import { expect, it } from "vitest";
import { ClaimStates } from "../../../../aggregator/claims/state.ts";
import { FleetState } from "../../../../aggregator/nodes/fleet-state.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { claim as listed, seen } from "../sources/cluster-scene.ts";
import { claimWith } from "../world.ts";

const nothing = (): undefined => undefined;

it.each([
  { name: "is kept until the watch shows it", objects: [listed()], kept: 1 },
  { name: "leaves nothing behind where the claim has gone before the answer came", objects: [], kept: 0 },
  { name: "leaves nothing behind where another claim has its name", objects: [listed({ uid: "claim-2" })], kept: 0 },
])("what our last write left of a claim $name", async ({ objects, kept }) => {
  const { cluster } = await seen(objects, []);
  const fleet = new FleetState(createFakeClock());
  const ends = { of: () => [], isOpen: () => false, isIncluded: () => false };
  const states = new ClaimStates(
    { cluster, fleet, ends },
    { viewOf: nothing, agentStateOf: () => "Reporting", assumedEnd: nothing },
  );

  states.noteWritten(claimWith());

  expect(states.size).toBe(kept);
});
