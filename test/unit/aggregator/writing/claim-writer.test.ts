import { afterEach, describe, expect, it } from "vitest";
import type { WriteResult } from "../../../../aggregator/sinks/claim-status-writer.ts";
import { checkWrites } from "../../../../aggregator/writing/status-writing.ts";
import { WriteGate } from "../../../../aggregator/writing/write-gate.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFixedRandom } from "../../../fakes/random.ts";
import { claimWith, mountedStatus, statusWith } from "../world.ts";
import { WriterHarness } from "./claim-writer-harness.ts";

const KEY = "shop/data";
const unused = statusWith({ unused: true, reason: "Unmounted" });
const later = { ...unused, sinceMs: unused.sinceMs + 60_000 };
const mounted = mountedStatus(["n1"]);
const theirs = statusWith({ message: "a copy" });
const stale: WriteResult = { kind: "stale", message: "409" };
const refused: WriteResult = { kind: "refused", reason: "Forbidden", message: "a policy says no" };
const forbidden: WriteResult = { kind: "forbidden", message: "no role" };
const overloaded: WriteResult = { kind: "overloaded", message: "429", retryAfterMs: 3_000 };
const failed: WriteResult = { kind: "failed", message: "500", retryAfterMs: 0 };
const stray = { annotation: "mooring.dev/unused-since", fault: "unwanted", managers: ["argocd"] } as const;

const harnesses: WriterHarness[] = [];

function harnessWith(claims: readonly Claim[] = [claimWith()]): WriterHarness {
  const harness = new WriterHarness(claims);
  harnesses.push(harness);
  return harness;
}

function claimOf(name: string, namespace = "shop"): Claim {
  return claimWith({ name, namespace, key: `${namespace}/${name}`, uid: `uid-of-${namespace}-${name}` });
}

function manyClaims(count: number): readonly Claim[] {
  return Array.from({ length: count }, (_, index) => claimOf(`data-${index}`));
}

/** Something was decided for all of them at once. */
async function wantAll(harness: WriterHarness, claims: readonly Claim[]): Promise<void> {
  for (const { key } of claims) {
    harness.desired.set(key, unused);
    harness.add(key);
  }
  await harness.advance(0);
}

function written({ stored }: WriterHarness): readonly string[] {
  return [...stored.values()].filter(({ status }) => status !== undefined).map(({ key }) => key);
}

function times({ calls }: WriterHarness): readonly number[] {
  return calls.map(({ atS }) => atS);
}

afterEach(async () => {
  for (const harness of harnesses.splice(0)) await harness.stop();
});

type Step = (harness: WriterHarness) => Promise<unknown>;

const changes: Step = (harness) => harness.change();

function decides(status: typeof unused): Step {
  return (harness) => harness.want(KEY, status);
}

