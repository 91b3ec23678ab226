import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { notBefore, type Unobserved } from "../../../../aggregator/core/claim-gap.ts";
import type { ClaimFacts } from "../../../../aggregator/core/claim-status.ts";
import { isSameStatus } from "../../../../aggregator/core/claim-write.ts";
import type { UnobservedTime } from "../../../../aggregator/core/watch-gap.ts";
import { type ClaimStatus, readClaimStatus, writeClaimStatus } from "../../../../common/storage/claim-status.ts";
import { mountedStatus, NOON, statusWith } from "../world.ts";
import { endWith, factsWith, lastUseWith, NOW, newsOf } from "./decisions.ts";

const MIN = 60_000;
const IDLE = statusWith({
  unused: true,
  reason: "Unmounted",
  message:
    "Last used by pod shop/old on node n1; its volume was unmounted between 00:26:38 and 00:26:39 UTC on 2026-09-10, read from the node's mount table",
  lastUse: lastUseWith(),
});
const NEVER = statusWith({ unused: true, reason: "NeverObservedInUse", message: "Never seen" });

/** Minutes past noon. */
function time(from: number, to: number, fields: Partial<UnobservedTime> = {}): UnobservedTime {
  const [fromMs, toMs] = [NOON + from * MIN, NOON + to * MIN];
  return { fromMs, toMs, isBefore: false, ...fields };
}

function unseenIn(...times: readonly UnobservedTime[]): Unobserved {
  return { times };
}

function gapOf(from: number, to: number) {
  return { fromMs: NOON + from * MIN, toMs: NOON + to * MIN };
}

/** What is stored after a decision was written, with its rounding. */
function write(status: ClaimStatus | undefined): ClaimStatus {
  const read = status && readClaimStatus({ uid: "claim-1", ...writeClaimStatus("claim-1", status) });
  if (read === undefined) throw new Error("nothing is written, or it cannot be read");
  return read;
}

function decide(stored: ClaimStatus | undefined, unobserved: Unobserved, fields: Partial<ClaimFacts> = {}) {
  return newsOf(factsWith({ stored, unobserved, ...fields }));
}

describe("a gap of which nodes have still to tell", () => {
  const open: Unobserved = { times: [], openUntilMs: NOON + 3 * MIN };
  const inUse = mountedStatus(["n1"]);

  it.each(
    // biome-ignore format: a row is a line
    [
      { name: "a claim in use stays so when its use ended before the end of the gap", stored: inUse, byMs: NOON + MIN, told: undefined },
      { name: "a later end of an idle claim waits", stored: IDLE, byMs: NOON + MIN, told: undefined },
      { name: "a use that ended after it is told", stored: inUse, byMs: NOON + 4 * MIN, told: NOON + 4 * MIN },
    ],
  )("$name", ({ stored, byMs, told }) => {
    const status = decide(stored, open, { ends: [endWith({ byMs })], nowMs: NOON + 5 * MIN });

    expect(status?.sinceMs).toBe(told);
  });

  it("what an earlier leader had found out moves no time to one that is too early as well", () => {
    const found = notBefore(open, NOON + 2 * MIN);

    expect(decide(IDLE, found)).toBeUndefined();
  });

  it("a claim that is staged is told of at once: that keeps it", () => {
    expect(decide(IDLE, open, { stagedOn: ["n1"] })?.staged).toContain("n1");
  });
});

