import { describe, expect, it } from "vitest";
import type { EntryLookup } from "../../../../aggregator/core/entry-parts.ts";
import { type VolumeObservation, volumeEntryOf } from "../../../../aggregator/core/volume-entry.ts";
import { lastUseText } from "../../../../common/storage/claim-status.ts";
import { volumeMarkText } from "../../../../common/storage/volume-annotations.ts";
import { NOON, podWith, volumeWith } from "../world.ts";
import { lastUseWith } from "./decisions.ts";

const MINUTE_MS = 60_000;
const csi = { driver: "csi.example", handleHash: "a".repeat(64) };
const WORDS: EntryLookup = {
  stateOf: (node) => (node === "n9" ? "Stale" : "Reporting"),
  isKnown: () => true,
  podName: () => undefined,
  isPodThere: () => false,
};

function observationOf(fields: Partial<VolumeObservation> = {}): VolumeObservation {
  return {
    volume: volumeWith(),
    use: { held: [], staged: [] },
    references: [],
    attached: [],
    idleSince: () => undefined,
    nowMs: NOON,
    ...fields,
  };
}

function idleFor(minutes: number): Pick<VolumeObservation, "use" | "idleSince"> {
  return { use: { held: [], staged: ["n1"] }, idleSince: () => NOON - minutes * MINUTE_MS };
}

describe("leaked, in a volume's entry", () => {
  it.each(
    // biome-ignore format: a row is a line
    [
      { name: "staged and unused for five minutes", observed: idleFor(5), expected: true },
      { name: "staged and unused for a moment", observed: idleFor(4.9), expected: false },
      { name: "staged, and since when unused is not known", observed: { ...idleFor(5), idleSince: () => undefined }, expected: false },
      { name: "not staged any more", observed: { ...idleFor(5), use: { held: [], staged: [] } }, expected: false },
      { name: "about to be used by a pod there", observed: { ...idleFor(5), references: [podWith({ node: "n1" })] }, expected: false },
      { name: "used by a pod elsewhere", observed: { ...idleFor(5), references: [podWith({ node: "n2" })] }, expected: true },
    ],
  )("is $expected for a volume that is $name", ({ observed, expected }) => {
    expect(volumeEntryOf(observationOf(observed), WORDS).leaked).toBe(expected);
  });
});

/** A list of which nothing is left out. */
const all = (...items: readonly unknown[]) => ({ items, omitted: 0 });

describe("volumeEntryOf", () => {
  it("has everything of a volume that is held, staged and attached", () => {
    const annotations = {
      mountedOn: volumeMarkText("volume-1", ["n9"]),
      lastUse: lastUseText("claim-1", { lastUse: lastUseWith() }),
    };
    const kind = { csi, phase: "Released", reclaimPolicy: "Retain" };
    const volume = volumeWith({ ...kind, annotations });
    const held = [{ node: "n9", pods: [{ uid: "pod-9", name: "shop/old" }] }];
    const phaseSince = { ms: NOON - 1_000, from: "first-seen" } as const;
    const observed = observationOf({
      ...idleFor(7),
      volume,
      phaseSince,
      use: { held, staged: ["n1"] },
      attached: ["n1", "n9"],
    });

    const old = { uid: "pod-9", name: "shop/old", gone: true };
    expect(volumeEntryOf(observed, WORDS)).toEqual({
      ...{ name: "pv-1", uid: "volume-1", phase: "Released" },
      ...{ phaseSince: "2026-09-10T00:26:39Z", phaseSinceFrom: "first-seen" },
      ...{ storageClass: "fast", capacity: "10Gi", reclaimPolicy: "Retain", driver: "csi.example" },
      claim: { namespace: "shop", name: "data", uid: "claim-1" },
      live: {
        mountedOn: all({ node: "n9", state: "Stale", pods: all(old) }),
        stagedOn: all({ node: "n1", state: "Reporting", unusedSince: "2026-09-10T00:19:40.000Z", leaked: true }),
        attachedTo: all("n1", "n9"),
      },
      ...{ leaked: true, stillMounted: true, mountedOn: { nodes: ["n9"], more: false }, blindGap: null },
      lastUse: {
        ...{ release: "release-0", node: "n1", pod: "shop/old", podUid: "pod-0", evidence: "mount-table" },
        ...{ releasedAt: "2026-09-10T00:26:39.000Z", uncertaintyMs: 10 },
      },
    });
  });

  it("has the same fields, with null, of a volume of which nothing is known", () => {
    const unknown = { claim: undefined, storageClass: undefined, capacity: undefined, reclaimPolicy: undefined };

    expect(volumeEntryOf(observationOf({ volume: volumeWith({ ...unknown, phase: "" }) }), WORDS)).toEqual({
      ...{ name: "pv-1", uid: "volume-1", phase: "", phaseSince: null, phaseSinceFrom: null },
      ...{ storageClass: null, capacity: null, reclaimPolicy: null, driver: null, claim: null, leaked: false },
      ...{ stillMounted: false, mountedOn: null, lastUse: null, blindGap: null },
      live: { mountedOn: all(), stagedOn: all(), attachedTo: all() },
    });
  });
});

describe("what stands on a volume of other objects", () => {
  const stranger = { mountedOn: volumeMarkText("other", ["n9"]), lastUse: undefined };
  const earlier = { mountedOn: undefined, lastUse: lastUseText("earlier", { lastUse: lastUseWith() }) };
  it("was last used as its claim says while that is there, whatever its copy says", () => {
    const annotations = { mountedOn: undefined, lastUse: lastUseText("claim-1", { lastUse: lastUseWith() }) };
    const claimUse = { lastUse: lastUseWith({ pod: "shop/newer" }) };

    const { lastUse } = volumeEntryOf(observationOf({ volume: volumeWith({ annotations }), claimUse }), WORDS);

    expect(lastUse).toMatchObject({ pod: "shop/newer" });
  });

  it.each([
    { name: "a mark of another volume", annotations: stranger },
    { name: "an earlier claim's last use", annotations: earlier },
    { name: "what nobody can read", annotations: { mountedOn: "{", lastUse: "[]" } },
  ])("is not told: $name", ({ annotations }) => {
    const entry = volumeEntryOf(observationOf({ volume: volumeWith({ annotations }) }), WORDS);

    expect(entry).toMatchObject({ mountedOn: null, lastUse: null });
  });
});
