import { describe, expect, it } from "vitest";
import { MooringError } from "../../../../common/runtime/errors.ts";
import { settle } from "../../../fakes/clock.ts";
import { json } from "../../../fakes/transport.ts";
import { bookmark, END_OF_LIST, follow, listOf, page, status, TOO_LARGE, thing } from "./following.ts";

const END = { [END_OF_LIST]: "true" };

describe("a list as a stream", () => {
  it("is one request with the watch, and is delivered once it is complete", async () => {
    const { last, changes, requests, times, informer, replaced } = await follow({ lists: [], streams: ["open"] });

    last().writeLine({ type: "ADDED", object: thing("a", 3) });
    last().writeLine({ type: "ADDED", object: thing("b", 4) });
    await settle();
    const early = [changes.length, informer.hasSynced(), informer.resourceVersion(), replaced()];
    last().writeLine(bookmark(10, END));
    last().writeLine({ type: "MODIFIED", object: thing("a", 11) });
    await settle();

    expect(early).toEqual([0, false, undefined, 0]);
    expect(changes).toEqual(["added uid-a@3", "added uid-b@4", "updated uid-a@11"]);
    expect([informer.hasSynced(), informer.resourceVersion(), replaced()]).toEqual([true, "11", 1]);
    expect(requests()).toEqual(["stream"]);
    expect(times[0]?.query.toString()).toBe(
      "fieldSelector=a%3Db&watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=600",
    );
  });

  it("yields to the event loop when it is long, and is complete before any change follows", async () => {
    const scene = await follow({ lists: [], streams: ["open"], onChange: () => scene.clock.pass(1) });
    const { last, changes, clock, informer } = scene;
    const things = Array.from({ length: 40 }, (_, index) => thing(`thing-${index}`, index + 1));

    for (const object of things) last().writeLine({ type: "ADDED", object });
    last().writeLine(bookmark(50, END));
    last().writeLine({ type: "MODIFIED", object: thing("thing-0", 51) });
    await settle();
    const early = [changes.length, informer.hasSynced(), informer.resourceVersion()];
    await clock.advance(100);

    expect(early).toEqual([16, false, undefined]);
    expect(changes.findIndex((change) => change.startsWith("updated"))).toBe(40);
    expect([informer.hasSynced(), informer.resourceVersion()]).toEqual([true, "51"]);
  });

  it("may be empty", async () => {
    const { last, informer } = await follow({ lists: [], streams: ["open"] });

    last().writeLine(bookmark(10, END));
    await settle();

    expect([informer.hasSynced(), informer.size(), informer.resourceVersion()]).toEqual([true, 0, "10"]);
  });

  it("includes changes that arrive with it", async () => {
    const { last, changes } = await follow({ lists: [], streams: ["open"] });

    for (const [type, object] of [
      ["ADDED", thing("a", 3)],
      ["ADDED", thing("b", 4)],
      ["MODIFIED", thing("a", 5)],
      ["DELETED", thing("b", 6)],
      ["ADDED", thing("b", 7, { uid: "other" })],
      ["ADDED", thing("c", 8)],
      ["DELETED", thing("c", 9)],
    ] as const) {
      last().writeLine({ type, object });
    }
    last().writeLine(bookmark(10, END));
    await settle();

    expect(changes).toEqual(["added uid-a@5", "added other@7"]);
  });

  it("continues as a watch from its position when it breaks after the list", async () => {
    const { last, clock, requests } = await follow({ lists: [], streams: ["open"] });

    last().writeLine(bookmark(10, END));
    await settle();
    last().fail(new MooringError("transport-failed", "reset"));
    await clock.advance(200);

    expect(requests()).toEqual(["stream", "verify 10", "watch 10"]);
  });

  it.each([
    { name: "breaks", end: "fail" },
    { name: "ends", end: "end" },
    { name: "ends with an error", end: "error" },
  ])("starts again after a pause when it $name before it is complete, and keeps the store", async ({ end }) => {
    const { last, clock, changes, requests, informer, times } = await follow({ lists: [], streams: ["open"] });
    last().writeLine({ type: "ADDED", object: thing("a", 3) });
    last().writeLine(bookmark(10, END));
    last().writeLine({ type: "ERROR", object: { code: 410, message: "too old" } });
    await clock.advance(2_200);

    last().writeLine({ type: "ADDED", object: thing("b", 30) });
    await settle();
    if (end === "fail") last().fail(new MooringError("transport-failed", "reset"));
    else if (end === "end") last().end();
    else last().writeLine({ type: "ERROR", object: { code: 500, message: "etcd" } });
    await settle();
    const between = [...informer.all()].map(({ uid }) => uid);
    await clock.advance(400);
    last().writeLine({ type: "ADDED", object: thing("c", 40) });
    last().writeLine(bookmark(50, END));
    await settle();

    expect(between).toEqual(["uid-a"]);
    expect(changes).toEqual(["added uid-a@3", "deleted uid-a@3 gone at 50", "added uid-c@40"]);
    expect(requests()).toEqual(["stream", "stream", "stream"]);
    expect(times.map(({ at }) => at)).toEqual([0, 2_200, 2_600]);
  });

  it.each([
    { name: "does not know what is asked", code: 400 },
    { name: "has the feature switched off", code: 422 },
  ])("comes by pages at once, then and ever after, from a server that $name", async ({ code }) => {
    const { clock, requests, last, logger } = await follow({
      lists: [listOf(10, thing("a", 3)), listOf(50, thing("a", 3))],
      streams: [status(code)],
    });
    const first = [...requests()];

    last().writeLine({ type: "ERROR", object: { code: 410, message: "too old" } });
    await clock.advance(2_200);

    expect(first).toEqual(["stream", "list", "watch 10"]);
    expect(requests().slice(3)).toEqual(["list", "watch 50"]);
    expect(logger.messages("info")[0]).toBe("the server does not stream lists, listing by pages");
  });

  it("is requested again after a pause from an overloaded server", async () => {
    const { clock, requests, times } = await follow({
      lists: [],
      streams: [status(429, "busy", { "retry-after": "3" })],
    });

    await clock.advance(3_200);

    expect(requests()).toEqual(["stream", "stream"]);
    expect(times[1]?.at).toBe(3_200);
  });

  it("comes by pages from a server that is so old that it sends a bookmark without a mark", async () => {
    const { last, clock, requests } = await follow({ lists: [listOf(10, thing("a", 3))], streams: ["open"] });

    last().writeLine({ type: "ADDED", object: thing("a", 3) });
    last().writeLine(bookmark(10));
    await clock.advance(200);

    expect(requests()).toEqual(["stream", "list", "watch 10"]);
  });

  it("comes by pages when it came to a halt twice", async () => {
    const { last, clock, requests, informer } = await follow({ lists: [listOf(10, thing("a", 3))], streams: ["open"] });

    last().writeLine({ type: "ADDED", object: thing("a", 3) });
    await clock.advance(20_000 + 200);
    last().writeLine({ type: "ADDED", object: thing("a", 3) });
    await clock.advance(20_000 + 400);

    expect(requests()).toEqual(["stream", "stream", "list", "watch 10"]);
    expect(informer.size()).toBe(1);
  });

  it("times out also before its first line", async () => {
    const { clock, requests } = await follow({ lists: [], streams: ["open"] });

    await clock.advance(19_999 + 200);
    const early = requests().length;
    await clock.advance(1);

    expect([early, requests().length]).toEqual([1, 2]);
  });

  it("has no time limit while lines arrive", async () => {
    const { last, clock, requests } = await follow({ lists: [], streams: ["open"] });

    for (let second = 0; second < 200; second += 10) {
      await clock.advance(10_000);
      last().writeLine({ type: "ADDED", object: thing(`a${second}`, 3) });
    }
    await settle();

    expect(requests()).toEqual(["stream"]);
  });

  it("does not store an object that cannot be decoded, unless it has one of that UID", async () => {
    const { last, informer } = await follow({ lists: [], streams: ["open"] });

    last().writeLine({ type: "ADDED", object: thing("a", 3, { text: "garbage" }) });
    last().writeLine({ type: "ADDED", object: thing("b", 4) });
    last().writeLine(bookmark(10, END));
    await settle();

    expect([informer.size(), informer.unreadable(), informer.isStale("a")]).toEqual([1, 1, true]);
  });
});

