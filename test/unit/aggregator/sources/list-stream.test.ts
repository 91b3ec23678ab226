import { connect, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { type ListHead, listRoutes, MOST_LISTS } from "../../../../aggregator/sources/list-stream.ts";
import { createSystemClock } from "../../../../common/runtime/clock.ts";
import type { RouteAnswer } from "../../../../common/runtime/http-answer.ts";
import { listen } from "../../../../common/runtime/http-server.ts";
import { createFakeClock, type FakeClock, settle } from "../../../fakes/clock.ts";
import { wholeAnswer } from "../../../fakes/listen.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";

const HEAD: ListHead = {
  cluster: "c1",
  serverTime: "2026-09-10T00:26:40.000Z",
  nodes: { total: 1, stale: 0, unreported: 0 },
};

interface Setting {
  readonly entries?: Iterable<object | undefined>;
  readonly clock?: FakeClock;
  readonly signal?: AbortSignal;
}

function listOf(setting: Setting = {}) {
  const { entries = [], clock = createFakeClock(), signal = new AbortController().signal } = setting;
  const spec = { path: "/v1/claims", kind: "ClaimList" as const, parameters: ["name"], entries: () => entries };
  const [route] = listRoutes([spec], { clock, head: () => HEAD }, signal);
  return async (query = ""): Promise<RouteAnswer> => {
    if (route === undefined) throw new Error("no route");
    return await route.answer({ params: {}, query: new URLSearchParams(query), body: async () => "" });
  };
}

function* numbered(count: number, eachTakes: () => void = () => {}) {
  for (let number = 0; number < count; number += 1) {
    eachTakes();
    yield { number };
  }
}

function partsOf({ rest }: RouteAnswer): AsyncIterator<string> {
  if (rest === undefined) throw new Error("an answer without entries");
  return rest[Symbol.asyncIterator]();
}

describe("a list", () => {
  it("has a header, a line for each entry that is asked for, and an end that counts them", async () => {
    const answer = await wholeAnswer(await listOf({ entries: [{ name: "a" }, undefined, { name: "b" }] })());

    expect(answer).toMatchObject({ status: 200, contentType: "application/x-ndjson" });
    expect(answer.body.split("\n")).toEqual([
      JSON.stringify({ apiVersion: "api.mooring.dev/v2", kind: "ClaimList", ...HEAD }),
      '{"name":"a"}',
      '{"name":"b"}',
      '{"complete":true,"entries":2}',
      "",
    ]);
  });

  it("says so where there is nothing in it", async () => {
    const { body } = await wholeAnswer(await listOf()());

    expect(body.trimEnd().split("\n").at(-1)).toBe('{"complete":true,"entries":0}');
  });

  it("is handed on before it is whole, and made no faster than it is taken", async () => {
    let made = 0;
    const entries = numbered(100_000, () => {
      made += 1;
    });
    const parts = partsOf(await listOf({ entries })());

    const { value: first } = await parts.next();
    const before = made;
    await settle();

    expect(first.length).toBeLessThan(40_000);
    expect(made).toBe(before);
    expect(made).toBeLessThan(5_000);
  });

  it("gives others a turn after at most one entry beyond five milliseconds", async () => {
    const clock = createFakeClock();
    let made = 0;
    const entries = numbered(10, () => {
      made += 1;
      clock.pass(2);
    });
    const reading = wholeAnswer(await listOf({ entries, clock })());

    const turns: number[] = [];
    for (let before = 0; before < 10; before = made) {
      await settle();
      turns.push(made - before);
      await clock.advance(10);
    }
    await reading;

    expect(made).toBe(10);
    expect(Math.max(...turns)).toBeLessThanOrEqual(3);
  });

  it("is cut, and does not end, when the aggregator leads no more", async () => {
    const stop = new AbortController();
    const parts = partsOf(await listOf({ entries: numbered(100_000), signal: stop.signal })());
    await parts.next();

    stop.abort();

    await expect(parts.next()).rejects.toThrow("stopping");
  });

  it("is cut when it has been taken too slowly for ten minutes", async () => {
    const clock = createFakeClock();
    const parts = partsOf(await listOf({ entries: numbered(100_000), clock })());
    await parts.next();

    clock.pass(600_001);

    await expect(
      (async () => {
        await Promise.all([parts.next(), clock.advance(1)]);
      })(),
    ).rejects.toThrow("too slowly");
  });
});

describe("lists at once", () => {
  it("are few: the next one is to come again", async () => {
    const ask = listOf({ entries: numbered(100_000) });
    const open = await Promise.all(Array.from({ length: MOST_LISTS }, () => ask()));

    const refused = await ask();

    expect(open.map(({ status }) => status)).toEqual([200, 200]);
    expect(refused).toMatchObject({ status: 429, headers: { "retry-after": "1" } });
  });

  it.each([
    {
      name: "was read to its end",
      over: async (parts: AsyncIterator<string>): Promise<void> => void (await parts.next()),
      count: 1,
    },
    {
      name: "was given up by its caller",
      over: async (parts: AsyncIterator<string>): Promise<void> => void (await parts.return?.()),
      count: 100_000,
    },
    {
      name: "has failed",
      over: async (parts: AsyncIterator<string>): Promise<void> => void (await parts.next().catch(() => {})),
      count: 1,
      eachTakes: () => {
        throw new TypeError("a bug");
      },
    },
  ])("have room again when one $name", async ({ over, count, eachTakes }) => {
    const setting = { clock: createFakeClock() };
    const ask = listOf({ ...setting, entries: numbered(count, eachTakes) });
    const [first] = await Promise.all(Array.from({ length: MOST_LISTS }, () => ask()));
    if (first === undefined) throw new Error("no list");
    const parts = partsOf(first);
    if (count > 1) await parts.next();
    await over(parts);
    for (let done = false; !done; ) done = (await parts.next()).done === true;

    expect((await ask()).status).toBe(200);
  });
});

/** A list that never ends, at a server of its own. */
async function serve(signal: AbortSignal) {
  const spec = { path: "/v1/claims", kind: "ClaimList" as const, parameters: [], entries: () => numbered(1e9) };
  const routes = listRoutes([spec], { clock: createSystemClock(), head: () => HEAD }, signal);
  const server = await listen(routes, { host: "127.0.0.1", port: 0 }, createFakeLogger());
  onTestFinished(server.close);
  const url = `${server.url}/v1/claims`;
  /** A caller that takes nothing. */
  const hang = (): Socket => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.on("error", () => {});
    socket.pause();
    socket.write("GET /v1/claims HTTP/1.1\r\nHost: localhost\r\n\r\n");
    onTestFinished(() => void socket.destroy());
    return socket;
  };
  return { url, hang };
}

describe("a list over a connection", () => {
  it("takes a place while its caller hangs, and gives it back when the caller goes", async () => {
    const { signal } = new AbortController();
    const { url, hang } = await serve(signal);
    const callers = Array.from({ length: MOST_LISTS }, hang);
    const status = async (): Promise<number> => {
      const stop = new AbortController();
      const answer = await fetch(url, { signal: stop.signal });
      stop.abort();
      return answer.status;
    };

    const statuses: number[] = [];
    while (statuses.at(-1) !== 429) statuses.push(await status());
    callers[0]?.destroy();
    while (statuses.at(-1) !== 200) statuses.push(await status());

    expect(statuses.at(-1)).toBe(200);
  });

  it("breaks off when the aggregator leads no more", async () => {
    const stop = new AbortController();
    const { url } = await serve(stop.signal);
    const answer = await fetch(url);

    const read = answer.text();
    stop.abort();

    await expect(read).rejects.toThrow("terminated");
  });
});
