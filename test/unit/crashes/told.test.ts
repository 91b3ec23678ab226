import { describe, expect, it } from "vitest";
import type { CrashRecord, TrueUse } from "../../crashes/record.ts";
import { isLost, isTold, untilTold } from "../../crashes/told.ts";
import { createFakeClock } from "../../fakes/clock.ts";
import type { Published } from "../../judge/published.ts";
import { usedLast, stored as words } from "./stored.ts";

/** The wall clock of the fake one begins here. */
const BEGIN_MS = createFakeClock().wallMs();
const END_MS = BEGIN_MS - 1_000;
const USE: TrueUse = {
  claim: "data",
  pod: "shop/web",
  podUid: "uid-web",
  node: "node-a",
  askedMs: END_MS - 9_100,
  mounted: { fromMs: END_MS - 9_000, toMs: END_MS - 8_995 },
  unmounted: { fromMs: END_MS, toMs: END_MS + 5 },
  removedMs: END_MS + 50,
};
const ALWAYS = [{ fromMs: 0, toMs: Number.POSITIVE_INFINITY }];
const BY_WEB = usedLast({ podUid: "uid-web", releasedAtMs: END_MS + 40, uncertaintyMs: 100 });
const EARLIER = usedLast({ podUid: "uid-job", releasedAtMs: END_MS - 30_000, uncertaintyMs: 100 });

/** A record of the one use, where these words have stood since before now. */
function recordWith(stored: Published | undefined, isWatched = true): CrashRecord {
  const lives = isWatched ? ALWAYS : [];
  return {
    uses: [USE],
    claims: [{ claim: "data", states: stored === undefined ? [] : [{ seenMs: END_MS + 60, words: stored }] }],
    lives: { agents: { "node-a": lives }, aggregators: lives, leaders: lives, apiServer: ALWAYS },
    checkpoints: [],
    kills: [],
  };
}

const at = { claim: "data", atMs: BEGIN_MS };

describe("a use that is over", () => {
  it.each([
    { name: "is told and named", record: recordWith(words(true, END_MS + 40, BY_WEB)), told: true, lost: false },
    {
      name: "is told before anybody knows whose it was",
      record: recordWith(words(true, END_MS + 40)),
      told: true,
      lost: true,
    },
    {
      name: "is told beside an earlier one",
      record: recordWith(words(true, END_MS + 40, EARLIER)),
      told: true,
      lost: true,
    },
    {
      name: "is told as well as can be where it went unobserved",
      record: recordWith(words(true, END_MS + 40), false),
      told: true,
      lost: false,
    },
    {
      name: "is not told by an earlier time",
      record: recordWith(words(true, END_MS - 500, EARLIER)),
      told: false,
      lost: true,
    },
    {
      name: "is not told where it counts as in use",
      record: recordWith(words(false, END_MS - 8_000)),
      told: false,
      lost: true,
    },
    { name: "is not told where nothing is", record: recordWith(undefined), told: false, lost: true },
  ])("$name", ({ record, told, lost }) => {
    expect(isTold(record, USE)).toBe(told);
    expect(isLost(record, at)).toBe(lost);
  });

  it.each([
    { name: "until it is named, where that is later", isWatched: true, namedAfterMs: 4_000, waitedMs: 5_000 },
    { name: "not for ever where it is never named", isWatched: true, namedAfterMs: 100_000, waitedMs: 13_000 },
    { name: "no longer where it went unobserved", isWatched: false, namedAfterMs: 100_000, waitedMs: 1_000 },
  ])("is awaited $name", async ({ isWatched, namedAfterMs, waitedMs }) => {
    const clock = createFakeClock();
    const elapsedMs = (): number => clock.wallMs() - BEGIN_MS;
    // Told a second after the wait began.
    const record = (): CrashRecord => {
      if (elapsedMs() < 1_000) return recordWith(undefined, isWatched);
      return recordWith(words(true, END_MS + 40, elapsedMs() < 1_000 + namedAfterMs ? undefined : BY_WEB), isWatched);
    };
    let doneMs: number | undefined;

    const waiting = untilTold({ owner: { clock, signal: new AbortController().signal }, record }, [USE]).then(() => {
      doneMs = elapsedMs();
    });
    await clock.advance(20_000);
    await waiting;

    expect(doneMs).toBeGreaterThanOrEqual(waitedMs);
    expect(doneMs).toBeLessThan(waitedMs + 500);
  });
});