describe("a write is tried again", () => {
  const tens = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120];

  it.each<{
    readonly name: string;
    readonly claim?: Claim;
    /** The last one is that of all further attempts. */
    readonly answers: readonly (WriteResult | undefined)[];
    /** What happens at this second. */
    readonly next?: readonly [atS: number, Step];
    readonly untilS: number;
    readonly at: readonly number[];
    /** Of earlier attempts only the number is of interest. */
    readonly fromS?: number;
  }>([
    {
      name: "after a conflict each ten seconds while the watch is silent",
      answers: [stale],
      untilS: 125,
      at: [0, ...tens],
    },
    {
      name: "after a conflict as soon as the watch shows the change",
      answers: [stale, undefined],
      next: [1, changes],
      untilS: 60,
      at: [0, 1],
    },
    {
      name: "after a conflict as soon as the watch shows the change, also after minutes of silence",
      answers: [stale],
      next: [125, changes],
      untilS: 126,
      at: [0, ...tens, 125],
    },
    {
      name: "after a conflict no sooner for another content",
      answers: [stale],
      next: [5, decides(mounted)],
      untilS: 11,
      at: [0, 10],
    },
    {
      name: "after a refusal in a minute, then later and later, each ten minutes in the end",
      answers: [refused],
      untilS: 2_200,
      at: [0, 60, 180, 420, 900, 1_500, 2_100],
    },
    {
      name: "after a refusal at once when the claim changes",
      answers: [refused],
      next: [10, changes],
      untilS: 10,
      at: [0, 10],
    },
    {
      name: "after a refusal at once when the claim changes, also after a day of repeats",
      answers: [refused],
      next: [86_401, changes],
      untilS: 86_402,
      fromS: 86_400,
      at: [86_401],
    },
    {
      name: "after a refusal at once with another content",
      answers: [refused],
      next: [10, decides(mounted)],
      untilS: 10,
      at: [0, 10],
    },
    {
      name: "after a refusal at once when the claim is re-created",
      answers: [refused],
      next: [0.1, (harness) => harness.change({ uid: "claim-2" })],
      untilS: 1,
      at: [0, 0.1],
    },
    {
      name: "after a refusal not while nothing has to be written",
      claim: claimWith({ status: mounted }),
      answers: [refused],
      next: [10, decides(mounted)],
      untilS: 3_600,
      at: [0],
    },
    {
      name: "after a failure of the server in half a second, then later and later, once a minute in the end",
      answers: [failed],
      untilS: 130,
      at: [0, 0.5, 1.5, 3.5, 7.5, 15.5, 31.5, 63.5, 123.5],
    },
    {
      name: "after a failure no sooner when the claim changes",
      answers: [failed],
      next: [0.1, changes],
      untilS: 1,
      at: [0, 0.5],
    },
    { name: "not before the time that the server asks for", answers: [overloaded], untilS: 8, at: [0, 3, 6] },
  ])("$name", async ({ claim, answers, next, untilS, at, fromS = 0 }) => {
    const harness = harnessWith([claim ?? claimWith()]);
    harness.answer = (_, index) => answers[Math.min(index, answers.length - 1)];
    await harness.want(KEY, unused);
    if (next !== undefined) {
      const [atS, step] = next;
      await harness.advance(atS * 1_000);
      await step(harness);
    }

    await harness.advance((untilS - harness.nowS) * 1_000);

    expect(times(harness).filter((atS) => atS >= fromS)).toEqual(at);
  });

  it.each([
    { name: "another change", answers: [stale] },
    { name: "another change or a refusal", answers: [refused, stale] },
    { name: "another change or a failure", answers: [failed, stale] },
  ])("less and less often where each attempt meets $name", async ({ answers }) => {
    const harness = harnessWith();
    harness.answer = (_, index) => answers[index % answers.length];
    await harness.want(KEY, unused);

    for (let tenth = 0; tenth < 600; tenth += 1) {
      await harness.advance(100);
      await harness.change();
    }

    expect(harness.calls.length).toBeLessThan(20);
  });
});

describe("a status that the API server refuses", () => {
  it("does not hold up others, and is counted and told of once, until it is taken", async () => {
    const [data, other, failing] = [claimWith(), claimOf("other"), claimOf("failing")];
    const harness = harnessWith([data, other, failing]);
    let isRefused = true;
    harness.answer = ({ key }) => {
      if (key === failing.key) return failed;
      return key === KEY && isRefused ? refused : undefined;
    };
    await wantAll(harness, [data, other, failing]);
    await harness.advance(60_000);
    const before = [written(harness), harness.writer.refused];
    isRefused = false;
    await harness.advance(150_000);

    expect(before).toEqual([[other.key], 1]);
    expect([written(harness), harness.writer.refused]).toEqual([[KEY, other.key], 0]);
    const warning = { kind: "write-refused", reason: "Forbidden", message: "a policy says no" };
    expect(harness.warnings).toEqual([{ key: KEY, ...warning }]);
  });

  it("is told of again for another reason, and not where nothing had to be written in between", async () => {
    const harness = harnessWith([claimWith({ status: mounted })]);
    const reasons = ["Forbidden", "Forbidden", "Invalid"];
    harness.answer = (_, index) => ({ ...refused, reason: reasons[index] ?? "" });

    for (const status of [unused, mounted, unused, mounted, unused]) {
      await harness.want(KEY, status);
      await harness.advance(50_000);
    }

    expect(harness.calls).toHaveLength(3);
    expect(harness.warnings).toMatchObject([{ reason: "Forbidden" }, { reason: "Invalid" }]);
  });

  it("is forgotten with the claim, also where the claim goes while the answer is under way", async () => {
    const harness = harnessWith();
    let answer = (): void => {};
    harness.answer = () => new Promise((resolve) => (answer = () => resolve(refused)));
    await harness.want(KEY, unused);
    await harness.remove(KEY);

    answer();
    await harness.advance(600_000);

    expect([harness.calls.length, harness.writer.refused]).toEqual([1, 0]);
  });
});

