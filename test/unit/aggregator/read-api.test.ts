import { afterEach, describe, expect, it } from "vitest";
import { ReadApi } from "../../../aggregator/read-api.ts";
import type { Route } from "../../../common/runtime/http-server.ts";
import type { NodeReport } from "../../../common/storage/node-report.ts";
import { Harness, type HarnessOptions } from "./harness.ts";
import { claimWith, holdOf, nodeWith, podWith, reportWith, statusWith, volumeWith } from "./world.ts";

const CSI = { driver: "csi.example", handleHash: "a".repeat(64) };
const STAGED = { kind: "staging", volume: { by: "handle", ...CSI }, since: 0 } as const;

/** The API of a harness, whose cluster is known as "cluster-1". */
class Api {
  readonly harness: Harness;
  readonly api: ReadApi;
  readonly #routes: readonly Route[];
  isSynced = true;
  clusterUid: string | undefined = "cluster-1";

  constructor(options: HarnessOptions) {
    this.harness = new Harness(options);
    const { clock, cluster, fleet, standings, reconciler } = this.harness;
    this.api = new ReadApi({
      clock,
      client: { serverTime: () => ({ latestMs: clock.wallMs(), widthMs: 40 }) },
      cluster,
      fleet,
      standingOf: (node) => standings.of(node),
      isOver: (node) => standings.assumedEnd(node) !== undefined,
      claimFacts: (key) => reconciler.claimFacts(key),
      unreported: () => this.harness.unreported.length,
      waitingClaims: () => reconciler.waitingClaims(),
      isDeletionHeld: (claim) => reconciler.deletions.held.isHeld(claim),
      clusterUid: () => this.clusterUid,
      isSynced: () => this.isSynced,
    });
    this.#routes = this.api.routes(new AbortController().signal);
  }

  async report(fields: Partial<NodeReport>): Promise<void> {
    const message = reportWith(fields);
    await this.harness.report(message);
    const view = this.harness.fleet.view(message.node);
    if (view !== undefined) this.api.onReport(view);
  }

  async ask(target: string) {
    const { pathname, searchParams } = new URL(target, "http://mooring");
    const route = this.#routes.find(({ path }) => path === pathname);
    if (route === undefined) throw new Error(`no route ${pathname}`);
    return await route.answer({ params: {}, query: searchParams, body: async () => "" });
  }

  /** The answer's JSON, as loose as a caller sees it. */
  async get(target: string) {
    const { status, body, contentType } = await this.ask(target);
    if (status !== 200) throw new Error(`${status}: ${body}`);
    expect(contentType).toBe("application/json");
    return JSON.parse(body);
  }

  async names(target: string): Promise<readonly string[]> {
    const { items } = await this.get(target);
    return items.map(({ name }: { name: string }) => name);
  }
}

let apis: Api[] = [];

function apiOf(options: HarnessOptions = {}): Api {
  const api = new Api({
    claims: [claimWith()],
    volumes: [volumeWith({ csi: CSI })],
    nodes: [nodeWith("n1")],
    ...options,
  });
  apis.push(api);
  return api;
}

afterEach(async () => {
  await Promise.all(apis.map(({ harness }) => harness.stop()));
  apis = [];
});