describe("an idle claim that may have been used while nobody watched", () => {
  it("counts as used until the end of that time", () => {
    const status = decide(IDLE, unseenIn(time(1, 3)));

    expect(status).toEqual({
      ...IDLE,
      reason: "NoPodUsing",
      sinceMs: NOON + 3 * MIN,
      blindGap: gapOf(1, 3),
      message: `${IDLE.message}; nobody watched between 00:27:40 and 00:29:40 UTC on 2026-09-10, so it counts as used until then`,
    });
  });

  it("that was never seen in use is still not seen in use", () => {
    const status = decide(NEVER, unseenIn(time(1, 3)));

    expect(status).toMatchObject({ reason: "NeverObservedInUse", sinceMs: NOON + 3 * MIN, blindGap: gapOf(1, 3) });
  });

  it.each([
    { name: "a time that was over before", times: [time(-3, -1)] },
    { name: "a time that was over just then", times: [time(-3, 0)] },
    { name: "no such time", times: [] },
    {
      name: "a time after a start of which nobody knows what was before, when the claim was first seen since",
      times: [time(-3, 5, { datedBeforeMs: NOON })],
    },
  ])("is left alone for $name", ({ times }) => {
    expect(decide(IDLE, unseenIn(...times))).toBeUndefined();
  });

  it("is moved for a time after a start of which nobody knows what was before, when it has been idle for longer", () => {
    const status = decide(IDLE, unseenIn(time(-3, 5, { datedBeforeMs: NOON + MIN })));

    expect(status).toMatchObject({ sinceMs: NOON + 5 * MIN, blindGap: gapOf(0, 5) });
  });

  it("is moved again when a node that had not told tells of a longer time", () => {
    const since = { datedBeforeMs: NOON + 3 * MIN };
    const first = write(decide(IDLE, unseenIn(time(1, 3, since))));

    const then = write(decide(first, unseenIn(time(1, 5, since))));

    expect(then).toMatchObject({ sinceMs: NOON + 5 * MIN, blindGap: gapOf(1, 5), lastUse: IDLE.lastUse });
    expect(then.message.match(/nobody watched/g)).toHaveLength(1);
  });

  it("is moved to the end of the later one of two gaps", () => {
    const status = decide(IDLE, unseenIn(time(1, 2), time(4, 5)));

    expect(status).toMatchObject({ sinceMs: NOON + 5 * MIN, blindGap: gapOf(1, 5) });
  });

  it("says who used it last when that is learnt later", () => {
    const moved = write(decide(NEVER, unseenIn(time(1, 3))));

    const status = write(decide(moved, unseenIn(), { ends: [endWith({ byMs: NOON - 500 })] }));

    expect(status).toMatchObject({ sinceMs: moved.sinceMs, blindGap: gapOf(1, 3), lastUse: { pod: "shop/web-0" } });
    expect(status.message).toMatch(/shop\/web-0.*nobody watched between/);
  });

  it("forgets the gap when a later end is learnt", () => {
    const moved = write(decide(IDLE, unseenIn(time(1, 3))));

    const status = decide(moved, unseenIn(time(1, 3)), { ends: [endWith({ byMs: NOON + 4 * MIN })] });

    expect(status).toMatchObject({ reason: "Unmounted", sinceMs: NOON + 4 * MIN });
    expect(status).not.toHaveProperty("blindGap");
  });

  it("keeps a gap that went on after an end that is learnt later", () => {
    const moved = write(decide(IDLE, unseenIn(time(1, 3))));

    const status = decide(moved, unseenIn(time(1, 3)), { ends: [endWith({ byMs: NOON + 2 * MIN })] });

    expect(status).toMatchObject({ reason: "NoPodUsing", sinceMs: NOON + 3 * MIN, blindGap: { toMs: NOON + 3 * MIN } });
  });

  it("that was moved stays where it is", () => {
    const moved = write(decide(IDLE, unseenIn(time(1, 3))));

    expect(decide(moved, unseenIn(time(1, 3)))).toBeUndefined();
  });

  it("whose time was kept by an earlier unmount record is moved, although the gap itself is forgotten", () => {
    const kept = write({ ...IDLE, blindGap: gapOf(1, 3) });

    expect(decide(kept, unseenIn())).toMatchObject({ reason: "NoPodUsing", sinceMs: NOON + 3 * MIN });
  });

  it("that was moved is told as such when its last user is learnt", () => {
    const moved = write(decide(NEVER, unseenIn(time(1, 3))));

    const status = decide(moved, unseenIn(), { ends: [endWith({ byMs: NOON - 500 })] });

    expect(status).toMatchObject({ sinceMs: NOON + 3 * MIN, reason: "NoPodUsing" });
    expect(status?.message).toMatch(/so it counts as used until then$/);
  });

  it("keeps a gap that ended within the second of its time when its last user is learnt", () => {
    const unobserved = time(1, 3, { toMs: NOON + 3 * MIN + 1 });
    const moved = write(decide(NEVER, unseenIn(unobserved)));

    const status = decide(moved, unseenIn(), { ends: [endWith({ byMs: NOON - 500 })] });

    expect(status).toMatchObject({ sinceMs: NOON + 3 * MIN + 1_000, blindGap: { toMs: unobserved.toMs } });
  });

  it("is left alone when its gap has only just ended", () => {
    const kept = write(decide(IDLE, unseenIn(time(1, 10))));

    expect(kept.blindGap?.toMs).toBe(NOW);
    expect(decide(kept, unseenIn(time(1, 10)))).toBeUndefined();
  });

  it("is moved to a gap's end that lies no further ahead than clocks and rounding reach", () => {
    const ahead = { ...IDLE, blindGap: { fromMs: NOON, toMs: NOW + 5_000 } };

    expect(decide(ahead, unseenIn())).toMatchObject({ sinceMs: NOW + 5_000 });
  });

  it("is not moved into the future by whoever may edit claims", () => {
    const forged = { ...IDLE, blindGap: { fromMs: NOON, toMs: NOW + 5_001 } };

    const status = write(decide(forged, unseenIn()));

    expect(status).toMatchObject({ sinceMs: NOW, blindGap: { fromMs: NOON, toMs: NOW } });
    expect(decide(status, unseenIn())).toBeUndefined();
  });

  it("is not moved by a time of a clock that was set back since, which would be another one with each look", () => {
    expect(decide(IDLE, unseenIn(time(1, (NOW + 5_001 - NOON) / MIN)))).toBeUndefined();
  });
});