describe("an account without the permission to write", () => {
  it("is tried with one claim of thousands, later and later, and all are written once the role is there", async () => {
    const claims = manyClaims(3_000);
    const harness = harnessWith(claims);
    harness.answer = () => forbidden;
    await wantAll(harness, claims);
    await harness.advance(130_000);
    const tried = times(harness);
    harness.answer = () => undefined;
    await harness.advance(60_000);

    // Sixteen were under way before the first answer.
    expect(tried.slice(15)).toEqual([0, 1, 3, 7, 15, 31, 63, 123]);
    expect(written(harness)).toHaveLength(3_000);
    expect(harness.warnings).toEqual([]);
    expect(harness.logger.messages()).toMatchObject({
      0: "no permission to write claim status",
      1: "claim status may be written again",
    });
  });

  it("is tried in each namespace, and the check names three and counts the others", async () => {
    const claims = ["a", "b", "c", "d", "e"].map((namespace) => claimOf("data", namespace));
    const harness = harnessWith([...claims, claimOf("data", "free")]);
    const before = checkWrites(harness.writer);
    harness.answer = ({ key }) => (key.startsWith("free/") ? undefined : forbidden);
    await wantAll(harness, [...claims, claimOf("data", "free")]);
    const check = checkWrites(harness.writer);
    harness.answer = ({ key }) => (key.startsWith("e/") ? forbidden : undefined);
    await harness.advance(1_000);

    expect(before).toEqual({ ok: true });
    expect(check).toEqual({ ok: false, why: "no permission to write claim status in a, b, c and 2 more: no role" });
    expect(written(harness)).toEqual(["a/data", "b/data", "c/data", "d/data", "free/data"]);
    expect(harness.writer.missingPermission()).toEqual({ namespaces: ["e"], message: "no role" });
    expect(harness.logger.messages("info")).not.toContain("claim status may be written again");
  });

  it("is tried with the next claim, at the same time, when the one that is tried is gone, and then with none", async () => {
    const [first, second] = [claimOf("first"), claimOf("second")];
    const harness = harnessWith([first, second]);
    harness.answer = () => forbidden;
    await harness.want(first.key, unused);
    await harness.want(second.key, unused);
    await harness.advance(400);

    await harness.remove(first.key);
    await harness.advance(1_000);
    const tried = harness.calls.map(({ key, atS }) => [key, atS]);
    await harness.remove(second.key);
    await harness.advance(60_000);

    expect(tried).toEqual([
      [first.key, 0],
      [second.key, 1],
    ]);
    expect([harness.calls.length, harness.writer.missingPermission()]).toEqual([2, undefined]);
  });

  it("is there again when the status of the claim that is tried is refused for itself", async () => {
    const [first, second] = [claimOf("first"), claimOf("second")];
    const harness = harnessWith([first, second]);
    harness.answer = () => forbidden;
    await harness.want(first.key, unused);
    await harness.want(second.key, unused);

    harness.answer = ({ key }) => (key === first.key ? refused : undefined);
    await harness.advance(1_000);

    expect([written(harness), harness.writer.missingPermission()]).toEqual([[second.key], undefined]);
  });

  it("is not tried with a claim that has to wait after a refusal", async () => {
    const [first, last] = [claimOf("first"), claimOf("last")];
    const harness = harnessWith([claimWith(), first, last]);
    harness.answer = ({ key }) => (key === KEY ? refused : forbidden);
    await harness.want(KEY, unused);
    // Refused at 0, 1, 3, 7 and 15 minutes; next at 25.
    await harness.advance(16 * 60_000);
    await harness.want(first.key, unused);
    await harness.want(KEY);
    await harness.want(last.key, unused);
    await harness.remove(first.key);

    harness.answer = ({ key }) => (key === KEY ? refused : undefined);
    await harness.advance(2_000);

    expect(written(harness)).toEqual([last.key]);
  });
});

