import { describe, expect, it } from "vitest";
import { filterVolumes, sortVolumes, type VolumeFilter, type VolumeView } from "../../../cli/volume-view.ts";
import { volumeOfHours } from "./volumes.ts";

const ALL: VolumeFilter = { phases: [], classes: [], policies: [] };

describe("filterVolumes", () => {
  it.each([
    { name: "everything where nothing is named", filter: {}, found: true },
    { name: "one of the phases", filter: { phases: ["Failed", "Released"] }, found: true },
    { name: "no other phase", filter: { phases: ["Bound"] }, found: false },
    { name: "the class and the policy", filter: { classes: ["fast"], policies: ["Retain"] }, found: true },
    { name: "nothing that only the class fits", filter: { classes: ["fast"], policies: ["Delete"] }, found: false },
  ])("finds $name", ({ filter, found }) => {
    expect(filterVolumes([volumeOfHours(1)], { ...ALL, ...filter })).toHaveLength(found ? 1 : 0);
  });

  it("finds no volume without a class by its class", () => {
    const volumes = [volumeOfHours(1, { storageClass: undefined })];

    expect(filterVolumes(volumes, { ...ALL, classes: ["fast"] })).toEqual([]);
  });
});

describe("sortVolumes", () => {
  it("has what asks for a decision on top, the oldest first, and what is bound last", () => {
    const named = (name: string, hours: number, change: Partial<VolumeView>): VolumeView =>
      volumeOfHours(hours, { name, ...change });
    const volumes = [
      named("b", 900, { phase: "Bound" }),
      named("odd", 5, { phase: "Odd" }),
      named("undated", 0, { since: undefined }),
      named("young", 1, {}),
      named("old", 800, {}),
      named("also-undated", 0, { since: undefined }),
      named("failed", 2, { phase: "Failed" }),
      named("free", 5, { phase: "Available" }),
    ];

    expect(sortVolumes(volumes).map(({ name }) => name)).toEqual([
      ...["failed", "old", "young", "also-undated", "undated", "free", "odd", "b"],
    ]);
  });
});
