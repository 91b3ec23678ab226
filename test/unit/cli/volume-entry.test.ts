import { describe, expect, it } from "vitest";
import type { EntryLookup } from "../../../aggregator/core/api/list-entries.ts";
import { volumeEntryOf } from "../../../aggregator/core/api/list-entries.ts";
import { readVolumeEntry } from "../../../cli/volume-entry.ts";
import { volumeWith } from "../aggregator/world.ts";
import { NOW_MS } from "./claims.ts";

const WORDS: EntryLookup = {
  agentStates: { of: () => ({ kind: "Reporting" }) },
  fleet: { view: () => ({}) },
  cluster: { podByUid: () => ({ key: "shop/web-0" }), isPodThere: () => true },
};

/** An entry as the aggregator makes it. */
function entry(): object {
  const sight = {
    volume: volumeWith({ phase: "Released" }),
    phaseSince: { ms: NOW_MS, from: "first-seen" },
    use: { used: [{ node: "n1", pods: [] }], staged: ["n2"] },
    references: [],
    attached: ["n3"],
    idleSince: () => undefined,
    nowMs: NOW_MS,
  } as const;
  return JSON.parse(JSON.stringify(volumeEntryOf(sight, WORDS)));
}

describe("readVolumeEntry", () => {
  it("reads what the aggregator answers", () => {
    expect(readVolumeEntry(entry())).toEqual({
      ...{ name: "pv-1", uid: "volume-1", phase: "Released", since: { ms: NOW_MS, from: "first-seen" } },
      ...{ storageClass: "fast", capacity: "10Gi", reclaimPolicy: "Delete", driver: undefined },
      claim: { namespace: "shop", name: "data", uid: "claim-1" },
      ...{ mountedOn: { items: ["n1"], omitted: 0 }, stagedOn: { items: ["n2"], omitted: 0 } },
      ...{ attachedTo: { items: ["n3"], omitted: 0 }, lastUse: undefined },
    });
  });

  it.each([
    { name: "an entry of something else", line: { namespace: "shop", name: "a" } },
    { name: "the end of a list", line: { complete: true, entries: 1 } },
    { name: "no object", line: [] },
  ])("does not take $name for an entry", ({ line }) => {
    expect(readVolumeEntry(line)).toBeUndefined();
  });
});