describe("an API server that fails", () => {
  it("is asked a few times a second at most, however many claims wait, with a line for each tenfold of failures", async () => {
    const claims = manyClaims(2_000);
    const harness = harnessWith(claims);
    harness.answer = () => failed;
    await wantAll(harness, claims);
    await harness.advance(60_000);
    const before = harness.calls.length;
    await harness.advance(60_000);

    expect(harness.calls.length - before).toBeLessThanOrEqual((16 * 60) / 5);
    expect(harness.logger.lines.map(({ fields }) => fields.failures)).toEqual([1, 10, 100]);
    expect(harness.logger.lines[0]).toMatchObject({ level: "warn", fields: { outcome: "failed", err: "500" } });
  });

  it.each([
    { name: "not within a minute of the last one", pauseS: 60, lines: 1 },
    { name: "more than a minute after the last one", pauseS: 60.001, lines: 2 },
  ])("is logged again $name", async ({ pauseS, lines }) => {
    const harness = harnessWith();
    harness.answer = (_, index) => (index % 2 === 0 ? failed : undefined);
    await harness.want(KEY, unused);
    await harness.advance(pauseS * 1_000);

    await harness.want(KEY, mounted);

    expect(harness.calls).toHaveLength(3);
    expect(harness.logger.messages("warn")).toHaveLength(lines);
  });

  it("makes workers rest for longer with each round of failures, and not any more after a success", async () => {
    const claims = manyClaims(100);
    const harness = harnessWith(claims);
    harness.answer = () => failed;
    await wantAll(harness, claims);
    await harness.advance(450);
    const rounds = [0, 0.1, 0.2, 0.3, 0.4].map((s) => times(harness).filter((atS) => atS === s).length);
    harness.answer = () => undefined;
    await harness.advance(120_000);
    const { length } = written(harness);
    harness.answer = () => failed;
    const { nowS } = harness;

    await harness.want("shop/data-0", mounted);
    await harness.advance(500);

    expect([rounds, length]).toEqual([[31, 16, 0, 16, 0], 100]);
    expect(times(harness).slice(-2)).toEqual([nowS, nowS + 0.5]);
  });

  it("makes a worker rest for half a minute at most, whatever time it asks for", async () => {
    const claims = manyClaims(17);
    const harness = harnessWith(claims);
    harness.answer = () => ({ ...overloaded, retryAfterMs: 300_000 });
    await wantAll(harness, claims);
    await harness.advance(29_999);
    const before = harness.calls.length;
    await harness.advance(2);

    expect([before, harness.calls.length]).toEqual([16, 17]);
  });

  it.each([
    { name: "fail again", answer: failed, mostMs: 5_000 },
    { name: "make the server ask for half a minute", answer: { ...failed, retryAfterMs: 30_000 }, mostMs: 30_100 },
  ])(
    "a thousand claims of which the writes have failed and $name delay no other for long",
    async ({ answer, mostMs }) => {
      const claims = manyClaims(1_000);
      const harness = harnessWith([claimWith(), ...claims]);
      harness.answer = ({ key }) => (key === KEY ? undefined : answer);
      await wantAll(harness, claims);
      await harness.advance(3_600_000);

      await harness.want(KEY, unused);
      await harness.advance(mostMs);

      expect(written(harness)).toEqual([KEY]);
    },
  );

  it.each([
    { name: "fails each time", answer: failed },
    { name: "makes the server ask for five minutes", answer: { ...overloaded, retryAfterMs: 300_000 } },
    { name: "never gets an answer", answer: undefined },
  ])("one claim of which the write $name delays no other", async ({ answer }) => {
    const claims = manyClaims(100);
    const harness = harnessWith([claimWith(), ...claims]);
    const late: ((result: WriteResult) => void)[] = [];
    const never = new Promise<WriteResult>((resolve) => late.push(resolve));
    harness.answer = ({ key }) => (key === KEY ? (answer ?? never) : undefined);
    await harness.want(KEY, unused);
    await harness.advance(600_000);

    await wantAll(harness, claims);

    const { length } = written(harness);
    for (const end of late) end(failed);
    expect(length).toBe(100);
  });
});