describe("every list", () => {
  it.each([
    { path: "/v1/claims", kind: "ClaimList" },
    { path: "/v1/volumes", kind: "VolumeList" },
    { path: "/v1/nodes", kind: "NodeList" },
  ])("$path says of which cluster and how fresh it is", async ({ path, kind }) => {
    const api = apiOf({ nodes: [nodeWith("n1"), nodeWith("n2")] });
    await api.harness.start();
    await api.report({});

    const first = await api.get(path);
    await api.harness.advance(100_000);
    const later = await api.get(path);

    expect(first).toMatchObject({
      ...{ apiVersion: "api.mooring.dev/v1", kind, cluster: "cluster-1", synced: true, continue: null },
      serverTime: "2026-09-10T00:26:39.960Z",
      nodes: { total: 2, silent: 0, unheard: 1 },
      items: expect.any(Array),
    });
    expect(later).toMatchObject({ serverTime: "2026-09-10T00:28:19.960Z", nodes: { total: 2, silent: 2, unheard: 0 } });
  });

  it.each([{ path: "/v1/claims" }, { path: "/v1/volumes" }, { path: "/v1/nodes" }])(
    "$path is not there before the cluster has been listed",
    async ({ path }) => {
      const api = apiOf();
      api.isSynced = false;

      expect(await api.ask(path)).toEqual({ status: 503, body: "the cluster has not been listed yet\n" });
    },
  );

  it("does not know its cluster before that could be read", async () => {
    const api = apiOf();
    api.clusterUid = undefined;

    expect(await api.get("/v1/claims")).toMatchObject({ cluster: null });
  });

  it.each([
    { target: "/v1/claims?limit=0&what=1", said: ["limit:", "unknown parameter"] },
    { target: "/v1/claims?continue=x!", said: ["continue:"] },
    { target: "/v1/volumes?phase=bound", said: ["phase:", "Available"] },
    { target: "/v1/nodes?status=Mounted", said: ["unknown parameter", "state"] },
  ])("refuses $target with everything that is wrong", async ({ target, said }) => {
    const { status, body } = await apiOf().ask(target);

    expect(status).toBe(400);
    for (const part of said) expect(body).toContain(part);
  });

  it("refuses to go on in another order or list", async () => {
    const api = apiOf({ claims: [claimWith(), claimWith({ name: "b", key: "shop/b", uid: "b" })] });
    const { continue: token } = await api.get("/v1/claims?limit=1");

    const answers = await Promise.all([
      api.ask(`/v1/claims?sort=idle&continue=${token}`),
      api.ask(`/v1/volumes?continue=${token}`),
    ]);

    expect(answers.map(({ status, body }) => [status, body])).toEqual([
      [400, "continue: of another list or order; begin again without it\n"],
      [400, "continue: of another list or order; begin again without it\n"],
    ]);
  });
});

describe("/v1/claims", () => {
  it("shows beyond the condition who holds the claim, where it is staged and who refers to it", async () => {
    const api = apiOf();
    await api.harness.start();
    await api.harness.putPod(podWith());
    await api.report({ holds: [holdOf("pod-1"), holdOf("pod-gone"), STAGED] });
    await api.harness.advance(10_000);

    const { items } = await api.get("/v1/claims");

    expect(items).toMatchObject([
      {
        name: "data",
        status: "Mounted",
        condition: { status: "False", reason: "Mounted" },
        live: {
          heldOn: {
            items: [
              {
                node: "n1",
                state: "agent",
                pods: {
                  items: [
                    { uid: "pod-1", name: "shop/web-0", gone: false },
                    { uid: "pod-gone", name: null, gone: true },
                  ],
                },
              },
            ],
          },
          stagedOn: { items: [{ node: "n1" }] },
          references: { items: [{ pod: "shop/web-0", node: "n1" }] },
        },
      },
    ]);
  });

  it("shows whom it waits for, and finds it by that", async () => {
    const api = apiOf({ claims: [claimWith({ status: statusWith({ unused: true, reason: "Unmounted" }) })] });
    await api.harness.start();
    await api.report({});
    await api.harness.putPod(podWith());
    await api.harness.removePod("pod-1", "900");

    const { items } = await api.get("/v1/claims?waiting=true&waitsFor=n1");

    expect(items).toMatchObject([{ name: "data", live: { awaited: { items: [{ node: "n1", state: "read" }] } } }]);
    expect(await api.names("/v1/claims?waitsFor=n2")).toEqual([]);
  });

  it("shows no other pod's volume that is only called like its own", async () => {
    const api = apiOf();
    await api.harness.start();
    await api.harness.putPod(podWith({ key: "bank/other-0", uid: "other", claims: [] }));
    await api.report({ holds: [holdOf("other")] });

    expect(await api.get("/v1/claims")).toMatchObject({ items: [{ live: { heldOn: { items: [] } } }] });
    expect(await api.get("/v1/volumes")).toMatchObject({ items: [{ live: { heldOn: { items: [] } } }] });
  });

  it("changes nothing by being read", async () => {
    const api = apiOf();
    await api.harness.start();
    await api.harness.putPod(podWith());
    await api.report({ holds: [holdOf("pod-1")] });
    await api.harness.advance(60_000);
    const before = [...api.harness.writes];

    for (const target of ["/v1/claims", "/v1/claims?waiting=true", "/v1/volumes", "/v1/nodes"]) await api.get(target);
    await api.harness.advance(60_000);

    expect(api.harness.reconciler.depth).toBe(0);
    expect(api.harness.writes).toEqual(before);
  });

  it("goes from page to page, by key or by idle time", async () => {
    const names = ["a", "b", "c", "d", "e"];
    const claims = names.map((name, index) =>
      claimWith({
        ...{ name, key: `shop/${name}`, uid: name, volume: undefined },
        status:
          index === 2 ? undefined : statusWith({ unused: true, reason: "Unmounted", sinceMs: 1e12 - index * 1e9 }),
      }),
    );
    const api = apiOf({ claims });
    const walk = async (query: string): Promise<readonly string[]> => {
      const found: string[] = [];
      let token = "";
      do {
        const page = await api.get(`/v1/claims?limit=2&${query}${token}`);
        found.push(...page.items.map(({ name }: { name: string }) => name));
        token = page.continue === null ? "" : `&continue=${page.continue}`;
      } while (token !== "");
      return found;
    };

    expect(await walk("")).toEqual(names);
    expect(await walk("sort=idle")).toEqual(["e", "d", "b", "a", "c"]);
    expect(await walk("sort=idle&name=c&name=e&name=a")).toEqual(["e", "a", "c"]);
    expect(await walk("namespace=shop&unusedFor=1d")).toEqual(["a", "b", "d", "e"]);
  });

  it.each([
    { query: "node=n1", found: ["data"] },
    { query: "node=n2", found: [] },
    { query: "driver=csi.example", found: ["data"] },
    { query: "driver=csi.other", found: [] },
    { query: "status=Mounted&storageClass=fast", found: ["data"] },
    { query: "disagrees=true", found: [] },
    { query: "status=Unused", found: ["idle"] },
    { query: "status=Mounted&status=Unused", found: ["data", "idle"] },
  ])("finds by $query what nodes and volumes tell", async ({ query, found }) => {
    const status = statusWith({ unused: true, reason: "Unmounted" });
    const idle = claimWith({ name: "idle", key: "shop/idle", uid: "idle", volume: "pv-2", status });
    const api = apiOf({ claims: [claimWith(), idle] });
    await api.harness.start();
    await api.report({ holds: [holdOf("pod-1"), STAGED] });

    expect(await api.names(`/v1/claims?${query}`)).toEqual(found);
  });
});

