import { describe, expect, it } from "vitest";
import type { Volume } from "../../../../aggregator/core/cluster-objects.ts";
import { ClaimPhases, VolumePhases } from "../../../../aggregator/sources/phases.ts";
import type { StoreChange } from "../../../../common/kube/store.ts";
import { claimWith, NOON, volumeWith } from "../world.ts";

type StoredVolume = Volume & { readonly resourceVersion: string };

const YEAR_2099 = 4_070_908_800_000;
const CREATED = NOON - 86_400_000;
const MINUTE_MS = 60_000;

function released(phaseSinceMs: number | undefined, fields: Partial<Volume> = {}): StoredVolume {
  const volume = volumeWith({ phase: "Released", phaseSinceMs, createdAtMs: CREATED, ...fields });
  return { ...volume, resourceVersion: "1" };
}

function added(object: StoredVolume): StoreChange<StoredVolume> {
  return { kind: "added", object };
}

function updated(previous: StoredVolume, object: StoredVolume): StoreChange<StoredVolume> {
  return { kind: "updated", previous, object };
}

describe("VolumePhases", () => {
  it.each([
    { name: "of 2099", toldMs: YEAR_2099 },
    { name: "that is missing", toldMs: undefined },
  ])("a time $name is replaced by the first sight", ({ toldMs }) => {
    const phases = new VolumePhases();
    phases.note(added(released(toldMs)), NOON);

    expect(phases.since(released(toldMs))).toEqual({ ms: NOON, from: "first-seen" });
  });

  it("the first sight stays while the phase does, whatever is written beside it", () => {
    const phases = new VolumePhases();
    const [first, second] = [released(YEAR_2099), released(YEAR_2099 + 1_000)];
    phases.note(added(first), NOON);
    phases.note(updated(first, second), NOON + MINUTE_MS);

    expect(phases.since(second)).toEqual({ ms: NOON, from: "first-seen" });
  });

  it("a time that lay ahead is not believed once it has come", () => {
    const phases = new VolumePhases();
    const [first, later] = [released(NOON + 10_000), released(NOON + 10_000, { capacity: "20Gi" })];
    phases.note(added(first), NOON);
    phases.note(updated(first, later), NOON + MINUTE_MS);

    expect(phases.since(later)).toEqual({ ms: NOON, from: "first-seen" });
  });

  it("another phase is seen first when it comes", () => {
    const phases = new VolumePhases();
    const [first, failed] = [released(undefined), released(undefined, { phase: "Failed" })];
    phases.note(added(first), NOON);
    phases.note(updated(first, failed), NOON + MINUTE_MS);

    expect(phases.since(failed)).toEqual({ ms: NOON + MINUTE_MS, from: "first-seen" });
  });

  it("the API server's time counts as soon as it is an answer", () => {
    const phases = new VolumePhases();
    const [odd, right] = [released(YEAR_2099), released(NOON - MINUTE_MS)];
    phases.note(added(odd), NOON);
    phases.note(updated(odd, right), NOON + MINUTE_MS);

    expect(phases.since(right)).toEqual({ ms: NOON - MINUTE_MS, from: "api" });
  });

  it("a process that starts later sees it later: no age is ever longer than the truth", () => {
    const truth = NOON - MINUTE_MS;
    const sightOf = (startedAtMs: number): number | undefined => {
      const phases = new VolumePhases();
      phases.note(added(released(YEAR_2099)), startedAtMs);
      return phases.since(released(YEAR_2099))?.ms;
    };

    const [first, again] = [sightOf(NOON) ?? 0, sightOf(NOON + MINUTE_MS) ?? 0];

    expect([first >= truth, again >= first]).toEqual([true, true]);
  });

  it("nothing is kept of a volume that is gone", () => {
    const phases = new VolumePhases();
    const odd = released(YEAR_2099);
    phases.note(added(odd), NOON);
    phases.note({ kind: "deleted", object: odd, previous: odd, gone: "2" }, NOON);

    expect(phases.kept).toBe(0);
  });
});

describe("ClaimPhases", () => {
  const nothing = { volume: undefined, volumeSince: undefined };
  const lost = claimWith({ phase: "Lost", createdAtMs: CREATED });

  it("a claim is Lost since that was first seen, and no longer once it is bound again", () => {
    const phases = new ClaimPhases();
    phases.note({ kind: "added", object: lost }, NOON);
    phases.note({ kind: "updated", previous: lost, object: lost }, NOON + MINUTE_MS);
    const seen = phases.since(lost, nothing);
    phases.note({ kind: "updated", previous: lost, object: claimWith() }, NOON + MINUTE_MS);

    expect([seen, phases.kept]).toEqual([{ ms: NOON, from: "first-seen" }, 0]);
  });

  it("nothing is kept of a claim that is gone", () => {
    const phases = new ClaimPhases();
    phases.note({ kind: "added", object: lost }, NOON);
    phases.note({ kind: "deleted", object: lost, previous: lost, gone: "2" }, NOON);

    expect(phases.kept).toBe(0);
  });
});
