import { describe, expect, it } from "vitest";
import type { Unobserved } from "../../../../aggregator/core/claims/gap.ts";
import type { UnobservedTime } from "../../../../aggregator/core/pod-watch/gap.ts";
import { type ClaimStatus, readClaimStatus, writeClaimStatus } from "../../../../common/storage/claim-status.ts";
import { mountedStatus, NOON, statusWith } from "../world.ts";
import { endWith, factsWith, type Known, lastUseWith, NOW, newsOf, summaryOf } from "./decisions.ts";

const MIN = 60_000;
const USED =
  "Last used by pod shop/old on node n1; its volume was unmounted between 2026-09-10T00:26:38Z and 2026-09-10T00:26:39Z, read from the node's mount table";
const IDLE = statusWith({ unused: true, reason: "Unmounted", message: USED, lastUse: lastUseWith() });
const NEVER = statusWith({ unused: true, reason: "NeverObservedInUse", message: "Never seen" });

/** Minutes past noon. */
function time(from: number, to: number, fields: Partial<UnobservedTime> = {}): UnobservedTime {
  return { fromMs: NOON + from * MIN, toMs: NOON + to * MIN, isBefore: false, ...fields };
}

/** The use of `shop/web-0` that ended so many minutes past noon. */
function ended(minutes: number): Known {
  return { ends: [endWith({ byMs: NOON + minutes * MIN })] };
}

function decide(stored: ClaimStatus | undefined, unobserved: Unobserved, fields: Known = {}) {
  return newsOf(factsWith({ stored, unobserved, ...fields }));
}

/** What is stored after a decision was written, with its rounding. */
function write(status: ClaimStatus | undefined): ClaimStatus {
  const read = status && readClaimStatus({ uid: "claim-1", ...writeClaimStatus("claim-1", status) });
  if (read === undefined) throw new Error("nothing is written, or it cannot be read");
  return read;
}

/** What the claim stores after a decision with these unobserved times. */
function written(stored: ClaimStatus, ...times: readonly UnobservedTime[]): () => ClaimStatus {
  return () => write(decide(stored, { times }));
}

/** What the claim stores, or how it came to be, and the unobserved times. */
type Row = readonly [name: string, stored: Stored, times: readonly UnobservedTime[], facts: Facts, becomes: string];
type Stored = ClaimStatus | (() => ClaimStatus);
type Facts = Known;

function becomesOf([, stored, times, facts]: Row): string {
  return summaryOf(decide(typeof stored === "function" ? stored() : stored, { times }, facts));
}

const ALONE = "left alone";

describe("a gap that nodes have still to answer", () => {
  const open: Unobserved = { times: [], openUntilMs: NOON + 3 * MIN };
  const at = (time: string) => `Unmounted since ${time}, after r1 by ${time}`;

  it.each([
    { name: "keeps a claim in use whose use ended before its end", minutes: 1, becomes: ALONE },
    { name: "lets a use be published that ended with it", minutes: 3, becomes: at("noon+180s") },
  ])("$name", ({ minutes, becomes }) => {
    expect(summaryOf(decide(mountedStatus(["n1"]), open, ended(minutes)))).toBe(becomes);
  });

  it("moves no time to one that is too early as well, as an earlier leader had decided it", () => {
    expect(decide(IDLE, { ...open, times: [time(2, 2)] })).toBeUndefined();
  });

  it.each([
    { name: "the latest of them", times: [time(2, 2), time(3, 3)], becomes: "noon+180s" },
    { name: "a later gap", times: [time(1, 4), time(2, 2)], becomes: "noon+240s" },
  ])("leaves no time before lower bounds: $name counts", ({ times, becomes }) => {
    const becoming = decide(mountedStatus(["n1"]), { times }, ended(1));

    expect(summaryOf(becoming)).toContain(`NoPodUsing since ${becomes}`);
  });

  it("does not keep the status from saying that a claim is staged", () => {
    expect(decide(IDLE, open, { stagedOn: ["n1"] })?.staged).toContain("n1");
  });
});

