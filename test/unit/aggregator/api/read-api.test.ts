import { afterEach, describe, expect, it } from "vitest";
import { ReadApi } from "../../../../aggregator/api/read-api.ts";
import type { Route } from "../../../../common/runtime/http-server.ts";
import type { NodeReport } from "../../../../common/storage/node-report.ts";
import { wholeAnswer } from "../../../fakes/listen.ts";
import { Harness, type HarnessOptions } from "../harness.ts";
import { claimWith, mountedVolumeOf, nodeWith, podWith, reportWith, statusWith, volumeWith } from "../world.ts";

const CSI = { driver: "csi.example", handleHash: "a".repeat(64) };
const STAGED = { kind: "staging", volume: { by: "handle", ...CSI }, since: 0 } as const;

/** The API of a harness, whose cluster is known as "cluster-1". */
class Api {
  readonly harness: Harness;
  readonly api: ReadApi;
  readonly #routes: readonly Route[];
  isDated = true;
  clusterUid: string | undefined = "cluster-1";

  constructor(options: HarnessOptions) {
    this.harness = new Harness(options);
    const { clock, cluster, fleet, agentStates, reconciler } = this.harness;
    this.api = new ReadApi({
      clock,
      client: { serverTime: () => (this.isDated ? { latestMs: clock.wallMs(), widthMs: 40 } : undefined) },
      cluster,
      fleet,
      agentStateOf: (node) => agentStates.of(node),
      isOver: (node) => agentStates.assumedEnd(node) !== undefined,
      claimFacts: (key) => reconciler.claimFacts(key),
      unreported: () => this.harness.unreported.length,
      isDeletionHeld: (claim) => reconciler.deletions.held.isHeld(claim),
      clusterUid: () => this.clusterUid,
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
    return await wholeAnswer(await route.answer({ params: {}, query: searchParams, body: async () => "" }));
  }

  /** The header, the entries and the last line, as loose as a caller sees them. */
  async get(target: string) {
    const { status, body, contentType } = await this.ask(target);
    if (status !== 200) throw new Error(`${status}: ${body}`);
    expect(contentType).toBe("application/x-ndjson");
    const lines = body
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    return { header: lines[0], items: lines.slice(1, -1), end: lines.at(-1) };
  }

  async names(target: string): Promise<readonly string[]> {
    const { items } = await this.get(target);
    return items.map(({ name }) => name);
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

    expect(first.header).toEqual({
      ...{ apiVersion: "api.mooring.dev/v2", kind, cluster: "cluster-1", serverTime: "2026-09-10T00:26:39.960Z" },
      nodes: { total: 2, stale: 0, unreported: 1 },
    });
    expect(first.end).toEqual({ complete: true, entries: first.items.length });
    expect(later.header).toMatchObject({
      serverTime: "2026-09-10T00:28:19.960Z",
      nodes: { total: 2, stale: 2, unreported: 0 },
    });
  });

  it.each([{ path: "/v1/claims" }, { path: "/v1/volumes" }, { path: "/v1/nodes" }])(
    "$path is not there before the API server's time is known",
    async ({ path }) => {
      const api = apiOf();
      api.isDated = false;

      expect(await api.ask(path)).toEqual({ status: 503, body: "the API server's time is not known yet\n" });
    },
  );

  it("does not know its cluster before that could be read", async () => {
    const api = apiOf();
    api.clusterUid = undefined;

    expect((await api.get("/v1/claims")).header).toMatchObject({ cluster: null });
  });

  it.each([
    { target: "/v1/claims?status=Unused&what=1", said: ['"status"; allowed: namespace, name', '"what"'] },
    { target: "/v1/claims?limit=500", said: ['"limit"', "api.mooring.dev/v2"] },
    { target: "/v1/claims?namespace=", said: ["namespace: empty"] },
    { target: "/v1/claims?a=1&name=&Name=x", said: ['"a"', "name: empty", '"Name"'] },
    { target: "/v1/volumes?phase=Bound", said: ['"phase"; allowed: name'] },
    { target: "/v1/nodes?state=Stale", said: ['"state"; allowed: name'] },
  ])("refuses $target with everything that is wrong", async ({ target, said }) => {
    const { status, body } = await apiOf().ask(target);

    expect(status).toBe(400);
    for (const part of said) expect(body).toContain(part);
  });

  it("tells no more of a wrong name, and no more problems, than help who sent them", async () => {
    const { body } = await apiOf().ask(`/v1/claims?${"x".repeat(500)}=1&${"a=1&".repeat(50)}`);

    expect(body.trimEnd().split("\n")).toHaveLength(20);
    expect(body).toContain(`"${"x".repeat(80)}…"`);
  });

  it.each([
    { target: "/v1/claims?namespace=shop", found: ["data", "idle"] },
    { target: "/v1/claims?namespace=bank", found: ["data"] },
    { target: "/v1/claims?namespace=bank&namespace=shop&name=data", found: ["data", "data"] },
    { target: "/v1/claims?name=other", found: [] },
    { target: "/v1/claims?namespace=sho", found: [] },
    { target: "/v1/claims?name=d%61ta&namespace=bank", found: ["data"] },
    { target: "/v1/volumes?name=pv-2", found: ["pv-2"] },
    { target: "/v1/nodes?name=n1&name=n3", found: ["n1"] },
  ])("finds by $target: $found", async ({ target, found }) => {
    const named = (namespace: string, name: string) =>
      claimWith({ namespace, name, key: `${namespace}/${name}`, uid: `${namespace}-${name}` });
    const api = apiOf({
      claims: [named("shop", "data"), named("shop", "idle"), named("bank", "data")],
      volumes: ["pv-1", "pv-2"].map((key) => volumeWith({ key, uid: key })),
      nodes: [nodeWith("n1"), nodeWith("n2")],
    });

    expect(await api.names(target)).toEqual(found);
  });
});

