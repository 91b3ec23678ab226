import { describe, expect, it } from "vitest";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { createInformer } from "../../../../common/kube/informer.ts";
import { MooringError } from "../../../../common/runtime/errors.ts";
import type { FakeByteStream } from "../../../fakes/byte-stream.ts";
import { createFakeClock, settle } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFixedRandom } from "../../../fakes/random.ts";
import { createFakeConnection, createFakeTransport, json } from "../../../fakes/transport.ts";
import { bookmark, follow, listOf, project, status, TOO_LARGE, thing } from "./following.ts";

describe("an informer", () => {
  it("lists, and watches from there", async () => {
    const { informer, changes, times, replaced } = await follow({ lists: [listOf(10, thing("a", 3), thing("b", 4))] });

    expect(changes).toEqual(["added uid-a@3", "added uid-b@4"]);
    expect(informer.hasSynced()).toBe(true);
    expect(informer.resourceVersion()).toBe("10");
    expect(informer.size()).toBe(2);
    expect(replaced()).toBe(1);
    expect(times.map(({ what, query }) => `${what} ${query}`)).toEqual([
      "list fieldSelector=a%3Db&limit=500",
      "watch fieldSelector=a%3Db&watch=true&allowWatchBookmarks=true&resourceVersion=10&timeoutSeconds=600",
    ]);
  });

  it.each([
    { random: 0, seconds: "300" },
    { random: 0.5, seconds: "450" },
    { random: 1, seconds: "600" },
  ])("requests a watch of 5 to 10 minutes, so that not all end together: $seconds s", async ({ random, seconds }) => {
    const { times } = await follow({ lists: [listOf(10)], random });

    expect(times.at(-1)?.query.get("timeoutSeconds")).toBe(seconds);
  });

  it("has not synced before the first list", async () => {
    const { informer } = await follow({ lists: ["silence"] });

    expect(informer.hasSynced()).toBe(false);
    expect(informer.resourceVersion()).toBeUndefined();
  });

  it("accepts an empty list whose items are null", async () => {
    const { informer } = await follow({ lists: [json({ metadata: { resourceVersion: "10" }, items: null })] });

    expect(informer.hasSynced()).toBe(true);
    expect(informer.size()).toBe(0);
  });

  it.each([
    { name: "an addition", event: { type: "ADDED", object: thing("b", 11) }, change: ["added uid-b@11"] },
    { name: "a modification", event: { type: "MODIFIED", object: thing("a", 11) }, change: ["updated uid-a@11"] },
    {
      name: "a deletion, with its last state",
      event: { type: "DELETED", object: thing("a", 11) },
      change: ["deleted uid-a@11 gone at 11"],
    },
    { name: "a bookmark", event: { type: "BOOKMARK", object: { metadata: { resourceVersion: "11" } } }, change: [] },
    {
      name: "an object re-created under its name",
      event: { type: "MODIFIED", object: thing("a", 11, { uid: "other" }) },
      change: ["deleted uid-a@3 gone at 11", "added other@11"],
    },
    {
      name: "the late deletion of an object that was replaced",
      event: { type: "DELETED", object: thing("a", 11, { uid: "other" }) },
      change: ["deleted uid-a@3 gone at 11"],
    },
    { name: "the deletion of what it never had", event: { type: "DELETED", object: thing("z", 11) }, change: [] },
  ])("follows $name", async ({ event, change }) => {
    const { informer, changes, last } = await follow({ lists: [listOf(10, thing("a", 3))] });

    last().writeLine(event);
    await settle();

    expect(changes.slice(1)).toEqual(change);
    expect(informer.resourceVersion()).toBe("11");
  });

  it("resumes at its position when the server ends the watch", async () => {
    const { last, times, requests, clock } = await follow({ lists: [listOf(10)] });

    last().writeLine({ type: "ADDED", object: thing("a", 11) });
    await clock.advance(60_000);
    last().end();
    await clock.advance(200);

    expect(requests()).toEqual(["list", "watch 10", "verify 11", "watch 11"]);
    expect(times.at(-1)?.at).toBe(60_200);
  });

  it("resumes at once, without another request, when the server ends the watch at its timeout", async () => {
    const { last, requests, clock, logger } = await follow({ lists: [listOf(10)] });

    await clock.advance(599_000);
    last().end();
    await settle();

    expect(requests()).toEqual(["list", "watch 10", "watch 10"]);
    expect(logger.messages("warn")).toEqual([]);
  });

  it("lists again when the resource version has expired, and delivers what changed meanwhile", async () => {
    const { changes, last, clock, informer, times } = await follow({
      lists: [listOf(10, thing("a", 3), thing("b", 4)), listOf(50, thing("b", 40), thing("c", 41))],
    });

    last().writeLine({ type: "ERROR", object: { kind: "Status", code: 410, message: "too old resource version" } });
    await settle();
    expect(informer.resourceVersion()).toBeUndefined();
    await clock.advance(2_200);

    expect(changes.slice(2)).toEqual(["deleted uid-a@3 gone at 50", "updated uid-b@40", "added uid-c@41"]);
    expect(times.map(({ what }) => what)).toEqual(["list", "watch", "list", "watch"]);
    expect(informer.resourceVersion()).toBe("50");
  });

  it.each([
    { name: "when it is behind", version: "11", lists: 2 },
    { name: "not when it is there", version: "10", lists: 1 },
    { name: "not when it is beyond, by number and not by text", version: "9", lists: 1 },
    { name: "not for what is no number", version: "soon", lists: 1 },
  ])("lists at once to reach a resource version, $name", async ({ version, lists }) => {
    const { informer, times, clock } = await follow({ lists: [listOf(10), listOf(50)] });

    informer.ensureAtLeast(version);
    await clock.advance(0);

    expect(times.filter(({ what }) => what === "list")).toHaveLength(lists);
    expect(informer.resourceVersion()).toBe(lists === 2 ? "50" : "10");
  });

  it("does not apply events in transit that are older than the requested list", async () => {
    const { informer, last, changes, clock } = await follow({ lists: [listOf(10), listOf(50)] });

    informer.ensureAtLeast("40");
    last().writeLine({ type: "ADDED", object: thing("late", 20) });
    await clock.advance(0);

    expect(informer.resourceVersion()).toBe("50");
    expect(changes).toEqual([]);
  });

  it("does not apply events of the chunk that made it list again", async () => {
    const { last, changes, clock } = await follow({
      lists: [listOf(10), listOf(50)],
      onChange: ({ object }, informer) => informer.ensureAtLeast(object.key === "a" ? "40" : "0"),
    });
    const events = [thing("a", 11), thing("late", 20)].map(
      (object) => `${JSON.stringify({ type: "ADDED", object })}\n`,
    );

    last().write(events.join(""));
    await clock.advance(0);

    expect(changes).toEqual(["added uid-a@11", "deleted uid-a@11 gone at 50"]);
  });

  it("lists again when the watch is answered with 410", async () => {
    const { times, requests, clock } = await follow({
      lists: [listOf(10), listOf(50)],
      watches: [status(410), "open"],
    });

    await clock.advance(2_200);

    expect(requests()).toEqual(["list", "watch 10", "list", "watch 50"]);
    expect(times.at(-1)?.at).toBe(2_200);
  });

  it("does not keep backing off when a recovered server has dropped the version, but does for a server that never knows any", async () => {
    const { times, clock } = await follow({
      lists: [10, 50, 60, 70].map((version) => listOf(version)),
      watches: [
        ...Array.from({ length: 8 }, () => status(503)),
        ...Array.from({ length: 3 }, () => status(410)),
        "open",
      ],
    });

    await clock.advance(120_000);

    const at = (what: string): readonly number[] => times.filter((one) => one.what === what).map((one) => one.at);
    const forgotten = at("watch").slice(8, 11);
    const waits = at("list")
      .slice(1)
      .map((time, index) => time - (forgotten[index] ?? 0));
    expect(waits).toEqual([2_200, 2_400, 2_800]);
  });

  it("lists from the server's cache where configured, later lists not older than what it has seen", async () => {
    const { requests, clock, times } = await follow({
      lists: [listOf(10), listOf(50)],
      watches: [status(410), "open"],
      listsFrom: "cache",
    });

    await clock.advance(2_200);

    expect(requests()).toEqual(["list 0", "watch 10", "list 10", "watch 50"]);
    expect(times[2]?.query.toString()).toBe("fieldSelector=a%3Db&resourceVersion=10&resourceVersionMatch=NotOlderThan");
  });

  it("lists from the cache a state not older than requested", async () => {
    const { requests, clock, informer } = await follow({ lists: [listOf(10), listOf(50)], listsFrom: "cache" });

    informer.ensureAtLeast("40");
    await clock.advance(0);

    expect(requests()).toEqual(["list 0", "watch 10", "list 40", "watch 50"]);
  });

  it("lists from the cache after an interruption, instead of verifying its position", async () => {
    const { requests, clock } = await follow({
      lists: [listOf(10), listOf(10)],
      watches: [status(500), "open"],
      listsFrom: "cache",
    });

    await clock.advance(200);

    expect(requests()).toEqual(["list 0", "watch 10", "list 10", "watch 10"]);
  });

  it("accepts an older list once the cache has been behind for five lists: the server was restored from a backup", async () => {
    const { requests, clock, logger, informer } = await follow({
      lists: [listOf(50), ...Array.from({ length: 5 }, () => json(TOO_LARGE, 504)), listOf(5)],
      watches: [status(410), "open"],
      listsFrom: "cache",
    });

    await clock.advance(120_000);

    expect(requests()).toEqual(["list 0", "watch 50", ...Array(5).fill("list 50"), "list 0", "watch 5"]);
    expect(informer.resourceVersion()).toBe("5");
    expect(logger.messages("warn")).toContain("server has gone back in time, listing anew");
  });

  it("checks no store and verifies no position where lists come from the cache: the server would have to read etcd", async () => {
    const { requests, clock } = await follow({ lists: [listOf(10)], listsFrom: "cache", checks: [listOf(10)] });

    await clock.advance(3_600_000);

    expect(requests().filter((one) => /check|verify/.test(one))).toEqual([]);
  });

  it("lists from the cache nothing older than what a watch delivered", async () => {
    const { requests, clock, last } = await follow({
      lists: [listOf(10), listOf(50)],
      watches: ["open", "open"],
      listsFrom: "cache",
    });
    last().writeLine(bookmark(30));
    last().end();

    await clock.advance(3_000);

    expect(requests().filter((one) => one.startsWith("list"))).toEqual(["list 0", "list 30"]);
  });

  it("delivers a re-creation that a list shows as a deletion and an addition", async () => {
    const { changes, clock } = await follow({
      lists: [listOf(10, thing("a", 3)), listOf(50, thing("a", 40, { uid: "other" }))],
      watches: [status(410), "open"],
    });

    await clock.advance(2_200);

    expect(changes.slice(1)).toEqual(["deleted uid-a@3 gone at 40", "added other@40"]);
  });

  it.each([
    { name: "breaks", cut: (stream: FakeByteStream) => stream.fail(new MooringError("transport-failed", "reset")) },
    {
      name: "ends inside a line",
      cut: (stream: FakeByteStream) => {
        stream.write('{"type":"ADD');
        stream.end();
      },
    },
    { name: "sends a line that is no JSON", cut: (stream: FakeByteStream) => stream.write("<html>\n") },
    {
      name: "sends an event of an unknown type",
      cut: (stream: FakeByteStream) => stream.writeLine({ type: "OTHER", object: thing("x", 99) }),
    },
    {
      name: "sends an object without a resource version",
      cut: (stream: FakeByteStream) => stream.writeLine({ type: "ADDED", object: { metadata: {} } }),
    },
    {
      name: "sends a bookmark without a resource version",
      cut: (stream: FakeByteStream) =>
        stream.writeLine({ type: "BOOKMARK", object: { metadata: { resourceVersion: "" } } }),
    },
    {
      name: "ends with an internal error",
      cut: (stream: FakeByteStream) => stream.writeLine({ type: "ERROR", object: { code: 500, message: "etcd" } }),
    },
    {
      name: "ends with an error that is no status",
      cut: (stream: FakeByteStream) => stream.writeLine({ type: "ERROR", object: "etcd" }),
    },
  ])("resumes after the last event when the watch $name", async ({ cut }) => {
    const { last, times, clock, informer } = await follow({ lists: [listOf(10)] });

    last().writeLine({ type: "ADDED", object: thing("a", 11) });
    await settle();
    cut(last());
    await clock.advance(200);

    expect(times.at(-1)).toMatchObject({ what: "watch" });
    expect(times.at(-1)?.query.get("resourceVersion")).toBe("11");
    expect(informer.size()).toBe(1);
  });

  it("is current after its list, not while its watch is interrupted, and again a second after it resumes", async () => {
    const { last, clock, informer } = await follow({ lists: [listOf(10)], watches: ["open", "broken", "open"] });
    const listed = informer.isCurrent();
    await clock.advance(60_000);
    last().end();
    await settle();
    const interrupted = informer.isCurrent();
    await clock.advance(700);
    const reopened = informer.isCurrent();
    await clock.advance(1_000);

    expect([listed, interrupted, reopened, informer.isCurrent()]).toEqual([true, false, false, true]);
  });

  it("is not current while its watch is not answered", async () => {
    const { clock, informer } = await follow({ lists: [listOf(10)], watches: ["silence"] });
    await clock.advance(5_000);

    expect([informer.resourceVersion(), informer.isCurrent()]).toEqual(["10", false]);
  });

  it.each([
    { name: "the server is away", answer: "broken" },
    { name: "the server fails", answer: status(500) },
    { name: "the role is not there yet", answer: status(403) },
    { name: "the resource is not there yet", answer: status(404) },
    { name: "the answer is no list", answer: json({ kind: "Thing" }) },
    { name: "the answer is no JSON", answer: { body: "<html>" } },
  ] as const)("tries again, later each time, when $name", async ({ answer }) => {
    const { times, clock, informer } = await follow({ lists: [answer, answer, answer, listOf(10)] });

    await clock.advance(1_400);

    expect(times.map(({ what, at }) => `${what} ${at}`)).toEqual([
      "list 0",
      "list 200",
      "list 600",
      "list 1400",
      "watch 1400",
    ]);
    expect(informer.hasSynced()).toBe(true);
  });

  it("waits as long as Retry-After says", async () => {
    const { times, clock } = await follow({ lists: [status(429, "slow down", { "retry-after": "5" }), listOf(10)] });

    await clock.advance(5_199);
    expect(times).toHaveLength(1);
    await clock.advance(1);

    expect(times[1]?.at).toBe(5_200);
  });

  it("does not wait for ever, whatever Retry-After says", async () => {
    const { times, clock } = await follow({
      lists: [status(429, "slow down", { "retry-after": "99999999" }), listOf(10)],
    });

    await clock.advance(600_000);

    expect(times.length).toBeGreaterThan(1);
  });

  it.each([
    { name: "without an event", events: [] },
    {
      name: "with the bookmark that it was asked from",
      events: [{ type: "BOOKMARK", object: { metadata: { resourceVersion: "10" } } }],
    },
  ])("backs off when each watch ends at once $name", async ({ events }) => {
    const body = events.map((event) => `${JSON.stringify(event)}\n`).join("");
    const { times, clock } = await follow({ lists: [listOf(10)], watches: [{ body }] });

    await clock.advance(10_000);

    expect(times.filter(({ what }) => what === "watch").map(({ at }) => at)).toEqual([
      0, 200, 600, 1_400, 3_000, 6_200,
    ]);
  });

  it("does not back off for a cut of a watch that was open for long", async () => {
    const { times, clock, last } = await follow({ lists: [listOf(10)] });

    // A load balancer that cuts each idle connection after 50 s.
    for (let cut = 0; cut < 8; cut += 1) {
      await clock.advance(50_000);
      last().fail(new MooringError("transport-failed", "reset"));
      await clock.advance(200);
    }

    const watches = times.filter(({ what }) => what === "watch").map(({ at }) => at);
    expect(watches.slice(1).map((at, index) => at - (watches[index] ?? 0))).toEqual(
      Array.from({ length: 8 }, () => 50_200),
    );
  });

  it.each([
    { name: "the question for its place is never answered", verifications: ["silence"], watches: ["open"] },
    { name: "the watch is never answered", verifications: [listOf(0)], watches: ["open", "silence"] },
  ] as const)("goes on to wait longer each time when $name: to hang is not to stand", async (script) => {
    const { times, clock, last } = await follow({ lists: [listOf(10)], ...script });
    last().fail(new MooringError("transport-failed", "reset"));

    await clock.advance(200 + 60_000 + 400 + 60_000 + 800);

    const verifications = times.filter(({ what }) => what === "verify").map(({ at }) => at);
    expect(verifications).toEqual([200, 60_600, 121_400]);
  });

  it("begins with short waits again after an event", async () => {
    const { times, clock, last } = await follow({ lists: ["broken", "broken", listOf(10)], watches: ["open"] });
    await clock.advance(600);

    last().writeLine({ type: "ADDED", object: thing("a", 11) });
    await settle();
    last().fail(new MooringError("transport-failed", "reset"));
    await clock.advance(200);

    expect(times.map(({ what, at }) => `${what} ${at}`)).toEqual([
      "list 0",
      "list 200",
      "list 600",
      "watch 600",
      "verify 800",
      "watch 800",
    ]);
  });

  it("ends a watch that the server should have ended long ago", async () => {
    const { times, clock } = await follow({ lists: [listOf(10)] });

    await clock.advance(614_999);
    expect(times).toHaveLength(2);
    await clock.advance(1 + 200);

    expect(times.at(-1)).toMatchObject({ what: "watch", at: 615_200 });
  });

  it("times out a list after a minute", async () => {
    const { times, clock } = await follow({ lists: ["silence", listOf(10)] });

    await clock.advance(60_200);

    expect(times.map(({ what, at }) => `${what} ${at}`)).toEqual(["list 0", "list 60200", "watch 60200"]);
  });

  it.each([
    { name: "a list is on its way", lists: ["silence"], watches: [] },
    { name: "a watch is being opened", lists: [listOf(10)], watches: ["silence"] },
    { name: "a watch is open", lists: [listOf(10)], watches: ["open"] },
    { name: "it waits after a failure", lists: ["broken"], watches: [] },
  ] as const)("ends when it is stopped while $name", async ({ lists, watches }) => {
    const { stop, ended, logger, requests, clock } = await follow({ lists, watches });
    const before = [logger.messages("warn").length, requests().length];

    stop.abort();

    expect(await ended).toBeUndefined();
    await clock.advance(60_000);
    expect([logger.messages("warn").length, requests().length]).toEqual(before);
  });

  it("delivers a list when its version is known", async () => {
    const stop = new AbortController();
    const clock = createFakeClock();
    const transport = createFakeTransport(({ path }) =>
      path.includes("watch") ? "silence" : listOf(10, thing("a", 3)),
    );
    const client = createKubeClient(createFakeConnection(transport), { clock });
    const known: unknown[] = [];
    const informer = createInformer(
      { client, clock, logger: createFakeLogger(), random: createFixedRandom(1) },
      {
        collection: { path: "/things", listsFrom: "cache" },
        project,
        onReplaced: (version) => known.push([version, informer.resourceVersion()]),
      },
    );
    const running = informer.run(stop.signal);
    await settle();
    stop.abort();
    await running;

    expect(known).toEqual([["10", "10"]]);
  });

  it("ends when the receiver of the list stops it", async () => {
    const stop = new AbortController();
    const clock = createFakeClock();
    const transport = createFakeTransport(({ path }) =>
      path.includes("watch") ? "silence" : listOf(10, thing("a", 3)),
    );
    const client = createKubeClient(createFakeConnection(transport), { clock });
    const informer = createInformer(
      { client, clock, logger: createFakeLogger(), random: createFixedRandom(1) },
      { collection: { path: "/things", listsFrom: "quorum" }, project, onReplaced: () => stop.abort() },
    );
    let isOver = false;

    const running = informer.run(stop.signal).then(() => {
      isOver = true;
    });
    await settle();

    expect(isOver).toBe(true);
    await running;
  });

  it("runs once at a time, and resumes at its position when it runs again", async () => {
    const { informer, stop, ended, requests } = await follow({ lists: [listOf(10)] });

    const twice = await informer.run(stop.signal).catch((error: unknown) => error);
    stop.abort();
    await ended;
    const again = new AbortController();
    const running = informer.run(again.signal);
    await settle();
    again.abort();
    await running;

    expect(twice).toBeInstanceOf(TypeError);
    expect(requests()).toEqual(["list", "watch 10", "watch 10"]);
  });

  it("makes one watch request each ten minutes while nothing changes", async () => {
    const { last, clock, times, logger } = await follow({ lists: [listOf(10)] });

    for (let minute = 1; minute <= 60; minute += 1) {
      await clock.advance(minute % 10 === 0 ? 55_000 : 60_000);
      last().writeLine(bookmark(10 + minute));
      if (minute % 10 === 0) last().end();
      await settle();
    }

    const requests = Object.groupBy(times, ({ what }) => what);
    expect([requests.list?.length, requests.watch?.length, requests.check?.length, requests.verify]).toEqual([
      1,
      7,
      1,
      undefined,
    ]);
    expect(logger.messages("warn")).toEqual([]);
  });

  it("ends with a bug of its receiver", async () => {
    const { ended } = await follow({
      lists: [listOf(10, thing("a", 3))],
      onChange: () => {
        throw new TypeError("a bug");
      },
    });

    expect(await ended).toMatchObject({ message: "a bug" });
  });

  it("counts why its watch restarted, and shows progress at each attempt", async () => {
    const { informer, last, clock } = await follow({ lists: [listOf(10), listOf(20)] });
    const before = informer.progress();

    last().writeLine({ type: "ADDED", object: thing("a", 11) });
    await clock.advance(60_000);
    last().end();
    await clock.advance(1_000);
    last().writeLine({ type: "ERROR", object: { kind: "Status", code: 500, message: "no" } });
    await clock.advance(1_000);
    informer.ensureAtLeast("99");
    await clock.advance(5_000);

    expect(informer.restarts()).toEqual({ ended: 1, failed: 1, relist: 1 });
    expect(informer.progress()).toBeGreaterThan(before + 3);
  });

  it("leaves out what it does not understand, and counts it", async () => {
    const { informer, last, changes, logger } = await follow({
      lists: [listOf(10, thing("a", 3), { metadata: { uid: "x" } })],
    });

    last().writeLine({ type: "ADDED", object: { metadata: { uid: "y", resourceVersion: "11" } } });
    last().writeLine({ type: "ADDED", object: thing("b", 12) });
    await settle();

    expect(changes).toEqual(["added uid-a@3", "added uid-b@12"]);
    expect(informer.undecodable()).toBe(2);
    expect(informer.resourceVersion()).toBe("12");
    expect(logger.messages("warn")).toEqual(["object not understood", "object not understood"]);
  });

  it.each([
    { name: "as an answer to its question", verifications: [json(TOO_LARGE, 504)] },
    {
      name: "as an older server says it",
      verifications: [status(504, "Too large resource version: 9, current: 5")],
    },
    { name: "because it has forgotten it", verifications: [status(410)] },
  ])(
    "lists again when the server, after an interruption, does not know where it was: $name",
    async ({ verifications }) => {
      // A server whose etcd was restored from a backup stays silent for a watch from what is in its future.
      const { last, requests, clock, changes } = await follow({
        lists: [listOf(10, thing("a", 7)), listOf(5, thing("a", 3))],
        verifications,
      });

      last().fail(new MooringError("transport-failed", "reset"));
      await clock.advance(200 + 1_000 + 400 + 2_000);

      expect(requests()).toEqual(["list", "watch 10", "verify 10", "list", "watch 5"]);
      expect(changes).toEqual(["added uid-a@7", "updated uid-a@3"]);
    },
  );

  it("lists again when the watch itself says that the resource version is too large", async () => {
    const { last, requests, clock } = await follow({ lists: [listOf(10), listOf(5)] });

    last().writeLine({ type: "ERROR", object: TOO_LARGE });
    await clock.advance(1_000 + 200 + 2_000);

    expect(requests()).toEqual(["list", "watch 10", "list", "watch 5"]);
  });

  it("resumes at its position when the server cannot verify it", async () => {
    const { last, requests, clock } = await follow({ lists: [listOf(10)], verifications: [status(400)] });

    last().fail(new MooringError("transport-failed", "reset"));
    await clock.advance(200);

    expect(requests()).toEqual(["list", "watch 10", "verify 10", "watch 10"]);
  });

  it("lists again when several watches in a row end at once without an event", async () => {
    const { requests, clock } = await follow({ lists: [listOf(10)], watches: [{}, {}, {}, {}, {}, "open"] });

    await clock.advance(6_200);

    expect(requests().filter((what) => what.startsWith("list"))).toHaveLength(2);
    expect(requests().at(-1)).toBe("watch 10");
  });

  it.each([
    { name: "when bookmarks no longer come", before: [bookmark(11)], watches: 2 },
    { name: "but not where none ever came", before: [{ type: "ADDED", object: thing("a", 11) }], watches: 1 },
  ])("ends a watch without a line for three minutes $name", async ({ before, watches }) => {
    const { last, times, clock } = await follow({ lists: [listOf(10)] });

    await clock.advance(50_000);
    for (const event of before) last().writeLine(event);
    await clock.advance(180_000 + 200);

    expect(times.filter(({ what }) => what === "watch")).toHaveLength(watches);
  });

  it("waits as long as the watch's error says", async () => {
    const { last, times, clock } = await follow({ lists: [listOf(10)] });

    last().writeLine({ type: "ERROR", object: { code: 429, message: "busy", details: { retryAfterSeconds: 7 } } });
    await clock.advance(7_200);

    expect(times.at(-1)).toMatchObject({ what: "watch", at: 7_200 });
  });

  it.each([
    { name: "an older state", events: [{ type: "MODIFIED", object: thing("a", 9) }] },
    { name: "the same state again", events: [{ type: "MODIFIED", object: thing("a", 12) }] },
    {
      name: "a state of what it was before it was re-created",
      events: [{ type: "MODIFIED", object: thing("a", 9, { uid: "older" }) }],
    },
    {
      name: "the late deletion of what it was before",
      events: [{ type: "DELETED", object: thing("a", 9, { uid: "older" }) }],
    },
    { name: "an older bookmark", events: [bookmark(9)] },
    {
      name: "a state of what was deleted since",
      events: [
        { type: "ADDED", object: thing("b", 13) },
        { type: "DELETED", object: thing("b", 14) },
        { type: "ADDED", object: thing("b", 13) },
        { type: "DELETED", object: thing("b", 14) },
      ],
      changes: ["added uid-b@13", "deleted uid-b@14 gone at 14"],
      version: "14",
    },
    {
      name: "an outdated event, which is delivered",
      events: [
        { type: "ADDED", object: thing("c", 14) },
        { type: "ADDED", object: thing("b", 13) },
      ],
      changes: ["added uid-c@14", "added uid-b@13"],
      version: "14",
    },
  ])("is not moved backwards by $name", async ({ events, changes: expected = [], version = "12" }) => {
    const { last, changes, informer } = await follow({ lists: [listOf(12, thing("a", 12))] });

    for (const event of events) last().writeLine(event);
    await settle();

    expect(changes.slice(1)).toEqual(expected);
    expect(informer.resourceVersion()).toBe(version);
  });

  it("logs failures of a row at widening intervals", async () => {
    const { logger, clock } = await follow({ lists: ["broken"] });

    await clock.advance(300_000);

    expect(logger.lines.filter(({ level }) => level === "warn").map(({ fields }) => fields.failures)).toEqual([
      1, 2, 4, 8, 16,
    ]);
    expect(logger.lines.find(({ level }) => level === "warn")?.fields.path).toBe("/api/v1/things");
  });
});