describe("what another client changes", () => {
  const DOUBLED = [0, 1, 3, 7, 15, 31, 63, 127, 255, 511];
  const OF_ARGOCD = { annotation: stray.annotation, managers: stray.managers };
  const putBack = { key: KEY, kind: "put-back", annotation: undefined, managers: [] };

  it.each<{
    readonly name: string;
    readonly begin?: Partial<Claim>;
    /** What the other client makes of a claim that is as it should be. */
    readonly change: Partial<Claim>;
    readonly isWatchFirst?: boolean;
    readonly warning?: object;
  }>([
    { name: "the status", change: { status: theirs } },
    {
      name: "the status, with an unwanted annotation",
      change: { status: theirs, strays: [stray] },
      warning: OF_ARGOCD,
    },
    {
      name: "an unwanted annotation, where the watch is slow",
      begin: { status: unused, strays: [stray] },
      change: { strays: [stray] },
      warning: OF_ARGOCD,
    },
    {
      name: "an unwanted annotation, where the watch is quick",
      begin: { status: unused, strays: [stray] },
      change: { strays: [stray] },
      isWatchFirst: true,
      warning: OF_ARGOCD,
    },
  ])("each time is put right less and less often, and told of once: $name", async ({ begin, change, ...row }) => {
    const harness = harnessWith([claimWith(begin)]);
    harness.isWatchFirst = row.isWatchFirst ?? false;
    await harness.want(KEY, unused);

    for (let second = 0; second < 600; second += 1) {
      const { status, strays } = harness.stored.get(KEY) ?? {};
      if (status !== theirs && strays === undefined) await harness.change(change);
      await harness.advance(1_000);
    }

    expect(times(harness)).toEqual(DOUBLED);
    expect(harness.warnings).toEqual([{ ...putBack, ...row.warning }]);
  });

  it("in each write, as a webhook may, is written less and less often, and told of once", async () => {
    const harness = harnessWith();
    harness.answer = ({ key }) => {
      const claim = claimWith({ resourceVersion: String(101 + harness.calls.length), status: theirs });
      harness.stored.set(key, claim);
      return { kind: "written", claim };
    };
    await harness.want(KEY, unused);

    for (let second = 0; second < 600; second += 1) {
      await harness.want(KEY);
      await harness.advance(1_000);
    }

    expect(times(harness)).toEqual(DOUBLED);
    expect(harness.warnings).toEqual([putBack]);
  });

  it("is removed after an apply that cannot remove it", async () => {
    const harness = harnessWith([claimWith({ strays: [stray] })]);

    await harness.want(KEY, unused);
    await harness.advance(1_000);

    expect(harness.calls.map(({ what }) => what)).toEqual(["apply", "clean"]);
  });

  it.each([
    { name: "nothing of it is left", waits: true },
    { name: "it is another status", status: mounted, waits: false },
    { name: "nothing of it is left, and it would count from later", status: later, waits: true },
    {
      name: "others put something else there, and it would count from later",
      status: later,
      stands: statusWith(),
      waits: true,
    },
    { name: "it stands there and counts from later", status: later, stands: unused, waits: false },
    { name: "annotations were added", stands: unused, strays: [stray], waits: true },
    { name: "annotations were changed", stands: unused, strays: [{ ...stray, fault: "wrong" } as const], waits: true },
    { name: "the claim was re-created", uid: "claim-2", waits: false },
  ])(
    "repeats the last write, which waits, or is news: $name",
    async ({ status, stands, strays, uid = "claim-1", waits }) => {
      const harness = harnessWith();
      await harness.want(KEY, unused);
      harness.put(claimWith({ resourceVersion: "500", status: stands, strays, uid }));

      await harness.want(KEY, status);

      expect(harness.calls).toHaveLength(waits ? 1 : 2);
    },
  );

  it("is remembered of the last 20,000 objects that were written", () => {
    const gate = new WriteGate({ clock: createFakeClock(), random: createFixedRandom(0.5) });
    const attemptOf = (index: number) => {
      const uid = `uid-${index}`;
      return { key: uid, uid, resourceVersion: "100", stands: "theirs", content: "ours", isNews: true };
    };
    for (let index = 0; index < 20_000; index += 1) gate.written(attemptOf(index), "left");
    for (const index of [0, 20_000]) gate.written(attemptOf(index), "left");

    expect([0, 1, 2, 20_000].map((index) => gate.restBefore(attemptOf(index)))).toEqual([2_000, 0, 1_000, 1_000]);
  });
});
