import { describe, expect, it } from "vitest";
import { listClaims, type Scope } from "../../../cli/claim-list.ts";
import { createKubeClient } from "../../../common/kube/client.ts";
import { createFakeClock } from "../../fakes/clock.ts";
import { createFakeConnection, createFakeTransport, type FakeAnswer, inTurn, json } from "../../fakes/transport.ts";

const expired = json({ message: "The provided continue parameter is too old" }, 410);

function page(names: readonly string[], next?: string): FakeAnswer {
  const items = names.map((name) => ({
    metadata: { namespace: "shop", name, uid: `uid-${name}`, resourceVersion: "1" },
  }));
  return json({ metadata: next === undefined ? {} : { continue: next }, items });
}

async function list(scope: Scope, ...answers: readonly FakeAnswer[]): Promise<{ names: string[]; paths: string[] }> {
  const transport = createFakeTransport(inTurn(...answers));
  const client = createKubeClient(createFakeConnection(transport), { clock: createFakeClock() });
  const claims = await listClaims(client, scope, new AbortController().signal);
  return { names: claims.map(({ name }) => name), paths: transport.requests.map(({ path }) => path) };
}

describe("listClaims", () => {
  const base = "/api/v1/persistentvolumeclaims?limit=500";

  it("reads page after page until there is no more", async () => {
    const { names, paths } = await list("all", page(["a", "b"], "t/1"), page([], "t2"), page(["c"]));

    expect(names).toEqual(["a", "b", "c"]);
    expect(paths).toEqual([base, `${base}&continue=t%2F1`, `${base}&continue=t2`]);
  });

  it("asks for one namespace only", async () => {
    const { paths } = await list({ namespace: "shop" }, page([]));

    expect(paths).toEqual(["/api/v1/namespaces/shop/persistentvolumeclaims?limit=500"]);
  });

  it("takes a list whose items are null for empty, as the API server means it", async () => {
    const { names } = await list("all", json({ metadata: {}, items: null }));

    expect(names).toEqual([]);
  });

  it("starts again when its version has expired in the middle, and drops the first pages", async () => {
    const { names, paths } = await list("all", page(["a"], "t"), expired, page(["b"], "u"), page(["c"]));

    expect(names).toEqual(["b", "c"]);
    expect(paths).toEqual([base, `${base}&continue=t`, base, `${base}&continue=u`]);
  });

  it("fails when that happens twice", async () => {
    const listing = list("all", page(["a"], "t"), expired, page(["a"], "t"), expired);

    await expect(listing).rejects.toThrow("too old");
  });

  it("does not try again after another refusal", async () => {
    const listing = list("all", json({ message: "no" }, 403), page(["a"]));

    await expect(listing).rejects.toThrow("answered 403: no");
  });
});
