import { afterEach, describe, expect, it } from "vitest";
import type { WriteResult } from "../../../../aggregator/sinks/claim-status-writer.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import { claimWith, mountedStatus, statusWith } from "../world.ts";
import { WriterHarness } from "./claim-writer-harness.ts";

const KEY = "shop/data";
const unused = statusWith({ unused: true, reason: "Unmounted" });
const later = { ...unused, sinceMs: unused.sinceMs + 60_000 };
const mounted = mountedStatus(["n1"]);
const stale: WriteResult = { kind: "stale", message: "409" };
const refused: WriteResult = { kind: "refused", reason: "Forbidden", message: "a policy says no" };
const forbidden: WriteResult = { kind: "forbidden", message: "no role" };
const overloaded: WriteResult = { kind: "overloaded", message: "429", retryAfterMs: 3_000 };
const failed: WriteResult = { kind: "failed", message: "500", retryAfterMs: 0 };
const stray = { annotation: "mooring.dev/unused-since", fault: "unwanted", managers: ["argocd"] } as const;

let harnesses: WriterHarness[] = [];

function harnessWith(claims: readonly Claim[] = [claimWith()]): WriterHarness {
  const harness = new WriterHarness(claims);
  harnesses.push(harness);
  return harness;
}

function manyClaims(count: number): readonly Claim[] {
  return Array.from({ length: count }, (_, index) => {
    const name = `data-${index}`;
    return claimWith({ name, key: `shop/${name}`, uid: `uid-${index}` });
  });
}

function kinds({ calls }: WriterHarness): readonly string[] {
  return calls.map(({ what }) => what);
}

afterEach(async () => {
  for (const harness of harnesses) await harness.stop();
  harnesses = [];
});

describe("a claim that has changed since it was decided on", () => {
  it("is written again as soon as the watch shows the change", async () => {
    const harness = harnessWith();
    harness.stored.set(KEY, claimWith({ resourceVersion: "500" }));
    await harness.want(KEY, unused);
    await harness.advance(1_000);

    harness.put(claimWith({ resourceVersion: "500" }));
    await harness.want(KEY);

    expect(harness.calls.map(({ resourceVersion }) => resourceVersion)).toEqual(["100", "500"]);
  });

  it("is tried again each ten seconds while the watch does not show the change", async () => {
    const harness = harnessWith();
    harness.answer = () => stale;
    await harness.want(KEY, unused);

    await harness.advance(60_000);

    expect(harness.calls).toHaveLength(7);
  });

  it("is written as soon as the watch shows the change, also after minutes of silence", async () => {
    const harness = harnessWith();
    harness.stored.set(KEY, claimWith({ resourceVersion: "500" }));
    await harness.want(KEY, unused);
    await harness.advance(180_100);

    harness.put(claimWith({ resourceVersion: "500" }));
    await harness.want(KEY);

    expect(harness.stored.get(KEY)?.status).toEqual(unused);
  });

  it.each([
    { name: "another change", answers: [stale] },
    { name: "another change or a refusal", answers: [refused, stale] },
    { name: "another change or a failure", answers: [failed, stale] },
  ])("is written less and less often where each write meets $name", async ({ answers }) => {
    const harness = harnessWith();
    harness.answer = (_, index) => answers[index % answers.length];
    await harness.want(KEY, unused);

    for (let version = 200; version < 800; version += 1) {
      await harness.advance(100);
      harness.put(claimWith({ resourceVersion: String(version) }));
      await harness.want(KEY);
    }

    expect(harness.calls.length).toBeLessThan(20);
  });
});

