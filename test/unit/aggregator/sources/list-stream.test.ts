import { describe, expect, it } from "vitest";
import {
  type Listed,
  type ListHead,
  listRoutes,
  MOST_LISTS,
  queryProblem,
} from "../../../../aggregator/sources/list-stream.ts";
import type { RouteAnswer } from "../../../../common/runtime/http-answer.ts";
import { createFakeClock, settle } from "../../../fakes/clock.ts";
import { wholeAnswer } from "../../../fakes/listen.ts";

const HEAD: ListHead = {
  cluster: "c1",
  serverTime: "2026-09-10T00:26:40.000Z",
  nodes: { total: 1, stale: 0, unreported: 0 },
};

function listOf(objects: Iterable<Listed>, clock = createFakeClock(), { signal } = new AbortController()) {
  return asked("", { objects, clock, signal });
}

interface Asked {
  readonly objects: Iterable<Listed>;
  readonly clock: ReturnType<typeof createFakeClock>;
  readonly signal: AbortSignal;
}

function asked(query: string, { objects, clock, signal }: Asked) {
  const [route] = listRoutes(clock, () => ({ head: () => HEAD, objects: () => objects, signal }));
  const request = { params: {}, query: new URLSearchParams(query), body: async () => "" };
  return async (): Promise<RouteAnswer> => (await route?.answer(request)) ?? expect.fail("no route");
}

function* numbered(count: number, eachTakes: () => void = () => {}) {
  for (let number = 0; number < count; number += 1) {
    const entry = (): object => {
      eachTakes();
      return { number };
    };
    yield { name: `${number}`, entry };
  }
}

function partsOf({ rest }: RouteAnswer): AsyncIterator<string> {
  return rest?.[Symbol.asyncIterator]() ?? expect.fail("an answer without entries");
}

describe("a list", () => {
  it("is sent before it is complete, and made no faster than the client reads it", async () => {
    let made = 0;
    const entries = numbered(100_000, () => {
      made += 1;
    });
    const parts = partsOf(await listOf(entries)());

    const { value: first } = await parts.next();
    const before = made;
    await settle();

    expect(first.length).toBeLessThan(40_000);
    expect([made, made < 5_000]).toEqual([before, true]);
  });

  it("gives others a turn after at most one entry beyond five milliseconds", async () => {
    const clock = createFakeClock();
    let made = 0;
    const entries = numbered(10, () => {
      made += 1;
      clock.pass(2);
    });
    const reading = wholeAnswer(await listOf(entries, clock)());

    const turns: number[] = [];
    for (let before = 0; before < 10; before = made) {
      await settle();
      turns.push(made - before);
      await clock.advance(10);
    }
    await reading;

    expect([made, Math.max(...turns) <= 3]).toEqual([10, true]);
  });

  it.each([
    ["the aggregator no longer leads", 0, true, "stopping"],
    ["the client has read it too slowly for ten minutes", 600_001, false, "too slowly"],
  ])("is cut, and does not end, when %s", async (...[, afterMs, isStopped, why]) => {
    const [clock, stop] = [createFakeClock(), new AbortController()];
    const parts = partsOf(await listOf(numbered(100_000), clock, stop)());
    await parts.next();
    clock.pass(afterMs);
    if (isStopped) stop.abort();

    const next = Promise.all([parts.next(), clock.advance(1)]);

    await expect(next).rejects.toThrow(why);
  });
});

describe("lists at once", () => {
  it("are limited: the next one has to come again", async () => {
    const ask = listOf(numbered(100_000));
    const open = await Promise.all(Array.from({ length: MOST_LISTS }, ask));

    expect(open.map(({ status }) => status)).toEqual([200, 200]);
    expect(await ask()).toMatchObject({ status: 429, headers: { "retry-after": "1" } });
  });
});

describe("the parameters of a list", () => {
  it.each([
    { name: "each value that is given", query: "namespace=shop&namespace=lab&name=data", found: ["shop", "lab"] },
    { name: "all where another one is given", query: "name=data", found: ["shop", "lab", "home"] },
  ])("select $name", async ({ query, found }) => {
    const objects = ["shop", "lab", "home"].map((namespace) => ({
      namespace,
      name: "data",
      entry: () => ({ namespace }),
    }));
    const list = asked(query, { objects, clock: createFakeClock(), signal: new AbortController().signal });
    const lines = (await wholeAnswer(await list())).body.trimEnd().split("\n");

    expect(lines.slice(1, -1).map((line) => JSON.parse(line).namespace)).toEqual(found);
  });

  it.each([
    {
      name: "an unknown one, with those allowed",
      query: "x=1&y=2",
      problem: 'unknown parameter "x"; allowed: namespace, name',
    },
    { name: "an empty value", query: "namespace=shop&name=", problem: "name: empty" },
  ])("have a problem that names $name", ({ query, problem }) => {
    expect(queryProblem(["namespace", "name"], new URLSearchParams(query))).toEqual(problem);
  });
});