describe("a claim in use that may have been used elsewhere while nobody watched", () => {
  const inUse = mountedStatus(["n1"], { lastUse: lastUseWith() });
  const ended = { ends: [endWith({ byMs: NOON + 2 * MIN })] };

  it("counts as used until the end of that time when its own use ended before", () => {
    const status = decide(inUse, unseenIn(time(1, 3)), ended);

    expect(status).toMatchObject({ unused: true, reason: "NoPodUsing", sinceMs: NOON + 3 * MIN });
    expect(status).toMatchObject({ lastUse: { releasedAtMs: NOON + 2 * MIN, pod: "shop/web-0" } });
  });

  it("counts as used until its own end when that was later", () => {
    const status = decide(inUse, unseenIn(time(0, 1)), ended);

    expect(status).toMatchObject({ reason: "Unmounted", sinceMs: NOON + 2 * MIN });
    expect(status).not.toHaveProperty("blindGap");
  });

  it("has nothing to tell of a time that the scan which lacked its mount closed, dated by another report", () => {
    const unobserved = time(1, 2, { toMs: NOON + 2 * MIN + 40 });

    const status = decide(inUse, unseenIn(unobserved), ended);

    expect(status).toMatchObject({ reason: "Unmounted", sinceMs: unobserved.toMs });
    expect(status).not.toHaveProperty("blindGap");
    expect(decide(write(status), unseenIn(unobserved), ended)).toBeUndefined();
  });

  const before = { isBefore: true };

  it("counts as used until the end of such a time before the gap, too: a pod may be forgotten", () => {
    const status = decide(inUse, unseenIn(time(1, 3, before)), ended);

    expect(status).toMatchObject({ reason: "NoPodUsing", sinceMs: NOON + 3 * MIN, blindGap: { toMs: NOON + 3 * MIN } });
  });

  it("has such a time also when that ended just after it came into use", () => {
    const unobserved = time(1, 3, { ...before, toMs: NOON + 3 * MIN + 500 });

    const status = decide(statusWith({ sinceMs: NOON + 3 * MIN }), unseenIn(unobserved), ended);

    expect(status).toMatchObject({ blindGap: { toMs: unobserved.toMs } });
  });

  it.each([
    { name: "before it was in use", stored: statusWith({ sinceMs: NOON + 5 * MIN }), times: [time(1, 3, before)] },
    { name: "while it was idle", stored: IDLE, times: [time(1, 3, before)] },
  ])("has no such time before the gap $name", ({ stored, times }) => {
    const status = decide(stored, unseenIn(...times), { unobservedEnd: undefined, ...ended });

    expect(status).not.toHaveProperty("blindGap");
  });

  it.each([
    { name: "mounted", fields: { holders: ["n1"] } },
    { name: "named by a pod", fields: { references: ["shop/web-1"] } },
  ])("has no such time while it is $name", ({ fields }) => {
    const moved = write(decide(IDLE, unseenIn(time(1, 3))));

    const status = decide(moved, unseenIn(time(1, 4)), fields);

    expect(status).toMatchObject({ unused: false, lastUse: IDLE.lastUse });
    expect(status).not.toHaveProperty("blindGap");
  });
});

/** All of it is over when the decision is made, ten minutes past noon. */
const minutes = fc.integer({ min: -5, max: 5 });
const unseenTime = fc
  .record({
    from: minutes,
    lasts: fc.double({ min: 0, max: 4, noNaN: true }),
    isBefore: fc.boolean(),
    datedBeforeMs: fc.option(
      minutes.map((minute) => NOON + minute * MIN),
      { nil: undefined },
    ),
  })
  .map(({ from, lasts, ...rest }) => time(from, from + lasts, rest));
const beginnings = fc.constantFrom(IDLE, NEVER, mountedStatus(["n1"]), undefined);

describe("times in which nobody watched, in any order and number", () => {
  it("never move a time back, and leave nothing to write once they are written", () => {
    fc.assert(
      fc.property(beginnings, fc.array(fc.array(unseenTime)), (beginning, rounds) => {
        let stored = beginning;
        for (const times of rounds) {
          const unobserved = unseenIn(...times);
          const status = decide(stored, unobserved);
          const written = status === undefined ? stored : write(status);
          expect(written?.sinceMs).toBeGreaterThanOrEqual(stored?.sinceMs ?? 0);
          const again = decide(written, unobserved);
          expect(again === undefined || isSameStatus(written, again)).toBe(true);
          expect(written?.message.match(/nobody watched/g)?.length ?? 0).toBeLessThanOrEqual(1);
          stored = written;
        }
      }),
    );
  });

  it("move a time to their end at least", () => {
    fc.assert(
      fc.property(fc.array(unseenTime), (times) => {
        const status = decide(IDLE, unseenIn(...times)) ?? IDLE;

        const inGaps = times.filter(({ isBefore }) => !isBefore);
        const counted = inGaps.filter(({ datedBeforeMs = Number.POSITIVE_INFINITY }) => datedBeforeMs > IDLE.sinceMs);
        expect(counted.filter(({ toMs }) => toMs > status.sinceMs)).toEqual([]);
      }),
    );
  });
});
