import { describe, expect, it } from "vitest";
import { settle } from "../../../fakes/clock.ts";
import { bookmark, follow, listOf, page, type Script, status, thing } from "./following.ts";

/** With the highest fraction a check comes each half an hour. */
const HALF_AN_HOUR_MS = 1_800_000;
const DRIFTED = "store has drifted from the server, listing anew";

async function followed(script: Pick<Script, "lists" | "checks">) {
  const scene = await follow(script);
  const count = (what: string): number => scene.times.filter((one) => one.what === what).length;
  return { ...scene, count };
}

describe("the consistency check of an informer", () => {
  it("lists metadata only, page by page with pauses", async () => {
    const { clock, times, count } = await followed({
      lists: [listOf(10, thing("a", 3), thing("b", 4))],
      checks: [page(10, "p2", thing("a", 3)), page(10, "", thing("b", 4))],
    });

    await clock.advance(HALF_AN_HOUR_MS - 1);
    const early = count("check");
    await clock.advance(21);

    const checks = times.filter(({ what }) => what === "check");
    expect(early).toBe(0);
    expect(checks.map(({ at, query }) => `${at} ${query}`)).toEqual([
      `${HALF_AN_HOUR_MS} fieldSelector=a%3Db&limit=500`,
      `${HALF_AN_HOUR_MS + 20} fieldSelector=a%3Db&limit=500&continue=p2`,
    ]);
    expect(count("list")).toBe(1);
  });

  it.each([
    { name: "lacks an object", checks: [listOf(10, thing("a", 3), thing("b", 4))], drift: 1, output: ["missing b"] },
    { name: "has an older state", checks: [listOf(10, thing("a", 9))], drift: 1, output: ["outdated a"] },
    { name: "has what is long gone", checks: [listOf(10)], drift: 1, output: ["leftover a"] },
    {
      name: "has another object of that name",
      checks: [listOf(10, thing("a", 9, { uid: "other" }))],
      drift: 1,
      output: ["replaced a"],
    },
  ])("counts, logs and repairs it when the store $name", async ({ checks, drift, output }) => {
    const { clock, informer, logger, count } = await followed({
      lists: [listOf(10, thing("a", 3)), listOf(20)],
      checks,
    });

    await clock.advance(HALF_AN_HOUR_MS);

    expect(informer.drift()).toBe(drift);
    expect(logger.lines.find(({ message }) => message === DRIFTED)?.fields).toMatchObject({
      objects: drift,
      examples: output,
    });
    expect(count("list")).toBe(2);
    expect([informer.size(), informer.resourceVersion()]).toEqual([0, "20"]);
  });

  it("waits for the watch to come as far as the list before it believes in a difference", async () => {
    const { clock, informer, last, count } = await followed({
      lists: [listOf(10, thing("a", 3))],
      checks: [listOf(15, thing("a", 14), thing("b", 15))],
    });
    await clock.advance(HALF_AN_HOUR_MS);

    await clock.advance(60_000);
    last().writeLine({ type: "MODIFIED", object: thing("a", 14) });
    last().writeLine({ type: "ADDED", object: thing("b", 15) });
    await clock.advance(10_000);

    expect([informer.drift(), count("list")]).toEqual([0, 1]);
  });

  it("believes in it when the watch gets there without it", async () => {
    const { clock, informer, last } = await followed({
      lists: [listOf(10, thing("a", 3)), listOf(20)],
      checks: [listOf(15, thing("a", 14))],
    });
    await clock.advance(HALF_AN_HOUR_MS);
    const early = informer.drift();

    last().writeLine(bookmark(15));
    await clock.advance(2_000);

    expect([early, informer.drift()]).toEqual([0, 1]);
  });

  it("believes in it when the watch does not get there for three minutes", async () => {
    const { clock, informer } = await followed({
      lists: [listOf(10, thing("a", 3)), listOf(20)],
      checks: [listOf(15, thing("a", 14))],
    });

    await clock.advance(HALF_AN_HOUR_MS + 179_000);
    const early = informer.drift();
    await clock.advance(3_000);

    expect([early, informer.drift()]).toEqual([0, 1]);
  });

  it("repairs nothing when a new list comes before the watch has caught up", async () => {
    const { clock, informer, last, count } = await followed({
      lists: [listOf(10, thing("a", 3)), "silence", listOf(20, thing("a", 14))],
      checks: [listOf(15, thing("a", 14))],
    });
    await clock.advance(HALF_AN_HOUR_MS);

    last().writeLine({ type: "ERROR", object: { code: 410, message: "too old" } });
    await clock.advance(10_000);
    const between = informer.drift();
    await clock.advance(60_000);

    expect([between, informer.drift(), count("list")]).toEqual([0, 0, 3]);
  });

  it("lists again when the server has gone back in time", async () => {
    const { clock, informer, logger, changes } = await followed({
      lists: [listOf(10, thing("a", 9)), listOf(5, thing("a", 3))],
      checks: [listOf(5, thing("a", 3))],
    });

    await clock.advance(HALF_AN_HOUR_MS);

    expect(logger.messages("warn")).toContain("server has gone back in time, listing anew");
    expect(changes).toEqual(["added uid-a@9", "updated uid-a@3"]);
    expect(informer.resourceVersion()).toBe("5");
  });

  it.each([
    { name: "the server fails", checks: [status(500), listOf(10)] },
    { name: "the server forgets the list in the middle", checks: [page(10, "p2"), status(410), listOf(10)] },
    { name: "the answer is no list", checks: [{ body: "{}" }, listOf(10)] },
  ])("leaves it to the next check when $name", async ({ checks }) => {
    const { clock, informer, count } = await followed({ lists: [listOf(10, thing("a", 3)), listOf(20)], checks });

    await clock.advance(HALF_AN_HOUR_MS + 1_000);
    const first = [informer.drift(), count("list")];
    await clock.advance(HALF_AN_HOUR_MS);

    expect(first).toEqual([0, 1]);
    expect([informer.drift(), count("list")]).toEqual([1, 2]);
  });

  it("knows the newest state also of objects that cannot be decoded", async () => {
    const { clock, informer, last } = await followed({
      lists: [listOf(10, thing("a", 3))],
      checks: [listOf(12, thing("a", 11), thing("b", 12))],
    });
    last().writeLine({ type: "MODIFIED", object: thing("a", 11, { text: "garbage" }) });
    last().writeLine({ type: "ADDED", object: thing("b", 12, { text: "garbage" }) });
    await settle();

    await clock.advance(HALF_AN_HOUR_MS);

    expect([informer.drift(), informer.unreadable()]).toEqual([0, 2]);
  });

  it("is given up when the informer is stopped", async () => {
    const { clock, stop, ended, informer } = await followed({
      lists: [listOf(10, thing("a", 3))],
      checks: [listOf(15, thing("a", 14))],
    });
    await clock.advance(HALF_AN_HOUR_MS + 10_000);

    stop.abort();

    expect(await ended).toBeUndefined();
    expect([informer.drift(), clock.sleeps()]).toEqual([0, []]);
  });
});
