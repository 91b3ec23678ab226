import { describe, expect, it, onTestFinished } from "vitest";
import { ReadApi } from "../../../../aggregator/api/read-api.ts";
import type { NodeReport } from "../../../../common/storage/node-report.ts";
import { wholeAnswer } from "../../../fakes/listen.ts";
import { Harness, type HarnessOptions } from "../harness.ts";
import { claimWith, mountedVolumeOf, nodeWith, podWith, reportWith, statusWith, volumeWith } from "../world.ts";

const CSI = { driver: "csi.example", handleHash: "a".repeat(64) };
const STAGED = { kind: "staging", volume: { by: "handle", ...CSI }, since: 0 } as const;

/** The API of a harness that has started. */
async function apiOf(
  options: HarnessOptions = {},
  { isDated = true, clusterUid = (): string | undefined => "cluster-1" } = {},
) {
  const objects = { claims: [claimWith()], volumes: [volumeWith({ csi: CSI })], nodes: [nodeWith("n1")] };
  const harness = new Harness({ ...objects, ...options });
  onTestFinished(() => harness.stop());
  const { clock, cluster, fleet, agentStates, reconciler } = harness;
  const api = new ReadApi({
    ...{ clock, cluster, fleet, clusterUid, claimFacts: (key) => reconciler.claimFacts(key) },
    client: { serverTime: () => (isDated ? { latestMs: clock.wallMs(), widthMs: 40 } : undefined) },
    agentStateOf: (node) => agentStates.of(node),
    isOver: (node) => agentStates.assumedEnd(node) !== undefined,
    unreported: () => harness.unreported.length,
    isDeletionHeld: (claim) => reconciler.deletions.held.isHeld(claim),
  });
  const routes = api.routes(new AbortController().signal);
  const ask = async (target: string) => {
    const { pathname, searchParams: query } = new URL(target, "http://mooring");
    const route = routes.find(({ path }) => path === pathname) ?? expect.fail(`no route ${pathname}`);
    return await wholeAnswer(await route.answer({ params: {}, query, body: async () => "" }));
  };
  /** The header, the entries and the last line, as loose as a caller sees them. */
  const get = async (target: string) => {
    const { body, ...answer } = await ask(target);
    expect(answer).toMatchObject({ status: 200, contentType: "application/x-ndjson" });
    const [header, ...items] = body
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    const end = items.pop();
    return { header, items, end };
  };
  const report = async (fields: Partial<NodeReport>): Promise<void> => {
    const message = reportWith(fields);
    await harness.report(message);
    const view = harness.fleet.view(message.node);
    if (view !== undefined) api.onReport(view);
  };
  await harness.start();
  return { harness, ask, get, report };
}

describe.each([
  ["/v1/claims", "ClaimList"],
  ["/v1/volumes", "VolumeList"],
  ["/v1/nodes", "NodeList"],
])("the list %s", (path, kind) => {
  it("says of which cluster and how fresh it is", async () => {
    const { harness, get, report } = await apiOf({ nodes: [nodeWith("n1"), nodeWith("n2")] });
    await report({});

    const first = await get(path);
    await harness.advance(100_000);
    const later = await get(path);

    expect(first.header).toEqual({
      ...{ apiVersion: "api.mooring.dev/v2", kind, cluster: "cluster-1", serverTime: "2026-09-10T00:26:39.960Z" },
      nodes: { total: 2, stale: 0, unreported: 1 },
    });
    expect(first.end).toEqual({ complete: true, entries: first.items.length });
    const nodes = { total: 2, stale: 2, unreported: 0 };
    expect(later.header).toMatchObject({ serverTime: "2026-09-10T00:28:19.960Z", nodes });
  });

  it("is not there before the API server's time is known", async () => {
    const { ask } = await apiOf({}, { isDated: false });

    expect(await ask(path)).toEqual({ status: 503, body: "the API server's time is not known yet\n" });
  });

  it("does not know its cluster before that could be read, and changes nothing by being read", async () => {
    const { harness, get, report } = await apiOf({}, { clusterUid: () => undefined });
    await harness.putPod(podWith());
    await report({ mountedVolumes: [mountedVolumeOf("pod-1")] });
    await harness.advance(60_000);
    const before = [...harness.writes];

    const { header } = await get(path);
    await harness.advance(60_000);

    expect(header).toMatchObject({ cluster: null });
    expect([harness.reconciler.queue.depth, harness.writes]).toEqual([0, before]);
  });
});

