import { describe, expect, it } from "vitest";
import { claimPhaseSince } from "../../../../aggregator/core/claim-phase.ts";
import { claimWith, NOON, volumeWith } from "../world.ts";

const DAY_MS = 86_400_000;
const CREATED = NOON - 10 * DAY_MS;

describe("claimPhaseSince", () => {
  const volume = volumeWith();
  const ofApi = { ms: NOON, from: "api" } as const;

  it.each(
    // biome-ignore format: a row is a line
    [
      { name: "a Pending claim is so since its creation", claim: { phase: "Pending" }, since: { ms: CREATED, from: "created" } },
      { name: "a Bound claim is so since its volume is", claim: { phase: "Bound" }, of: { volume, volumeSince: ofApi }, since: ofApi },
      {
        name: "a Bound claim is not older than itself, whatever its volume says",
        claim: { phase: "Bound" },
        of: { volume, volumeSince: { ms: CREATED - DAY_MS, from: "api" } as const },
        since: { ms: CREATED, from: "created" },
      },
      {
        name: "a Bound claim has the first sight of its volume",
        claim: { phase: "Bound" },
        of: { volume, volumeSince: { ms: NOON, from: "first-seen" } as const },
        since: { ms: NOON, from: "first-seen" },
      },
      {
        name: "a Bound claim says nothing where its volume is not bound yet",
        claim: { phase: "Bound" },
        of: { volume: volumeWith({ phase: "Available" }), volumeSince: ofApi },
        since: undefined,
      },
      {
        name: "a Bound claim says nothing where its volume is that of an earlier claim of its name",
        claim: { phase: "Bound", uid: "claim-2" },
        of: { volume, volumeSince: ofApi },
        since: undefined,
      },
      { name: "a Bound claim says nothing where its volume is not known", claim: { phase: "Bound" }, since: undefined },
      {
        name: "a Lost claim is so at least since that was seen",
        claim: { phase: "Lost" },
        of: { firstSeenMs: NOON },
        since: { ms: NOON, from: "first-seen" },
      },
      { name: "a phase that nobody knows says nothing", claim: { phase: "Odd" }, since: undefined },
    ],
  )("$name", ({ claim, of, since }) => {
    const parts = { volume: undefined, volumeSince: undefined, firstSeenMs: undefined, ...of };

    expect(claimPhaseSince(claimWith({ createdAtMs: CREATED, ...claim }), parts)).toEqual(since);
  });
});