describe("a write that the API server will not take", () => {
  it("is told once, tried again slowly, and does not hold up others", async () => {
    const harness = harnessWith([claimWith(), claimWith({ name: "other", key: "shop/other", uid: "claim-2" })]);
    harness.answer = ({ key }) => (key === KEY ? refused : undefined);

    await harness.want(KEY, unused);
    await harness.want("shop/other", unused);
    await harness.want(KEY);
    await harness.advance(59_000);
    const early = harness.calls.length;
    await harness.advance(3_600_000);

    expect(early).toBe(2);
    expect(harness.stored.get("shop/other")?.status).toEqual(unused);
    // After 1, 2, 4 and 8 minutes, then each ten.
    expect(harness.calls.length).toBe(2 + 4 + 4);
    expect(harness.warnings).toEqual([
      { key: KEY, kind: "write-refused", reason: "Forbidden", message: "a policy says no" },
    ]);
    expect(harness.writer.refused).toBe(1);
  });

  it("is tried again at once when the claim changes, and told again only for another reason", async () => {
    const harness = harnessWith();
    harness.answer = (_, index) => (index < 2 ? refused : { ...refused, reason: "Invalid" });
    await harness.want(KEY, unused);

    for (const resourceVersion of ["101", "102"]) {
      await harness.advance(10_000);
      harness.put(claimWith({ resourceVersion }));
      await harness.want(KEY);
    }

    expect(harness.calls.map(({ resourceVersion }) => resourceVersion)).toEqual(["100", "101", "102"]);
    expect(harness.warnings.map((warning) => ("reason" in warning ? warning.reason : ""))).toEqual([
      "Forbidden",
      "Invalid",
    ]);
  });

  it("is tried again at once when the claim changes after a day of repeats", async () => {
    const harness = harnessWith();
    harness.answer = () => refused;
    await harness.want(KEY, unused);
    await harness.advance(24 * 3_600_000);
    const before = harness.calls.length;
    await harness.advance(1_000);

    harness.put(claimWith({ resourceVersion: "101" }));
    await harness.want(KEY);

    expect(harness.calls.length - before).toBe(1);
  });

  it("is told once, although there was nothing to write in between", async () => {
    const harness = harnessWith([claimWith({ status: mounted })]);
    harness.answer = () => refused;

    for (const status of [unused, mounted, unused]) {
      await harness.want(KEY, status);
      await harness.advance(3_600_000);
    }

    expect(harness.warnings).toHaveLength(1);
  });

  it("is forgotten when it is taken at last", async () => {
    const harness = harnessWith();
    harness.answer = (_, index) => (index === 0 ? refused : undefined);
    await harness.want(KEY, unused);

    await harness.advance(600_000);

    expect(harness.stored.get(KEY)?.status).toEqual(unused);
    expect(harness.writer.refused).toBe(0);
  });

  it("is forgotten with the claim, also where the claim goes while the answer is on its way", async () => {
    const harness = harnessWith();
    let answer = (): void => {};
    harness.answer = () => new Promise((resolve) => (answer = () => resolve(refused)));
    await harness.want(KEY, unused);
    harness.seen.clear();
    harness.writer.forget(KEY);

    answer();
    await harness.advance(600_000);

    expect(harness.calls).toHaveLength(1);
    expect(harness.writer.refused).toBe(0);
  });

  it("is not sent any more when there is nothing to write", async () => {
    const harness = harnessWith([claimWith({ status: mounted })]);
    harness.answer = () => refused;
    await harness.want(KEY, unused);

    await harness.want(KEY, mounted);
    await harness.advance(3_600_000);

    expect(harness.calls).toHaveLength(1);
    expect(harness.writer.refused).toBe(0);
  });
});

describe("an account without the permission to write", () => {
  it("is said once for thousands of claims, tried with one of them, and all are written when the role is there", async () => {
    const claims = manyClaims(3_000);
    const harness = harnessWith(claims);
    harness.answer = () => forbidden;

    for (const { key } of claims) harness.desired.set(key, unused);
    for (const { key } of claims) await harness.want(key);
    await harness.advance(60_000);
    const tried = harness.calls.length;
    const missing = harness.writer.missingPermission();
    harness.answer = () => undefined;
    await harness.advance(60_000);

    expect(tried).toBeLessThan(20);
    expect(missing).toEqual({ namespaces: ["shop"], message: "no role" });
    expect([...harness.stored.values()].filter(({ status }) => status !== undefined)).toHaveLength(3_000);
    expect(harness.writer.missingPermission()).toBeUndefined();
    expect(harness.logger.messages("warn")).toEqual(["no permission to write claim status"]);
    expect(harness.warnings).toEqual([]);
  });
});

describe("a claim that waits after a refusal", () => {
  it("does not become the one that is tried for its namespace", async () => {
    const [first, last] = [
      claimWith({ name: "first", key: "shop/first", uid: "uid-1" }),
      claimWith({ name: "last", key: "shop/last", uid: "uid-2" }),
    ];
    const harness = harnessWith([claimWith(), first, last]);
    harness.answer = ({ key }) => (key === KEY ? refused : forbidden);
    await harness.want(KEY, unused);
    // Refused at 0, 1, 3, 7 and 15 minutes; next at 25.
    await harness.advance(16 * 60_000);
    await harness.want(first.key, unused);
    await harness.want(KEY);
    await harness.want(last.key, unused);
    harness.seen.delete(first.key);
    await harness.want(first.key);

    harness.answer = ({ key }) => (key === KEY ? refused : undefined);
    await harness.advance(2_000);

    expect(harness.stored.get(last.key)?.status).toEqual(unused);
  });
});

