import { describe, expect, it } from "vitest";
import type { StoredUse, StoredWords, TrueUse } from "../../crashes/record.ts";
import { isNamed, isTold, untilTold } from "../../crashes/told.ts";
import { createFakeClock } from "../../fakes/clock.ts";

const END_MS = 10_000;
const USE: TrueUse = {
  claim: "data",
  pod: "shop/web",
  podUid: "uid-web",
  node: "node-a",
  askedMs: 4_900,
  mounted: { fromMs: 5_000, toMs: 5_005 },
  unmounted: { fromMs: END_MS, toMs: END_MS + 5 },
  removedMs: END_MS + 50,
};
const BY_WEB: StoredUse = { podUid: "uid-web", releasedAtMs: END_MS + 40, uncertaintyMs: 100 };
const BY_NOBODY: StoredUse = { podUid: undefined, releasedAtMs: END_MS + 40, uncertaintyMs: undefined };
const EARLIER: StoredUse = { podUid: "uid-job", releasedAtMs: END_MS - 3_000, uncertaintyMs: 100 };

function words(unused: boolean, sinceMs: number, lastUse?: StoredUse): StoredWords {
  return { unused, reason: unused ? "Unmounted" : "Mounted", message: "", sinceMs, lastUse };
}

describe("a use that is over", () => {
  it.each([
    { name: "is told and named", stored: words(true, 11_000, BY_WEB), told: true, named: true },
    { name: "is told, by nobody that is known", stored: words(true, 11_000, BY_NOBODY), told: true, named: true },
    { name: "is told before anybody knows of a use", stored: words(true, 14_000), told: true, named: false },
    { name: "is told beside an earlier one", stored: words(true, 14_000, EARLIER), told: true, named: false },
    { name: "is not told by an earlier time", stored: words(true, 9_000, EARLIER), told: false, named: false },
    { name: "is not told where it counts as in use", stored: words(false, 5_000), told: false, named: false },
    { name: "is not told where nothing is", stored: undefined, told: false, named: false },
  ])("$name", ({ stored, told, named }) => {
    expect(isTold(stored, USE)).toBe(told);
    expect(isNamed(stored, USE)).toBe(named);
  });

  it.each([
    { name: "until it is named, where that is later", namedAfterMs: 4_000, waitedMs: 5_000 },
    { name: "not for ever where nobody can name it", namedAfterMs: Number.POSITIVE_INFINITY, waitedMs: 13_000 },
  ])("is awaited $name", async ({ namedAfterMs, waitedMs }) => {
    const clock = createFakeClock();
    const begunAt = clock.monotonicMs();
    const elapsedMs = (): number => clock.monotonicMs() - begunAt;
    // Told a second after the wait began.
    const wordsOf = (): StoredWords | undefined =>
      elapsedMs() < 1_000 ? undefined : words(true, 14_000, elapsedMs() < 1_000 + namedAfterMs ? undefined : BY_WEB);
    let doneMs: number | undefined;

    const waiting = untilTold({ clock, signal: new AbortController().signal }, wordsOf, [USE]).then(() => {
      doneMs = elapsedMs();
    });
    await clock.advance(20_000);
    await waiting;

    expect(doneMs).toBeGreaterThanOrEqual(waitedMs);
    expect(doneMs).toBeLessThan(waitedMs + 100);
  });
});
