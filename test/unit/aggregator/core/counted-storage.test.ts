import { describe, expect, it } from "vitest";
import { countedClaim, countedVolume } from "../../../../aggregator/core/counted-storage.ts";
import { claimWith, mountedStatus, NOON, statusWith, volumeWith } from "../world.ts";

const GI = 2 ** 30;
const since = { ms: NOON, from: "api" } as const;

describe("a volume counts", () => {
  it.each([
    {
      name: "by phase, class and reclaim policy, and since when it is in its phase",
      volume: { phase: "Released" },
      counted: { kind: { phase: "Released", storageClass: "fast", reclaimPolicy: "Delete" }, sinceMs: NOON },
    },
    { name: "without its age while it is Bound", volume: { phase: "Bound" }, counted: { sinceMs: undefined } },
    {
      name: "with empty words where it has none",
      volume: { storageClass: undefined, reclaimPolicy: undefined },
      counted: { kind: { phase: "Bound", storageClass: "", reclaimPolicy: "other" } },
    },
    {
      name: "among the others where its phase is none that Kubernetes knows",
      volume: { phase: "x".repeat(1_000) },
      counted: { kind: { phase: "other", storageClass: "fast", reclaimPolicy: "Delete" } },
    },
    { name: "with its capacity", volume: {}, counted: { bytes: 10 * GI } },
    { name: "with no bytes where its capacity is no number", volume: { capacity: "many" }, counted: { bytes: 0 } },
  ])("$name", ({ volume, counted }) => {
    expect(countedVolume(volumeWith(volume), since)).toMatchObject(counted);
  });
});

describe("a claim counts", () => {
  it.each([
    {
      name: "as unused since its condition says so",
      claim: { status: statusWith({ unused: true, reason: "Unmounted", sinceMs: NOON - 1_000 }) },
      counted: { kind: { phase: "Bound", state: "Unused", storageClass: "fast" }, sinceMs: NOON - 1_000 },
    },
    {
      name: "as mounted, and of no age",
      claim: { status: mountedStatus(["n1"]) },
      counted: { kind: { phase: "Bound", state: "Mounted", storageClass: "fast" }, sinceMs: undefined },
    },
    {
      name: "as not watched where nothing was written of it",
      claim: {},
      counted: { kind: { phase: "Bound", state: "NotWatched", storageClass: "fast" } },
    },
    {
      name: "as not bound",
      claim: { phase: "Pending", capacity: undefined, storageClass: undefined },
      counted: { kind: { phase: "Pending", state: "NotBound", storageClass: "" }, bytes: 0 },
    },
  ])("$name", ({ claim, counted }) => {
    expect(countedClaim(claimWith(claim))).toMatchObject(counted);
  });
});