describe("/v1/volumes", () => {
  it("shows a volume that was left staged once it has been for long", async () => {
    const api = apiOf({ volumes: [volumeWith({ csi: CSI, phase: "Released" })] });
    await api.harness.start();
    await api.report({ holds: [holdOf("pod-1"), STAGED] });
    await api.harness.advance(600_000);
    const used = await api.names("/v1/volumes?leaked=true");
    await api.report({ holds: [STAGED], generation: 2, read: { beganAt: 601_000, endedAt: 601_001 } });
    const fresh = await api.get("/v1/volumes");

    await api.harness.advance(301_000);

    expect(used).toEqual([]);
    expect(fresh).toMatchObject({ items: [{ name: "pv-1", leaked: false }] });
    const unusedSince = "2026-09-10T00:36:40.000Z";
    expect(await api.get("/v1/volumes?leaked=true&phase=Released")).toMatchObject({
      items: [
        {
          ...{ name: "pv-1", driver: "csi.example", claim: { namespace: "shop", name: "data" }, leaked: true },
          live: { stagedOn: { items: [{ node: "n1", unusedSince, leaked: true }] } },
        },
      ],
    });
  });

  it("is in the order of names, page by page", async () => {
    const volumes = ["pv-b", "pv-a", "pv-c"].map((key) => volumeWith({ key, uid: key }));
    const api = apiOf({ volumes });

    const { items, continue: token } = await api.get("/v1/volumes?limit=2");

    expect(items.map(({ name }: { name: string }) => name)).toEqual(["pv-a", "pv-b"]);
    expect(await api.names(`/v1/volumes?limit=2&continue=${token}`)).toEqual(["pv-c"]);
  });
});

describe("/v1/nodes", () => {
  it("has nodes without a report and reports without a node", async () => {
    const api = apiOf({ nodes: [nodeWith("n2"), nodeWith("n1")] });
    await api.harness.start();
    await api.report({});
    await api.report({ node: "n0", holds: [STAGED] });
    await api.harness.advance(100_000);
    await api.report({ node: "n0", generation: 2, read: { beganAt: 9_000, endedAt: 9_001 }, holds: [] });

    const { items, continue: token } = await api.get("/v1/nodes?limit=2");

    expect(items).toMatchObject([
      { name: "n0", silent: false, holds: { staging: 0 } },
      { name: "n1", silent: true },
    ]);
    expect(await api.names(`/v1/nodes?continue=${token}`)).toEqual(["n2"]);
    expect(await api.names("/v1/nodes?state=silent")).toEqual(["n1", "n2"]);
    expect(await api.names("/v1/nodes?name=n0&name=n2")).toEqual(["n0", "n2"]);
  });
});
