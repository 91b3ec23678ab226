import { describe, expect, it } from "vitest";
import { isPublished, untilPublished, wouldBeLost } from "../../crashes/publication.ts";
import type { CrashRecord, TrueUse } from "../../crashes/record.ts";
import { createFakeClock } from "../../fakes/clock.ts";
import type { Published } from "../../judge/published.ts";
import { stored as published, usedLast } from "./stored.ts";

/** The initial wall clock of the fake clock. */
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
const BY_WEB = usedLast({ podUid: "uid-web", endedByMs: END_MS + 40, uncertaintyMs: 100 });
const EARLIER = usedLast({ podUid: "uid-job", endedByMs: END_MS - 30_000, uncertaintyMs: 100 });

/** A record with one use and this published status. */
function recordWith(stored: Published | undefined, isWatched = true): CrashRecord {
  const uptimes = isWatched ? ALWAYS : [];
  return {
    uses: [USE],
    claims: [{ claim: "data", states: stored === undefined ? [] : [{ seenMs: END_MS + 60, published: stored }] }],
    uptimes: { agents: { "node-a": uptimes }, aggregators: uptimes, leaders: uptimes, apiServer: ALWAYS },
    checkpoints: [],
    kills: [],
  };
}

const at = { claim: "data", atMs: BEGIN_MS };

describe("a use that is over", () => {
  it.each([
    {
      name: "is published and named",
      record: recordWith(published(true, END_MS + 40, BY_WEB)),
      isStored: true,
      lost: false,
    },
    {
      name: "is published before it is named",
      record: recordWith(published(true, END_MS + 40)),
      isStored: true,
      lost: true,
    },
    {
      name: "is published with an earlier last use",
      record: recordWith(published(true, END_MS + 40, EARLIER)),
      isStored: true,
      lost: true,
    },
    {
      name: "is not lost without a name where it went unobserved",
      record: recordWith(published(true, END_MS + 40), false),
      isStored: true,
      lost: false,
    },
    {
      name: "is not published by an earlier time",
      record: recordWith(published(true, END_MS - 500, EARLIER)),
      isStored: false,
      lost: true,
    },
    {
      name: "is not published while the claim is in use",
      record: recordWith(published(false, END_MS - 8_000)),
      isStored: false,
      lost: true,
    },
    { name: "is not published without a status", record: recordWith(undefined), isStored: false, lost: true },
  ])("$name", ({ record, isStored, lost }) => {
    expect(isPublished(record, USE)).toBe(isStored);
    expect(wouldBeLost(record, at)).toBe(lost);
  });

  it.each([
    { name: "until it is named, where that is later", isWatched: true, namedAfterMs: 4_000, waitedMs: 5_000 },
    { name: "not for ever where it is never named", isWatched: true, namedAfterMs: 100_000, waitedMs: 13_000 },
    { name: "no longer where it went unobserved", isWatched: false, namedAfterMs: 100_000, waitedMs: 1_000 },
  ])("is awaited $name", async ({ isWatched, namedAfterMs, waitedMs }) => {
    const clock = createFakeClock();
    const elapsedMs = (): number => clock.wallMs() - BEGIN_MS;
    // Published a second after the wait began.
    const record = (): CrashRecord => {
      if (elapsedMs() < 1_000) return recordWith(undefined, isWatched);
      return recordWith(
        published(true, END_MS + 40, elapsedMs() < 1_000 + namedAfterMs ? undefined : BY_WEB),
        isWatched,
      );
    };
    let doneMs: number | undefined;

    const waiting = untilPublished({ owner: { clock, signal: new AbortController().signal }, record }, [USE]).then(
      () => {
        doneMs = elapsedMs();
      },
    );
    await clock.advance(20_000);
    await waiting;

    expect(doneMs).toBeGreaterThanOrEqual(waitedMs);
    expect(doneMs).toBeLessThan(waitedMs + 500);
  });
});
