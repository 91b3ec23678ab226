import { describe, expect, it } from "vitest";
import { claimPhaseSince } from "../../../../aggregator/core/claim-phase.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import { claimWith, NOON, volumeWith } from "../world.ts";

const DAY_MS = 86_400_000;
const CREATED = NOON - 10 * DAY_MS;

type Parts = Parameters<typeof claimPhaseSince>[1];
type Since = ReturnType<typeof claimPhaseSince>;
const created: Since = { ms: CREATED, from: "created" };
const ofApi: Since = { ms: NOON, from: "api" };
const seen: Since = { ms: NOON, from: "first-seen" };

describe("claimPhaseSince", () => {
  const volume = volumeWith();
  const tooOld: Since = { ms: CREATED - DAY_MS, from: "api" };
  const available = volumeWith({ phase: "Available" });

  it.each<readonly [name: string, claim: Partial<Claim>, parts: Partial<Parts>, since: Since]>([
    ["a Pending claim is so since its creation", { phase: "Pending" }, {}, created],
    ["a Bound claim is so since its volume is", {}, { volume, volumeSince: ofApi }, ofApi],
    ["a Bound claim is not older than itself", {}, { volume, volumeSince: tooOld }, created],
    ["a Bound claim has the first sight of its volume", {}, { volume, volumeSince: seen }, seen],
    ["one says nothing where its volume is not bound yet", {}, { volume: available, volumeSince: ofApi }, undefined],
    ["one says nothing of an earlier claim's", { uid: "claim-2" }, { volume, volumeSince: ofApi }, undefined],
    ["one says nothing where its volume is not known", {}, {}, undefined],
    ["a Lost claim is so at least since that was seen", { phase: "Lost" }, { firstSeenMs: NOON }, seen],
    ["a phase that nobody knows says nothing", { phase: "Odd" }, {}, undefined],
  ])("%s", (...[, claim, parts, since]) => {
    const none = { volume: undefined, volumeSince: undefined, firstSeenMs: undefined };

    expect(claimPhaseSince(claimWith({ createdAtMs: CREATED, ...claim }), { ...none, ...parts })).toEqual(since);
  });
});
