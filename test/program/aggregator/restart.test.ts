import { afterEach, describe, expect, it } from "vitest";
import { closeHouses } from "../house.ts";
import { leadingScene, type Scene } from "./scene.ts";

afterEach(closeHouses);

const NODES = ["n1", "n2", "n3"];
const LIVES = ["mounted", "unmounted", "named", "idle"] as const;
const CLAIMS = Array.from({ length: 120 }, (_, index) => ({
  name: `c${index}`,
  node: NODES[index % NODES.length] ?? "",
  life: LIVES[index % LIVES.length] ?? "idle",
}));

/** A leader has written all that there is to write of some claims, as their nodes have reported. */
async function settledScene(): Promise<Scene> {
  const scene = await leadingScene({ nodes: NODES, claims: CLAIMS.map(({ name }) => ({ name })) });
  for (const { name, node, life } of CLAIMS) {
    if (life === "named") scene.addPod(`of-${name}`, { node: "", claim: name, phase: "Pending" });
    if (life === "mounted" || life === "unmounted") scene.node(node).mount(`of-${name}`, name);
  }
  await scene.report();
  await scene.pass(5);
  for (const { name, node, life } of CLAIMS) if (life === "unmounted") scene.node(node).unmount(`of-${name}`);
  await scene.passReporting(60);
  return scene;
}

describe("the next leader of claims that have a status", () => {
  it("writes nothing while nothing has changed, neither before the nodes report nor after", async () => {
    const scene = await settledScene();
    const reasons = new Set(CLAIMS.map(({ name }) => scene.status(name)?.reason));
    const statuses = scene.watchStatuses();

    await scene.handOver();
    await scene.pass(20);
    await scene.passReporting(600);

    expect(reasons).toEqual(new Set(["Mounted", "Unmounted", "Referenced", "NeverObservedInUse"]));
    expect(statuses).toEqual([]);
    expect(await scene.leader.metric("workqueue_depth", 'name="claims"')).toBe(0);
  });

  it("writes which nodes are pending, and nothing else, where no node ever reports", async () => {
    const scene = await settledScene();
    const statuses = scene.watchStatuses();

    await scene.handOver();
    await scene.pass(1_200);

    expect(new Set(statuses.map(({ reason }) => reason))).toEqual(new Set(["Mounted"]));
    expect(statuses).toHaveLength(CLAIMS.length / LIVES.length);
  });
});
