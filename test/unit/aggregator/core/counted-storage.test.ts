import { describe, expect, it } from "vitest";
import { countedClaim, countedVolume } from "../../../../aggregator/core/counted-storage.ts";
import { claimWith, mountedStatus, NOON, statusWith, volumeWith } from "../world.ts";

const GI = 2 ** 30;
const since = { ms: NOON, from: "api" } as const;

describe("a volume counts", () => {
  const kind = { phase: "Bound", storageClass: "fast", reclaimPolicy: "Delete" };
  const counted = { kind, bytes: 10 * GI, sinceMs: undefined };
  const released = { ...counted, kind: { ...kind, phase: "Released" }, sinceMs: NOON };
  const other = { ...released, kind: { ...kind, phase: "other" } };
  const wordless = { ...counted, kind: { ...kind, storageClass: "", reclaimPolicy: "other" } };
  const unclassed = { storageClass: undefined, reclaimPolicy: undefined };

  it.each([
    { name: "by phase, class and policy, with its capacity", volume: {}, is: counted },
    { name: "with its age where it is not Bound", volume: { phase: "Released" }, is: released },
    { name: "with empty words where it has none", volume: unclassed, is: wordless },
    { name: "among the others in a phase that nobody knows", volume: { phase: "x".repeat(1_000) }, is: other },
    { name: "no bytes where its capacity is no number", volume: { capacity: "many" }, is: { ...counted, bytes: 0 } },
  ])("$name", ({ volume, is }) => {
    expect(countedVolume(volumeWith(volume), since)).toEqual(is);
  });
});

describe("a claim counts", () => {
  const unused = statusWith({ unused: true, reason: "Unmounted", sinceMs: NOON - 1_000 });
  const unbound = { phase: "Pending", capacity: undefined, storageClass: undefined };
  const bound = (state: string) => ({ phase: "Bound", state, storageClass: "fast" });
  const pending = { phase: "Pending", state: "NotBound", storageClass: "" };

  it.each([
    { name: "as unused since it is so", claim: { status: unused }, kind: bound("Unused"), sinceMs: NOON - 1_000 },
    { name: "as mounted, and of no age", claim: { status: mountedStatus(["n1"]) }, kind: bound("Mounted") },
    { name: "as not watched where nothing was written of it", claim: {}, kind: bound("NotWatched") },
    { name: "as not bound", claim: unbound, kind: pending, bytes: 0 },
  ])("$name", ({ claim, kind, bytes = 10 * GI, sinceMs }) => {
    expect(countedClaim(claimWith(claim))).toEqual({ kind, bytes, sinceMs });
  });
});