describe("an API server in trouble", () => {
  it("is asked a few times a second at most while nothing works, however many claims wait, with a line now and then", async () => {
    const claims = manyClaims(2_000);
    const harness = harnessWith(claims);
    harness.answer = () => failed;
    for (const { key } of claims) harness.desired.set(key, unused);
    for (const { key } of claims) harness.add(key);
    await harness.advance(60_000);
    const before = harness.calls.length;
    await harness.advance(60_000);

    expect(harness.calls.length - before).toBeLessThanOrEqual((16 * 60) / 5);
    expect(harness.logger.messages("warn").length).toBeLessThan(6);
  });

  it.each([
    { name: "fail again", answer: failed, mostMs: 5_000 },
    { name: "make the server ask for half a minute", answer: { ...failed, retryAfterMs: 30_000 }, mostMs: 30_100 },
  ])(
    "a thousand claims of which the writes have failed and $name delay no other for long",
    async ({ answer, mostMs }) => {
      const harness = harnessWith([claimWith(), ...manyClaims(1_000)]);
      harness.answer = ({ key }) => (key === KEY ? undefined : answer);
      for (const { key } of manyClaims(1_000)) harness.desired.set(key, unused);
      for (const { key } of manyClaims(1_000)) harness.add(key);
      await harness.advance(3_600_000);

      await harness.want(KEY, unused);
      await harness.advance(mostMs);

      expect(harness.stored.get(KEY)?.status).toEqual(unused);
    },
  );

  it.each([
    { name: "fails each time", answer: failed },
    { name: "makes the server ask for five minutes", answer: { ...overloaded, retryAfterMs: 300_000 } },
    { name: "never gets an answer", answer: undefined },
  ])("one claim of which the write $name delays no other", async ({ answer }) => {
    const harness = harnessWith([claimWith(), ...manyClaims(100)]);
    const late: ((result: WriteResult) => void)[] = [];
    const never = new Promise<WriteResult>((resolve) => late.push(resolve));
    harness.answer = ({ key }) => (key === KEY ? (answer ?? never) : undefined);
    await harness.want(KEY, unused);
    await harness.advance(600_000);

    for (const { key } of manyClaims(100)) await harness.want(key, unused);

    const left = [...harness.stored.values()].filter(({ status }) => status === undefined).map(({ key }) => key);
    for (const end of late) end(failed);
    expect(left).toEqual([KEY]);
  });
});

describe("annotations that do not fit", () => {
  it("are removed after an apply that could not remove them", async () => {
    const harness = harnessWith([claimWith({ strays: [stray] })]);

    await harness.want(KEY, unused);
    await harness.advance(1_000);

    expect(kinds(harness)).toEqual(["apply", "clean"]);
  });

  it.each([
    { name: "although the watch is quick", isWatchFirst: true },
    { name: "although the watch is slow", isWatchFirst: false },
  ])("that somebody keeps putting back are removed less and less often, and told of once, $name", async (watch) => {
    const harness = harnessWith([claimWith({ status: unused, strays: [stray] })]);
    harness.isWatchFirst = watch.isWatchFirst;
    await harness.want(KEY);

    for (let minute = 0; minute < 24 * 60; minute += 1) {
      await harness.advance(60_000);
      const stored = harness.stored.get(KEY);
      if (stored === undefined || stored.strays !== undefined) continue;
      harness.put({ ...stored, strays: [stray], resourceVersion: String(Number(stored.resourceVersion) + 1) });
      await harness.want(KEY);
    }

    expect(harness.calls.length).toBeLessThan(24 * 6 + 10);
    expect(harness.calls.length).toBeGreaterThan(100);
    expect(harness.warnings).toEqual([
      { key: KEY, kind: "put-back", annotation: "mooring.dev/unused-since", managers: ["argocd"] },
    ]);
  });
});

describe("a status that somebody keeps changing back", () => {
  it("is put right at once, then less and less often, and told of once", async () => {
    const harness = harnessWith();
    const theirs = statusWith({ message: "a copy" });
    await harness.want(KEY, unused);

    for (let minute = 0; minute < 24 * 60; minute += 1) {
      const stored = harness.stored.get(KEY);
      if (stored?.status !== theirs) {
        const resourceVersion = String(Number(stored?.resourceVersion) + 1);
        harness.put({ ...claimWith({ resourceVersion }), status: theirs });
        await harness.want(KEY);
      }
      await harness.advance(60_000);
    }

    expect(kinds(harness).every((what) => what === "apply")).toBe(true);
    expect(harness.calls.length).toBeLessThan(24 * 6 + 10);
    expect(harness.calls.length).toBeGreaterThan(100);
    expect(harness.warnings).toEqual([{ key: KEY, kind: "put-back", annotation: undefined, managers: [] }]);
  });

  it("is written less and less often where a webhook changes it in each write, and told of once", async () => {
    const harness = harnessWith();
    const theirs = statusWith({ message: "a copy" });
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

    // At once, after 1, 2, 4, 8 s and so on.
    expect(harness.calls).toHaveLength(10);
    expect(harness.warnings.map(({ kind }) => kind)).toEqual(["put-back"]);
  });

  it("is put right less and less often where an unwanted annotation comes with each change, and told of once", async () => {
    const harness = harnessWith();
    const theirs = statusWith({ message: "a copy" });
    await harness.want(KEY, unused);

    for (let second = 0; second < 3_600; second += 1) {
      const stored = harness.stored.get(KEY);
      if (stored?.status !== theirs && stored?.strays === undefined) {
        const resourceVersion = String(Number(stored?.resourceVersion) + 1);
        harness.put({ ...claimWith({ resourceVersion, strays: [stray] }), status: theirs });
        await harness.want(KEY);
      }
      await harness.advance(1_000);
    }

    expect(new Set(kinds(harness))).toEqual(new Set(["apply", "clean"]));
    expect(harness.calls.length).toBeLessThan(30);
    expect(harness.warnings.map(({ kind }) => kind)).toEqual(["put-back"]);
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
});
