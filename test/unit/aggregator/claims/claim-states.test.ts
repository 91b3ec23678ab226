import { expect, it } from "vitest";
import { ClaimStates } from "../../../../aggregator/claims/state.ts";
import type { EndedPod } from "../../../../aggregator/core/cluster-objects.ts";
import { FleetState } from "../../../../aggregator/nodes/fleet-state.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { ended } from "../core/evidence.ts";
import { claim as listed, seen } from "../sources/cluster-scene.ts";
import { claimWith, NOON } from "../world.ts";

const nothing = (): undefined => undefined;
const AT_REST = { kind: "Reporting", why: "" } as const;

/** Of a cluster with these objects; the pod has ended where one is given. */
async function statesWith(objects: Parameters<typeof seen>[0], over?: EndedPod) {
  const { cluster } = await seen(objects, []);
  const fleet = new FleetState(createFakeClock());
  const ends = { of: () => (over === undefined ? [] : [over]), isOpen: () => false, isIncluded: () => false };
  const agentStates = { of: () => AT_REST, lookFor: () => AT_REST, assumedEnd: nothing };
  return new ClaimStates({ cluster, fleet, ends, agentStates });
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
  const states = await statesWith([], ended({}, end));

  expect(states.isOpen(claimWith({ createdAtMs: NOON }))).toBe(isOpen);
});

it("nothing is kept of a claim that is gone, also while the node that it waited for does not report", async () => {
  const states = await statesWith([listed()]);
  const pendingNodes = [{ node: "n1", isSilent: true, why: "attached" }] as const;
  for (const key of ["shop/gone", "shop/data"])
    states.noteWaiting(key, { isEligible: true, usedOn: [], references: [], pendingNodes });

  states.forget(claimWith({ key: "shop/gone" }));

  expect([states.blocked, [...states.takeWaiting("n1")]]).toEqual([1, ["shop/data"]]);
});

it.each([
  { name: "it", node: "n1", found: 1 },
  { name: "another node", node: "n2", found: 0 },
])("of a claim that waits for a node the pods that ended on $name are pending there", async ({ node, found }) => {
  const states = await statesWith([listed()], ended({ node }));
  const pendingNodes = [{ node: "n1", isSilent: false, why: "pod-ended" }] as const;

  states.noteWaiting("shop/data", { isEligible: true, usedOn: [], references: [], pendingNodes });

  expect(states.pendingOn("n1")).toHaveLength(found);
});