describe("an idle claim that may have been used, unobserved", () => {
  const moved = written(IDLE, time(1, 3));
  const neverMoved = written(NEVER, time(1, 3));
  const inSecond = written(NEVER, time(1, 3, { toMs: NOON + 3 * MIN + 1 }));
  const since = { datedBeforeMs: NOON + 3 * MIN };
  const ahead = (toMs: number) => ({ ...IDLE, gap: { fromMs: NOON, toMs } });
  const farAhead = time(1, (NOW + 5_001 - NOON) / MIN);
  const dated = (minutes: number) => time(-3, 5, { datedBeforeMs: NOON + minutes * MIN });
  const early = ended(-1 / 120);
  const [to3, to5] = ["since noon+180s, unseen noon+60s to noon+180s", "since noon+300s, unseen noon+60s to noon+300s"];
  const [r0, r1] = ["after r0 by noon-1s", "after r1 by noon-500ms"];

  it.each<Row>(
    // biome-ignore format: a row is a line
    [
      ["counts as used until the end of that time", IDLE, [time(1, 3)], {}, `NoPodUsing ${to3}, ${r0}`],
      ["stays NeverObservedInUse", NEVER, [time(1, 3)], {}, `NeverObservedInUse ${to3}`],
      ["is left alone for a gap that was over just then", IDLE, [time(-3, 0)], {}, ALONE],
      ["is left alone for a gap that only concerns earlier times", IDLE, [dated(0)], {}, ALONE],
      ["is moved again when a node answers with a longer time", written(IDLE, time(1, 3, since)), [time(1, 5, since)], {}, `NoPodUsing ${to5}, ${r0}`],
      ["names the last user when that is learnt later", neverMoved, [], early, `NoPodUsing ${to3}, ${r1}`],
      ["forgets the gap when a later end is learnt", moved, [time(1, 3)], ended(4), "Unmounted since noon+240s, after r1 by noon+240s"],
      ["keeps a gap that ended within its second", inSecond, [], early, `NoPodUsing since noon+181s, unseen noon+60s to noon+180001ms, ${r1}`],
      ["is moved as far ahead as clocks reach", ahead(NOW + 5_000), [], {}, `NoPodUsing since now+5s, unseen noon to now+5s, ${r0}`],
      ["ends no earlier than it begins, where only its end is far ahead", { ...IDLE, gap: { fromMs: NOW + 4_000, toMs: NOW + 60_000 } }, [], {}, `NoPodUsing since now, unseen now to now, ${r0}`],
      ["is not moved into the future by a client that may edit claims", ahead(NOW + 5_001), [], {}, `NoPodUsing since now, unseen noon to now, ${r0}`],
      ["is not moved by a clock that was set back: each check would give another time", IDLE, [farAhead], {}, ALONE],
    ],
  )("%s", (...row) => {
    expect(becomesOf(row)).toBe(row[4]);
  });

  it("has the gap in its message beside its last use, once", () => {
    const unobserved =
      "; unobserved between 2026-09-10T00:27:40Z and 2026-09-10T00:29:40Z, so it counts as used until then";
    const again = write(decide(moved(), { times: [time(1, 3)] }, ended(-1 / 120)));

    const user = USED.replace("shop/old", "shop/web-0").replace("26:39", "26:40").replace("26:38", "26:39");
    expect([moved().message, again.message]).toEqual([`${USED}${unobserved}`, `${user}${unobserved}`]);
  });
});

describe("a claim in use that may have been used elsewhere, unobserved", () => {
  const inUse = mountedStatus(["n1"], { lastUse: lastUseWith() });
  const earlier = (to: number) => time(1, to, { isBefore: true });
  const just = "since noon+180600ms, unseen noon+180s to noon+180600ms";
  const scan = time(1, 2, { toMs: NOON + 2 * MIN + 40 });
  const sinceMinute = (minutes: number) => statusWith({ sinceMs: NOON + minutes * MIN });
  const [unseen, own] = ["unseen noon+120s to noon+180s", "after r1 by noon+120s"];

  it.each<Row>(
    // biome-ignore format: a row is a line
    [
      ["counts as used until the end of that time", inUse, [time(1, 3)], ended(2), `NoPodUsing since noon+180s, ${unseen}, ${own}`],
      ["has no gap where the scan that closed it lacked the mount", inUse, [scan], ended(2), `Unmounted since noon+120040ms, ${own}`],
      ["has a gap from before the watch gap as well: a pod may be forgotten", inUse, [earlier(3)], ended(2), `NoPodUsing since noon+180s, ${unseen}, ${own}`],
      ["has a gap just after it came into use", sinceMinute(3), [earlier(3.01)], ended(2), `NoPodUsing ${just}, ${own}`],
      ["has no gap from while it was idle", IDLE, [earlier(3)], ended(2), `Unmounted since noon+120s, ${own}`],
    ],
  )("%s", (...row) => {
    expect(becomesOf(row)).toBe(row[4]);
  });
});