describe("/v1/claims", () => {
  it("shows beyond the condition who holds the claim, where it is staged and who refers to it", async () => {
    const api = apiOf();
    await api.harness.start();
    await api.harness.putPod(podWith());
    await api.report({ mountedVolumes: [mountedVolumeOf("pod-1"), mountedVolumeOf("pod-gone"), STAGED] });
    await api.harness.advance(10_000);

    const { items } = await api.get("/v1/claims");

    expect(items).toMatchObject([
      {
        name: "data",
        status: "Mounted",
        condition: { status: "False", reason: "Mounted" },
        live: {
          mountedOn: {
            items: [
              {
                node: "n1",
                state: "Reporting",
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

  it("shows which nodes are pending", async () => {
    const api = apiOf({ claims: [claimWith({ status: statusWith({ unused: true, reason: "Unmounted" }) })] });
    await api.harness.start();
    await api.report({});
    await api.harness.putPod(podWith());
    await api.harness.removePod("pod-1", "900");

    const { items } = await api.get("/v1/claims");

    const pendingNodes = { items: [{ node: "n1", state: "ScanDue" }] };
    expect(items).toMatchObject([{ name: "data", pending: true, live: { pendingNodes } }]);
  });

  it("shows no other pod's volume that is only called like its own", async () => {
    const api = apiOf();
    await api.harness.start();
    await api.harness.putPod(podWith({ key: "bank/other-0", uid: "other", claims: [] }));
    await api.report({ mountedVolumes: [mountedVolumeOf("other")] });

    expect(await api.get("/v1/claims")).toMatchObject({ items: [{ live: { mountedOn: { items: [] } } }] });
    expect(await api.get("/v1/volumes")).toMatchObject({ items: [{ live: { mountedOn: { items: [] } } }] });
  });

  it("changes nothing by being read", async () => {
    const api = apiOf();
    await api.harness.start();
    await api.harness.putPod(podWith());
    await api.report({ mountedVolumes: [mountedVolumeOf("pod-1")] });
    await api.harness.advance(60_000);
    const before = [...api.harness.writes];

    for (const target of ["/v1/claims", "/v1/claims?name=data", "/v1/volumes", "/v1/nodes"]) await api.get(target);
    await api.harness.advance(60_000);

    expect(api.harness.reconciler.queue.depth).toBe(0);
    expect(api.harness.writes).toEqual(before);
  });
});

describe("/v1/volumes", () => {
  it("shows a volume that was left staged once it has been for long", async () => {
    const api = apiOf({ volumes: [volumeWith({ csi: CSI, phase: "Released" })] });
    await api.harness.start();
    await api.report({ mountedVolumes: [mountedVolumeOf("pod-1"), STAGED] });
    await api.harness.advance(600_000);
    const used = await api.get("/v1/volumes");
    await api.report({ mountedVolumes: [STAGED], generation: 2, scan: { beganAt: 601_000, endedAt: 601_001 } });
    const fresh = await api.get("/v1/volumes");

    await api.harness.advance(301_000);

    expect(used.items).toMatchObject([{ leaked: false }]);
    expect(fresh).toMatchObject({ items: [{ name: "pv-1", leaked: false }] });
    const unusedSince = "2026-09-10T00:36:40.000Z";
    expect(await api.get("/v1/volumes")).toMatchObject({
      items: [
        {
          ...{ name: "pv-1", driver: "csi.example", claim: { namespace: "shop", name: "data" }, leaked: true },
          live: { stagedOn: { items: [{ node: "n1", unusedSince, leaked: true }] } },
        },
      ],
    });
  });
});

describe("/v1/nodes", () => {
  it("has nodes without a report and reports without a node", async () => {
    const api = apiOf({ nodes: [nodeWith("n2"), nodeWith("n1")] });
    await api.harness.start();
    await api.report({});
    await api.report({ node: "n0", mountedVolumes: [STAGED] });
    await api.harness.advance(100_000);
    await api.report({ node: "n0", generation: 2, scan: { beganAt: 9_000, endedAt: 9_001 }, mountedVolumes: [] });

    const { items } = await api.get("/v1/nodes");

    expect(items).toMatchObject([
      { name: "n2", state: "Stale", mounts: null },
      { name: "n1", state: "Stale" },
      { name: "n0", state: "Reporting", mounts: { staging: 0 } },
    ]);
  });
});