describe("what is asked of a list", () => {
  it.each([
    ["/v1/claims?status=Unused&what=1", ['"status"; allowed: namespace, name', '"what"']],
    ["/v1/claims?limit=500", ['"limit"', "api.mooring.dev/v2"]],
    ["/v1/claims?a=1&namespace=&Name=x", ['"a"', "namespace: empty", '"Name"']],
    ["/v1/volumes?phase=Bound", ['"phase"; allowed: name']],
    ["/v1/nodes?state=Stale", ['"state"; allowed: name']],
  ])("is refused with everything that is wrong with %s", async (target, said) => {
    const { ask } = await apiOf();
    const { status, body } = await ask(target);

    expect(status).toBe(400);
    for (const part of said) expect(body).toContain(part);
  });

  it("is refused with no more of a wrong name, and no more problems, than help who sent them", async () => {
    const { ask } = await apiOf();
    const { body } = await ask(`/v1/claims?${"x".repeat(500)}=1&${"a=1&".repeat(50)}`);

    expect(body.trimEnd().split("\n")).toHaveLength(20);
    expect(body).toContain(`"${"x".repeat(80)}…"`);
  });

  it.each([
    ["/v1/claims?namespace=shop", ["data", "idle"]],
    ["/v1/claims?namespace=bank&namespace=shop&name=data", ["data", "data"]],
    ["/v1/claims?name=other", []],
    ["/v1/claims?namespace=sho", []],
    ["/v1/claims?name=d%61ta&namespace=bank", ["data"]],
    ["/v1/volumes?name=pv-2", ["pv-2"]],
    ["/v1/nodes?name=n1&name=n3", ["n1"]],
  ])("%s is found: %s", async (target, found) => {
    const keys = ["shop/data", "shop/idle", "bank/data"];
    const claims = keys.map((key) => {
      const [namespace = "", name = ""] = key.split("/");
      return claimWith({ namespace, name, key, uid: key });
    });
    const volumes = ["pv-1", "pv-2"].map((key) => volumeWith({ key, uid: key }));
    const { get } = await apiOf({ claims, volumes, nodes: [nodeWith("n1"), nodeWith("n2")] });

    expect((await get(target)).items.map(({ name }) => name)).toEqual(found);
  });
});

describe("the lists show", () => {
  it("beyond the condition who holds a claim, where it is staged and who refers to it", async () => {
    const { harness, get, report } = await apiOf();
    await harness.putPod(podWith());
    await report({ mountedVolumes: [mountedVolumeOf("pod-1"), mountedVolumeOf("pod-gone"), STAGED] });
    await harness.advance(10_000);

    const pods = [
      { uid: "pod-1", name: "shop/web-0", gone: false },
      { uid: "pod-gone", name: null, gone: true },
    ];
    const live = {
      mountedOn: { items: [{ node: "n1", state: "Reporting", pods: { items: pods } }] },
      stagedOn: { items: [{ node: "n1" }] },
      references: { items: [{ pod: "shop/web-0", node: "n1" }] },
    };
    expect((await get("/v1/claims")).items).toMatchObject([{ name: "data", status: "Mounted", live }]);
  });

  it("which nodes a claim waits for", async () => {
    const { harness, get, report } = await apiOf({ claims: [claimWith({ status: statusWith({ unused: true }) })] });
    await report({});
    await harness.putPod(podWith());
    await harness.removePod("pod-1", "900");

    const pendingNodes = { items: [{ node: "n1", state: "ScanDue" }] };
    expect((await get("/v1/claims")).items).toMatchObject([{ name: "data", pending: true, live: { pendingNodes } }]);
  });

  it.each(["/v1/claims", "/v1/volumes"])("no other pod's volume in %s that is only called alike", async (path) => {
    const { harness, get, report } = await apiOf();
    await harness.putPod(podWith({ key: "bank/other-0", uid: "other", claims: [] }));
    await report({ mountedVolumes: [mountedVolumeOf("other")] });

    expect((await get(path)).items).toMatchObject([{ live: { mountedOn: { items: [] } } }]);
  });

  it("a volume that was left staged once it has been for long", async () => {
    const { harness, get, report } = await apiOf({ volumes: [volumeWith({ csi: CSI, phase: "Released" })] });
    await report({ mountedVolumes: [mountedVolumeOf("pod-1"), STAGED] });
    await harness.advance(600_000);
    const used = await get("/v1/volumes");
    await report({ mountedVolumes: [STAGED], generation: 2, scan: { beganAt: 601_000, endedAt: 601_001 } });
    const fresh = await get("/v1/volumes");

    await harness.advance(301_000);
    const late = await get("/v1/volumes");

    expect([used, fresh].map(({ items }) => items)).toMatchObject([[{ leaked: false }], [{ leaked: false }]]);
    const stagedOn = { items: [{ node: "n1", unusedSince: "2026-09-10T00:36:40.000Z", leaked: true }] };
    const claim = { namespace: "shop", name: "data" };
    expect(late.items).toMatchObject([
      { name: "pv-1", driver: "csi.example", claim, leaked: true, live: { stagedOn } },
    ]);
  });

  it("nodes without a report and reports without a node", async () => {
    const { harness, get, report } = await apiOf({ nodes: [nodeWith("n2"), nodeWith("n1")] });
    await report({});
    await report({ node: "n0", mountedVolumes: [STAGED] });
    await harness.advance(100_000);
    await report({ node: "n0", generation: 2, scan: { beganAt: 9_000, endedAt: 9_001 }, mountedVolumes: [] });

    expect((await get("/v1/nodes")).items).toMatchObject([
      { name: "n2", state: "Stale", mounts: null },
      { name: "n1", state: "Stale" },
      { name: "n0", state: "Reporting", mounts: { staging: 0 } },
    ]);
  });
});
