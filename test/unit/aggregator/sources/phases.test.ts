import { describe, expect, it } from "vitest";
import { PhaseSights } from "../../../../aggregator/sources/phases.ts";
import { isNoAnswer } from "../../../../common/storage/phase-since.ts";
import { NOON, volumeWith } from "../world.ts";

const FUTURE = NOON + 10_000;

/** What a collection shows at 0 s, 60 s, 120 s and so on: a phase, and what the API says since when; nothing where the volume is gone. */
type Shown = readonly [phase: string, toldMs: number | undefined] | undefined;

/** After how many seconds its present phase was first seen; nothing where the API dates it, or nothing is kept. */
function firstSeen(shown: readonly Shown[]): number | undefined {
  const sights = new PhaseSights<ReturnType<typeof objectOf>>(({ phaseSinceMs }, nowMs) =>
    isNoAnswer(phaseSinceMs, nowMs),
  );
  let previous: ReturnType<typeof objectOf> | undefined;
  for (const [minute, one] of shown.entries()) {
    const object = one && objectOf(one, minute);
    const nowMs = NOON + minute * 60_000;
    if (object === undefined && previous)
      sights.note({ kind: "deleted", object: previous, previous, gone: "9" }, nowMs);
    else if (object && previous) sights.note({ kind: "updated", object, previous }, nowMs);
    else if (object) sights.note({ kind: "added", object }, nowMs);
    previous = object;
  }
  const seenMs = sights.firstSeenMs("uid");
  return seenMs === undefined ? undefined : (seenMs - NOON) / 1_000;
}

function objectOf([phase, phaseSinceMs]: NonNullable<Shown>, version: number) {
  return { ...volumeWith({ phase, phaseSinceMs, uid: "uid" }), resourceVersion: String(version) };
}

describe("a phase is first seen", () => {
  const dated: Shown = ["Released", NOON - 60_000];
  const undated: Shown = ["Released", undefined];
  it.each<{ readonly name: string; readonly shown: readonly Shown[]; readonly seconds: number | undefined }>([
    { name: "never where the API dates it", shown: [dated], seconds: undefined },
    { name: "when it comes without a time", shown: [undated], seconds: 0 },
    { name: "when it comes with a time that lies ahead", shown: [["Released", FUTURE]], seconds: 0 },
    { name: "once, whatever time is written beside it", shown: [undated, ["Released", 2 * FUTURE]], seconds: 0 },
    {
      name: "once, although the time that lay ahead has come",
      shown: [
        ["Released", FUTURE],
        ["Released", FUTURE],
      ],
      seconds: 0,
    },
    { name: "anew when another phase comes", shown: [undated, ["Failed", undefined]], seconds: 60 },
    { name: "anew when it comes back", shown: [undated, dated, undated], seconds: 120 },
    { name: "no more as soon as the API dates it", shown: [undated, dated], seconds: undefined },
    { name: "no more when the volume is gone", shown: [undated, undefined], seconds: undefined },
  ])("$name", ({ shown, seconds }) => {
    expect(firstSeen(shown)).toBe(seconds);
  });
});
