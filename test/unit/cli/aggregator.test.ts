import { describe, expect, it } from "vitest";
import { listByAggregator } from "../../../cli/aggregator.ts";
import { decodeClaimsPage } from "../../../cli/aggregator-answer.ts";
import { createFakeClock, settle } from "../../fakes/clock.ts";
import { createFakeTransport, type FakeAnswer, inTurn, json } from "../../fakes/transport.ts";

const URL_OF = "http://127.0.0.1:9809";

function page(next: string | null, cluster: string | null = "c1"): FakeAnswer {
  return json({
    ...{ apiVersion: "api.mooring.dev/v1", kind: "ClaimList", cluster, synced: true, continue: next, items: [] },
    serverTime: "2026-09-10T00:26:40.000Z",
    nodes: { total: 1, silent: 0, unheard: 0 },
  });
}

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
  const asked = { path: "/v1/claims", query, decode: decodeClaimsPage };
  const list = listByAggregator({ url, isExplicit }, asked, { transport, clock, identify, signal });
  return { list, clock, transport, identified: () => identified };
}

describe("listByAggregator", () => {
  it("reads page after page", async () => {
    const { list, transport } = ask([page("t1"), page("t-2"), page(null)]);

    expect(await list).toMatchObject({ kind: "list", cluster: "c1", items: [], nodes: { total: 1 } });
    expect(transport.requests.map(({ path }) => path)).toEqual([
      "/v1/claims?limit=1000",
      "/v1/claims?limit=1000&continue=t1",
      "/v1/claims?limit=1000&continue=t-2",
    ]);
  });

  it("asks for one namespace, below the path of its address", async () => {
    const { list, transport } = ask([page(null)], { url: "https://proxy/mooring", query: { namespace: "shop" } });

    await list;

    expect(transport.requests.map(({ path }) => path)).toEqual(["/mooring/v1/claims?limit=1000&namespace=shop"]);
  });

  it("sends nothing of the user's credentials", async () => {
    const { list, transport } = ask([page(null)]);

    await list;

    expect(Object.keys(transport.requests[0]?.headers ?? {}).toSorted()).toEqual(["accept", "user-agent"]);
  });

  it.each([
    { name: "another cluster's", answers: [page(null, "c2")], why: "it belongs to another cluster" },
    {
      name: "one that does not know its cluster",
      answers: [page(null, null)],
      why: "it does not know yet which cluster it is in",
    },
    {
      name: "one that is another cluster's by the second page",
      answers: [page("t"), page(null, "c2")],
      why: "it belongs to another cluster",
    },
    {
      name: "one that has just started",
      answers: [{ status: 503, body: "the cluster has not been listed yet\n" }],
      why: "it answered 503: the cluster has not been listed yet",
    },
    { name: "one that fails in the middle", answers: [page("t"), { status: 500 }], why: "it answered 500" },
    {
      name: "one that leads elsewhere",
      answers: [{ status: 302, headers: { location: "http://elsewhere" } }],
      why: "it answered 302",
    },
    {
      name: "what is no aggregator",
      answers: [{ body: "<html>" }],
      why: "its answer is not that of an aggregator of this version",
    },
    { name: "a connection that breaks", answers: ["broken" as const], why: "request failed: the connection broke" },
  ])("does not use $name", async ({ answers, why }) => {
    expect(await ask(answers).list).toEqual({ kind: "unusable", why });
  });

  it("does not use one when nobody can tell which cluster it must belong to", async () => {
    expect(await ask([page(null)], { own: { why: "you may not" } }).list).toEqual({
      kind: "unusable",
      why: "you may not",
    });
  });

  it("asks which cluster it must belong to only when there is an aggregator", async () => {
    const { list, identified } = ask(["broken"]);

    await list;

    expect(identified()).toBe(0);
  });

  it.each([
    { name: "a second when nobody asked for it", isExplicit: false, ms: 1_000 },
    { name: "longer when somebody did", isExplicit: true, ms: 5_000 },
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

  it("does not wait for ever for the rest of an answer", async () => {
    const endless = async function* () {
      yield Buffer.from("{");
      await new Promise(() => {});
    };
    const { list, clock } = ask([{ body: endless() }]);

    await clock.advance(10_000);

    expect(await list).toMatchObject({ kind: "unusable", why: "no answer within 5 s" });
  });
});
