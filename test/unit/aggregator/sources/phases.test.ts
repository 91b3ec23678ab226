import { describe, expect, it } from "vitest";
import { observePhases } from "../../../../aggregator/sources/volumes.ts";
import { isNoAnswer } from "../../../../common/storage/phase-since.ts";
import { NOON, volumeWith } from "../world.ts";

/** What a collection shows: a phase, and what the API says since when; nothing where the volume is gone. */
type Shown = readonly [phase: string, apiMs: number | undefined] | undefined;

function objectOf([phase, phaseSinceMs]: NonNullable<Shown>, version: number) {
  return { ...volumeWith({ phase, phaseSinceMs, uid: "uid" }), resourceVersion: String(version) };
}

/** After how many seconds the present phase of what is shown each minute was first seen; nothing where nothing is kept. */
function firstSeen(shown: readonly Shown[]): number | undefined {
  const isUndated = ({ phaseSinceMs }: { readonly phaseSinceMs: number | undefined }, nowMs: number): boolean =>
    isNoAnswer(phaseSinceMs, nowMs);
  const observations = observePhases<ReturnType<typeof objectOf>>(isUndated);
  let previous: ReturnType<typeof objectOf> | undefined;
  for (const [minute, one] of shown.entries()) {
    const object = one && objectOf(one, minute);
    const nowMs = NOON + minute * 60_000;
    if (object) observations.note(previous ? { kind: "updated", object, previous } : { kind: "added", object }, nowMs);
    else if (previous) observations.note({ kind: "deleted", object: previous, previous, gone: "9" }, nowMs);
    previous = object;
  }
  const seenMs = observations.firstSeenMs("uid");
  return seenMs && (seenMs - NOON) / 1_000;
}

describe("a phase is first seen", () => {
  const dated: Shown = ["Released", NOON - 60_000];
  const undated: Shown = ["Released", undefined];
  const ahead: Shown = ["Released", NOON + 10_000];
  it.each<readonly [name: string, shown: readonly Shown[], seconds: number | undefined]>([
    ["never where the API dates it", [dated], undefined],
    ["when it comes without a time", [undated], 0],
    ["when it comes with a time that lies ahead", [ahead], 0],
    ["once, whatever time is written beside it", [undated, ["Released", NOON + 90_000]], 0],
    ["once, although the time that lay ahead has come", [ahead, ahead], 0],
    ["anew when another phase comes", [undated, ["Failed", undefined]], 60],
    ["anew when it comes back", [undated, dated, undated], 120],
    ["no more as soon as the API dates it", [undated, dated], undefined],
    ["no more when the volume is gone", [undated, undefined], undefined],
  ])("%s", (_, shown, seconds) => {
    expect(firstSeen(shown)).toBe(seconds);
  });
});
