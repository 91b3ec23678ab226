import { describe, expect, it } from "vitest";
import { listByAggregator } from "../../../cli/aggregator.ts";
import { MooringError } from "../../../common/runtime/errors.ts";
import { createFakeClock, settle } from "../../fakes/clock.ts";
import { createFakeTransport, type FakeAnswer, inTurn } from "../../fakes/transport.ts";

const URL_OF = "http://127.0.0.1:9809";
const HEADER = {
  ...{ apiVersion: "api.mooring.dev/v2", kind: "ClaimList", cluster: "c1" },
  serverTime: "2026-09-10T00:26:40.000Z",
  nodes: { total: 1, stale: 0, unreported: 0 },
};
const END = { complete: true, entries: 2 };

function linesOf(...lines: readonly object[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

function list(change: object = {}): FakeAnswer {
  return { body: linesOf({ ...HEADER, ...change }, { name: "a" }, { name: "b" }, END) };
}

/** An answer that arrives in pieces, when the test says so. */
async function* pieces(texts: readonly string[], end: () => Promise<void> = async () => {}) {
  for (const text of texts) yield Buffer.from(text);
  await end();
}

/** What an aggregator of before answers. */
const PAGE = `{"apiVersion":"api.mooring.dev/v1","kind":"ClaimList","continue":null,"items":[\n{}\n]}\n`;

interface Setting {
  readonly url?: string;
  readonly isExplicit?: boolean;
  readonly query?: Readonly<Record<string, string>>;
  readonly own?: { readonly uid: string } | { readonly why: string };
}

function ask(
  answers: readonly FakeAnswer[],
  { url = URL_OF, isExplicit = true, query = {}, own = { uid: "c1" } }: Setting = {},
) {
  const transport = createFakeTransport(inTurn(...answers));
  const clock = createFakeClock();
  let identified = 0;
  const identify = async () => {
    identified += 1;
    return own;
  };
  const { signal } = new AbortController();
  const read = (entry: unknown): string | undefined =>
    entry instanceof Object && "name" in entry ? String(entry.name) : undefined;
  const asked = { path: "/v1/claims", kind: "ClaimList" as const, query, read };
  const list = listByAggregator({ url, isExplicit }, asked, { transport, clock, identify, signal });
  return { list, clock, transport, identified: () => identified };
}

describe("listByAggregator", () => {
  it("reads a list to its end", async () => {
    const { list: found, transport } = ask([list()]);

    expect(await found).toMatchObject({ kind: "list", cluster: "c1", items: ["a", "b"], nodes: { total: 1 } });
    expect(transport.requests.map(({ path }) => path)).toEqual(["/v1/claims"]);
  });

  it("reads lines that come in any pieces", async () => {
    const text = linesOf(HEADER, { name: "\u00fc" }, { name: "b" }, END);
    const bytes = Buffer.from(text);
    const body = async function* () {
      for (let at = 0; at < bytes.length; at += 7) yield bytes.subarray(at, at + 7);
    };

    expect(await ask([{ body: body() }]).list).toMatchObject({ kind: "list", items: ["\u00fc", "b"] });
  });

  it("asks for one namespace, below the path of its address", async () => {
    const { list: found, transport } = ask([list()], { url: "https://proxy/mooring", query: { namespace: "shop" } });

    await found;

    expect(transport.requests.map(({ path }) => path)).toEqual(["/mooring/v1/claims?namespace=shop"]);
  });

  it("sends nothing of the user's credentials", async () => {
    const { list: found, transport } = ask([list()]);

    await found;

    expect(Object.keys(transport.requests[0]?.headers ?? {}).toSorted()).toEqual(["accept", "user-agent"]);
  });

  it.each([
    { name: "another cluster's", answer: list({ cluster: "c2" }), why: "it belongs to another cluster" },
    {
      name: "one that does not know its cluster",
      answer: list({ cluster: null }),
      why: "it does not know yet which cluster it is in",
    },
    {
      name: "one that has just started",
      answer: { status: 503, body: "the cluster has not been listed yet\n" },
      why: "it answered 503: the cluster has not been listed yet",
    },
    {
      name: "one that leads elsewhere",
      answer: { status: 302, headers: { location: "http://elsewhere" } },
      why: "it answered 302",
    },
    {
      name: "an older one, which answers in pages",
      answer: { body: PAGE },
      why: "it speaks api.mooring.dev/v1 and this command api.mooring.dev/v2: use the same version of both",
    },
    {
      name: "a newer one",
      answer: list({ apiVersion: "api.mooring.dev/v3" }),
      why: "it speaks api.mooring.dev/v3 and this command api.mooring.dev/v2: use the same version of both",
    },
    {
      name: "a list of something else",
      answer: list({ kind: "NodeList" }),
      why: "its answer is not that of an aggregator of this version",
    },
    {
      name: "what is no aggregator",
      answer: { body: "<html>" },
      why: "its answer is not that of an aggregator of this version",
    },
    {
      name: "a header with a time that is none",
      answer: list({ serverTime: "now" }),
      why: "its answer is not that of an aggregator of this version",
    },
    { name: "a connection that breaks", answer: "broken" as const, why: "request failed: the connection broke" },
  ])("does not use $name", async ({ answer, why }) => {
    expect(await ask([answer]).list).toEqual({ kind: "unusable", why });
  });

  it.each([
    {
      name: "whose end is missing",
      answer: { body: linesOf(HEADER, { name: "a" }) },
      why: "its list broke off after 1 entry (its end is missing); run the command again",
    },
    {
      name: "that ends in the middle of a line",
      answer: { body: `${linesOf(HEADER, { name: "a" }, { name: "b" })}{"complete":true` },
      why: "its list broke off after 2 entries (its end is missing); run the command again",
    },
    {
      name: "that has fewer entries than its end counts",
      answer: { body: linesOf(HEADER, { name: "a" }, END) },
      why: "its list broke off after 1 entry (a line is no entry of this version); run the command again",
    },
    {
      name: "with an entry that is none",
      answer: { body: linesOf(HEADER, {}, END) },
      why: "its list broke off after 0 entries (a line is no entry of this version); run the command again",
    },
    {
      name: "whose connection breaks",
      answer: {
        body: pieces([linesOf(HEADER, { name: "a" })], async () => {
          throw new MooringError("transport-failed", "the connection broke");
        }),
      },
      why: "its list broke off after 1 entry (the connection broke); run the command again",
    },
  ])("reports an unusable list of the cluster's own aggregator $name", async ({ answer, why }) => {
    expect(await ask([answer]).list).toEqual({ kind: "unusable", why, isOurs: true });
  });

  it("comes again while the aggregator is busy with other lists", async () => {
    const busy = { status: 429, body: "2 lists are under way already\n" };
    const { list: found, clock } = ask([busy, busy, list()]);

    await clock.advance(2_000);

    expect(await found).toMatchObject({ kind: "list", items: ["a", "b"] });
  });

  it("does not use one that stays busy", async () => {
    const { list: found, clock } = ask([{ status: 429, body: "" }]);

    await clock.advance(60_000);

    expect(await found).toMatchObject({ kind: "unusable", why: "it is busy with other lists; come again in a minute" });
  });

  it("does not use an aggregator when the cluster's identity is unknown", async () => {
    expect(await ask([list()], { own: { why: "you may not" } }).list).toEqual({ kind: "unusable", why: "you may not" });
  });

  it("asks which cluster it must belong to only when there is an aggregator", async () => {
    const { list, identified } = ask(["broken"]);

    await list;

    expect(identified()).toBe(0);
  });

  it.each([
    { name: "a second at the default address", isExplicit: false, ms: 1_000 },
    { name: "longer at an address that the user named", isExplicit: true, ms: 5_000 },
  ])("waits for one that hangs $name", async ({ isExplicit, ms }) => {
    const { list, clock } = ask(["silence"], { isExplicit });
    let isOver = false;
    void list.then(() => {
      isOver = true;
    });

    await clock.advance(ms - 1);
    const before = isOver;
    await clock.advance(1);
    await settle();

    expect([before, isOver]).toEqual([false, true]);
    expect(await list).toEqual({ kind: "unusable", why: `no answer within ${ms / 1000} s` });
  });

  it.each([
    { name: "its header", texts: ["{"], ms: 5_000, why: "no answer within 5 s" },
    {
      name: "its entries",
      texts: [linesOf(HEADER, { name: "a" })],
      ms: 10_000,
      why: "its list broke off after 1 entry (no answer within 10 s); run the command again",
    },
  ])("does not wait for ever for $name", async ({ texts, ms, why }) => {
    const { list: found, clock } = ask([{ body: pieces(texts, () => new Promise(() => {})) }]);

    await clock.advance(ms);

    expect(await found).toMatchObject({ kind: "unusable", why });
  });
});