describe("a list by pages", () => {
  it("is delivered once it is complete, at the version of its first page", async () => {
    const { changes, informer, times, replaced } = await follow({
      lists: [page(10, "p2", thing("a", 3)), page(10, "p3", thing("b", 4)), page(11, "", thing("c", 5))],
    });

    expect(changes).toEqual(["added uid-a@3", "added uid-b@4", "added uid-c@5"]);
    expect([informer.resourceVersion(), replaced()]).toEqual(["10", 1]);
    expect(times.slice(0, 3).map(({ query }) => query.toString())).toEqual([
      "fieldSelector=a%3Db&limit=500",
      "fieldSelector=a%3Db&limit=500&continue=p2",
      "fieldSelector=a%3Db&limit=500&continue=p3",
    ]);
  });

  it("starts again with larger pages after a pause when it expires in the middle", async () => {
    const { changes, clock, times, informer } = await follow({
      lists: [
        ...[page(10, "p2", thing("a", 3)), status(410), status(410)],
        ...[page(20, "p2", thing("b", 4)), page(20, "", thing("c", 5)), listOf(30, thing("b", 4), thing("c", 5))],
      ],
    });

    const early = [changes.length, informer.hasSynced()];
    await clock.advance(2_200 + 2_400);
    informer.ensureAtLeast("30");
    await clock.advance(0);

    expect(early).toEqual([0, false]);
    expect(changes).toEqual(["added uid-b@4", "added uid-c@5"]);
    expect(times.map(({ what, query, at }) => [what, query.get("limit"), at])).toEqual([
      ["list", "500", 0],
      ["list", "500", 0],
      ["list", "1000", 2_200],
      ["list", "2000", 4_600],
      ["list", "2000", 4_600],
      ["watch", null, 4_600],
      ["list", "500", 4_600],
      ["watch", null, 4_600],
    ]);
  });

  it("is not delivered in part when it fails in the middle", async () => {
    const { changes, clock, requests } = await follow({ lists: [page(10, "p2", thing("a", 3)), "broken", listOf(20)] });

    await clock.advance(200);

    expect(changes).toEqual([]);
    expect(requests()).toEqual(["list", "list", "list", "watch 20"]);
  });

  it("is not projected again where it shows the stored state", async () => {
    const { informer, clock, projected } = await follow({
      lists: [listOf(10, thing("a", 3), thing("b", 4)), listOf(50, thing("a", 3), thing("b", 40))],
    });

    informer.ensureAtLeast("20");
    await clock.advance(0);

    expect(projected()).toBe(3);
  });

  it("is given up when the server does not get on with it", async () => {
    const { requests, clock } = await follow({ lists: [page(10, "p2"), page(10, "p2"), listOf(20)] });
    const early = [...requests()];

    await clock.advance(200);

    expect(early).toEqual(["list", "list"]);
    expect(requests().slice(2)).toEqual(["list", "watch 20"]);
  });

  it("does not name a version on the pages that follow the first: the server refuses that", async () => {
    const { times } = await follow({ lists: [page(10, "p2"), page(10, "")], listsFrom: "cache" });

    expect(times.slice(0, 2).map(({ query }) => query.toString())).toEqual([
      "fieldSelector=a%3Db&resourceVersion=0",
      "fieldSelector=a%3Db&continue=p2",
    ]);
  });

  it("lists again when the server answers that the resource version is too large", async () => {
    const { clock, requests } = await follow({ lists: [json(TOO_LARGE, 504), listOf(5)] });

    await clock.advance(1_000 + 200 + 2_000);

    expect(requests()).toEqual(["list", "list", "watch 5"]);
  });
});

