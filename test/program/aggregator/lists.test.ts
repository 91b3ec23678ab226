import { afterEach, describe, expect, it } from "vitest";
import { readList } from "../../rig/stand-in/listed.ts";
import { closeHouses } from "../house.ts";
import { addClaim, VOLUME } from "../objects.ts";
import { leadingScene, Scene } from "./scene.ts";
import { handleOf } from "./scripted-node.ts";

afterEach(closeHouses);

const CSI = { driver: "csi.example.org", volumeHandle: "handle-of-data" };
const STAGED = handleOf(CSI.driver, CSI.volumeHandle);

async function listed({ leader }: Scene, target: string) {
  const { status, body } = await leader.get(target);
  expect(status).toBe(200);
  return readList(body);
}

async function itemsOf(scene: Scene, target: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  return (await listed(scene, target)).items;
}

describe.each([
  ["/v1/claims", "ClaimList", "namespace, name"],
  ["/v1/volumes", "VolumeList", "name"],
  ["/v1/nodes", "NodeList", "name"],
])("the list %s", (path, kind, allowed) => {
  it("says of which cluster and how fresh it is, and what may be asked of it", async () => {
    const scene = await leadingScene({ nodes: ["n1", "n2"] });
    await scene.report("n1");
    const first = await listed(scene, path);
    await scene.pass(100);
    const later = await listed(scene, path);
    const refused = await scene.leader.get(`${path}?what=1`);

    const { metadata } =
      scene.house.api.list("namespaces").find(({ metadata: { name } }) => name === "kube-system") ?? {};
    const nodes = { total: 2, stale: 0, unreported: 1 };
    expect(first).toMatchObject({ apiVersion: "api.mooring.dev/v2", kind, cluster: metadata?.uid ?? null, nodes });
    expect(later.nodes).toEqual({ total: 2, stale: 2, unreported: 0 });
    expect(refused).toMatchObject({ status: 400, body: expect.stringContaining(`"what"; allowed: ${allowed}\n`) });
  });

  it("does not know its cluster before that can be read", async () => {
    const scene = new Scene();
    scene.house.refuse((site) => site.endsWith(" namespaces"));
    await scene.lead();

    expect(await listed(scene, path)).toMatchObject({ cluster: null });
  });
});

describe("the lists", () => {
  it("have what is asked for", async () => {
    const scene = await leadingScene({ nodes: ["n1", "n2"], claims: [{}, { name: "idle" }] });
    const found: Record<string, readonly unknown[]> = {};
    const targets = [
      "claims?namespace=shop",
      "claims?namespace=bank&namespace=shop&name=d%61ta",
      "claims?namespace=sho",
    ];
    for (const target of [...targets, "volumes?name=pv-idle", "nodes?name=n1&name=n3"])
      found[target] = (await itemsOf(scene, `/v1/${target}`)).map(({ name }) => name);

    expect(found).toEqual({
      "claims?namespace=shop": ["data", "idle"],
      "claims?namespace=bank&namespace=shop&name=d%61ta": ["data"],
      "claims?namespace=sho": [],
      "volumes?name=pv-idle": ["pv-idle"],
      "nodes?name=n1&name=n3": ["n1"],
    });
  });

  it("show which pods have a claim mounted, where it is staged and which pods refer to it", async () => {
    const scene = await leadingScene();
    scene.addPod("web");
    for (const pod of ["web", "gone"]) scene.node().mount(pod);
    scene.node().stage(STAGED);
    await scene.report();
    await scene.pass(10);

    const pods = [
      { uid: "uid-of-gone", name: null, gone: true },
      { uid: "uid-of-web", name: "shop/web", gone: false },
    ];
    const live = {
      mountedOn: { items: [{ node: "n1", state: "Reporting", pods: { items: expect.arrayContaining(pods) } }] },
      stagedOn: { items: [{ node: "n1" }] },
      references: { items: [{ pod: "shop/web", node: "n1" }] },
    };
    expect(await itemsOf(scene, "/v1/claims")).toMatchObject([{ name: "data", status: "Mounted", live }]);
  });

  it("show which nodes a claim waits for", async () => {
    const scene = await leadingScene();
    await scene.report();
    await scene.pass(5);
    scene.addPod("web");
    await scene.pass(1);
    scene.deletePod("web");
    await scene.pass(1);

    const live = { pendingNodes: { items: [{ node: "n1", state: "ScanDue" }] } };
    expect(await itemsOf(scene, "/v1/claims")).toMatchObject([{ name: "data", pending: true, live }]);
  });

  it("do not show another pod's volume that only has the same name", async () => {
    const scene = await leadingScene();
    addClaim(scene.house, { name: "elsewhere" });
    scene.addPod("other", { claim: "elsewhere" });
    scene.node().mount("other");
    await scene.report();
    await scene.pass(1);

    for (const target of ["/v1/claims?name=data", "/v1/volumes?name=pv-data"])
      expect(await itemsOf(scene, target)).toMatchObject([{ live: { mountedOn: { items: [] } } }]);
  });

  it("show a volume that was left staged once it has been for long", async () => {
    const scene = await leadingScene();
    scene.house.api.update(VOLUME, (volume) => ({ ...volume, status: { phase: "Released" } }), {
      subresource: "status",
    });
    scene.node().mount("web");
    scene.node().stage(STAGED);
    await scene.passReporting(600);
    const used = await itemsOf(scene, "/v1/volumes");
    scene.node().unmount("web");
    await scene.report();
    const fresh = await itemsOf(scene, "/v1/volumes");

    await scene.pass(301);

    const live = { stagedOn: { items: [{ node: "n1", leaked: true }] } };
    expect([used, fresh]).toMatchObject([[{ leaked: false }], [{ leaked: false }]]);
    expect(await itemsOf(scene, "/v1/volumes")).toMatchObject([
      { name: "pv-data", driver: CSI.driver, leaked: true, live },
    ]);
  });

  it("show nodes without a report and reports without a node", async () => {
    const scene = await leadingScene({ nodes: ["n0", "n1", "n2"] });
    scene.node("n0").stage(STAGED);
    await scene.report("n0", "n1");
    scene.remove("n0");
    await scene.pass(100);
    scene.node("n0").lose();
    await scene.report("n0");

    expect(await itemsOf(scene, "/v1/nodes")).toMatchObject([
      { name: "n1", state: "Stale" },
      { name: "n2", state: "Stale", mounts: null },
      { name: "n0", state: "Reporting", mounts: { staging: 0 } },
    ]);
  });
});