describe("an object that cannot be decoded", () => {
  const garbage = { text: "garbage" };

  it.each([
    {
      name: "an update leaves the older state, as stale",
      events: [{ type: "MODIFIED", object: thing("a", 11, garbage) }],
      changes: [],
      stale: true,
    },
    {
      name: "a state that is understood heals it",
      events: [
        { type: "MODIFIED", object: thing("a", 11, garbage) },
        { type: "MODIFIED", object: thing("a", 12) },
      ],
      changes: ["updated uid-a@12"],
      stale: false,
    },
    {
      name: "an older state that comes late does not",
      events: [
        { type: "MODIFIED", object: thing("a", 11, garbage) },
        { type: "MODIFIED", object: thing("a", 9) },
      ],
      changes: [],
      stale: true,
    },
    {
      name: "a deletion needs the identity alone, and comes with the last state that was understood",
      events: [{ type: "DELETED", object: thing("a", 11, garbage) }],
      changes: ["deleted uid-a@3 gone at 11"],
      stale: false,
    },
    {
      name: "a deletion ends also what was stale",
      events: [
        { type: "MODIFIED", object: thing("a", 11, garbage) },
        { type: "DELETED", object: thing("a", 12, garbage) },
      ],
      changes: ["deleted uid-a@3 gone at 12"],
      stale: false,
    },
    {
      name: "a re-creation ends the one before, also when it is not understood itself",
      events: [{ type: "MODIFIED", object: thing("a", 11, { ...garbage, uid: "other" }) }],
      changes: ["deleted uid-a@3 gone at 11"],
      stale: true,
    },
  ])("$name", async ({ events, changes: expected, stale }) => {
    const { last, changes, informer } = await follow({ lists: [listOf(10, thing("a", 3))] });

    for (const event of events) last().writeLine(event);
    await settle();

    expect(changes.slice(1)).toEqual(expected);
    expect([informer.isStale("a"), informer.unreadable()]).toEqual([stale, stale ? 1 : 0]);
  });

  it("stays in the store over a list that shows it, and goes with one that does not", async () => {
    const { last, clock, changes, informer } = await follow({
      lists: [listOf(10, thing("a", 3)), listOf(50, thing("a", 11, garbage)), listOf(60)],
    });

    for (const wait of [2_200, 2_400]) {
      last().writeLine({ type: "ERROR", object: { code: 410, message: "too old" } });
      await clock.advance(wait);
    }

    expect(changes).toEqual(["added uid-a@3", "deleted uid-a@3 gone at 60"]);
    expect(informer.unreadable()).toBe(0);
  });

  it("is logged once for an object, not for each of its states", async () => {
    const { last, logger, informer } = await follow({ lists: [listOf(10, thing("a", 3), thing("b", 4))] });

    for (const version of [11, 12, 13]) last().writeLine({ type: "MODIFIED", object: thing("a", version, garbage) });
    last().writeLine({ type: "MODIFIED", object: thing("b", 14, garbage) });
    await settle();

    expect(logger.lines.filter(({ level }) => level === "warn").map(({ fields }) => fields.object)).toEqual(["a", "b"]);
    expect(informer.undecodable()).toBe(4);
  });
});

describe("an index of an informer", () => {
  it("follows additions, changes, deletions and lists", async () => {
    const { last, informer, clock } = await follow({
      lists: [
        listOf(10, thing("a", 3, { text: "x" }), thing("b", 4, { text: "x" })),
        listOf(50, thing("c", 40, { text: "x" })),
      ],
    });
    const found = (value: string): readonly string[] => informer.by("text", value).map(({ key }) => key);
    const seen = [found("x")];

    last().writeLine({ type: "MODIFIED", object: thing("a", 11, { text: "y" }) });
    last().writeLine({ type: "DELETED", object: thing("b", 12, { text: "unseen" }) });
    await settle();
    seen.push(found("x"), found("y"), found("unseen"));
    last().writeLine({ type: "ERROR", object: { code: 410, message: "too old" } });
    await clock.advance(2_200);
    seen.push(found("x"), found("y"));

    expect(seen).toEqual([["a", "b"], [], ["a"], [], ["c"], []]);
  });
});
