import { afterEach, describe, expect, it } from "vitest";
import { closeHouses } from "../house.ts";
import { addClaim, addNode, addPod, nodeRef, podRef } from "../objects.ts";
import { houseWithNodes, mountedClaim } from "./mounted-claim.ts";
import { startLeader, statusIn } from "./replica.ts";
import { leadingScene, type Scene } from "./scene.ts";
import { ScriptedNode } from "./scripted-node.ts";

afterEach(closeHouses);

/** What was mounted on a node that is gone is remembered for a day; that it is gone is known after five minutes. */
const FORGOTTEN_MS = 87_000_000;

/** The claim was mounted on n1 for the pod `web`, whose node was deleted in the first minute and counts as gone since the sixth. */
async function goneScene(): Promise<Scene> {
  const scene = await leadingScene();
  scene.addPod("web");
  scene.node().mount("web");
  await scene.passReporting(60);
  scene.deletePod("web");
  scene.remove("n1");
  await scene.until(420);
  return scene;
}

describe("a claim that was mounted on a node that is gone", () => {
  it("is mounted again when the node still shows it", async () => {
    const scene = await goneScene();
    const before = scene.status();

    await scene.report();
    await scene.pass(1);

    expect(before).toMatchObject({ unused: true, reason: "NodeGone" });
    expect(scene.status()).toMatchObject({ unused: false, reason: "Mounted" });
    expect(scene.since()).toBe(420);
  });

  it("has the end that the node reports, and no earlier time for that", async () => {
    const scene = await goneScene();
    const node = scene.node();
    const id = node.unmount("web");
    const at = { after: node.stampAt(100_000), by: node.stampAt(100_010) };
    const fields = { unmountRecords: node.unmountRecords.map((one) => ({ ...one, ...at })) };

    const early = await scene.reportWith(fields);
    await scene.pass(1);
    const late = await scene.reportWith(fields);

    const lastUse = { id, evidence: "mount-table" };
    expect(scene.status()).toMatchObject({ unused: true, reason: "Unmounted", lastUse });
    expect(scene.since()).toBe(360);
    expect([early.forget, late.forget]).toEqual([[], [id]]);
  });

  it("is in use as it was from when a machine comes back in another boot until that reports, and ended by its first scan", async () => {
    const scene = await goneScene();
    scene.node().reboot();
    addNode(scene.house, "n1", { bootId: scene.node().bootId });
    await scene.until(600);
    const before = scene.status();

    await scene.report();
    await scene.pass(1);

    expect(before).toMatchObject({ unused: false, reason: "Mounted" });
    expect(scene.status()).toMatchObject({ unused: true, reason: "Unmounted" });
    expect(scene.since()).toBe(600);
  });

  it("has no end before its node is Gone for the second time, where that did not report in between", async () => {
    const scene = await leadingScene();
    // No pod of the mount is known: it was left behind.
    scene.node().mount("web");
    await scene.passReporting(60);
    await scene.until(160);
    scene.declareOff(true);
    await scene.until(200);
    const first = scene.since();
    scene.declareOff(false);
    await scene.until(400);
    const back = scene.status();

    scene.declareOff(true);
    await scene.until(420);

    expect([first, back?.reason, back?.lastUse]).toEqual([160, "Mounted", undefined]);
    expect(scene.status()).toMatchObject({ unused: true, reason: "NodeGone" });
    expect(scene.since()).toBe(400);
  });

  it("is not written again by the next leader, and ended when the node reports no record of the use", async () => {
    const scene = await goneScene();
    const statuses = scene.watchStatuses();
    await scene.handOver();
    await scene.until(900);
    const before = [...statuses];

    addNode(scene.house, "n1");
    scene.node().lose();
    scene.node().agentGaps = [{ to: scene.node().stamp - 1 }];
    await scene.report();
    await scene.pass(1);

    expect(before).toEqual([]);
    expect(scene.status()).toMatchObject({ unused: true, reason: "NoPodUsing" });
    expect(scene.since()).toBe(900);
  });

  it("does not take the end of a late report whose scan began before the node counted as gone", async () => {
    const scene = await goneScene();
    const node = scene.node();
    const id = node.unmount("web");
    const [began, ended] = [node.stampAt(100_000), node.stampAt(100_010)];
    const unmountRecords = node.unmountRecords.map((one) => ({ ...one, after: began - 10, by: ended }));

    const late = { ...node.report({ unmountRecords }), scan: { beganAt: began, endedAt: ended } };
    await scene.leader.sendOnce(late);
    await scene.pass(1);
    const before = scene.status();
    await scene.send(node.heartbeat());
    await scene.pass(1);

    expect(before).toMatchObject({ reason: "NodeGone" });
    expect(scene.status()).toMatchObject({ reason: "Unmounted", lastUse: { id } });
  });
});

describe("a claim that a pod names on a node that is gone", () => {
  it("is assumed to have been used until the node counts as gone, though no report showed the mount", async () => {
    const scene = await leadingScene();
    await scene.report();
    scene.addPod("web");
    await scene.pass(1);
    scene.remove("n1");
    await scene.until(100);
    scene.deletePod("web");
    await scene.until(299);
    const waiting = scene.status();

    await scene.until(310);

    expect(waiting?.unused).toBe(false);
    expect(scene.status()).toMatchObject({ unused: true, reason: "NodeGone" });
    expect(scene.since()).toBe(300);
  });

  it("was used until the pod was deleted, where that was after the node was declared off", async () => {
    const scene = await leadingScene();
    scene.addPod("web");
    scene.node().mount("web");
    await scene.report();
    scene.declareOff(true);
    await scene.until(100);
    const referenced = scene.status();

    scene.deletePod("web");
    await scene.pass(1);

    expect(referenced).toMatchObject({ unused: false, reason: "Referenced" });
    expect(scene.status()).toMatchObject({ unused: true, reason: "NodeGone" });
    expect(scene.since()).toBe(100);
  });

  it("was used until the node was back, where the pod is not known to have started and the agent did not watch", async () => {
    const scene = await leadingScene();
    await scene.report();
    scene.addPod("web", { phase: "Pending" });
    scene.declareOff(true);
    await scene.until(100);
    scene.deletePod("web");
    await scene.until(110);
    const gone = scene.status();
    scene.declareOff(false);
    await scene.until(210);

    scene.node().comeBack(scene.node().stampAt(0));
    await scene.report();
    await scene.pass(1);

    expect(gone).toMatchObject({ unused: true, reason: "NodeGone", lastUse: { node: "n1" } });
    expect(scene.status()).toMatchObject({ unused: true, reason: "NoPodUsing" });
    expect(scene.since()).toBe(210);
  });
});

describe("a node that was deleted while no replica led", () => {
  it("counts as Gone after five minutes, though no watch shows its deletion", async () => {
    const { house, leader, n2 } = await mountedClaim();
    await leader.stop();
    house.api.delete(podRef("web"));
    house.api.delete(nodeRef("n1"));
    house.api.delete(podRef("agent-n1", "mooring-agents"));
    const next = await startLeader(house, { name: "aggregator-1" });
    await next.send(n2.report());
    await house.pass(200_000);
    const before = statusIn(house);

    await house.pass(200_000);

    expect(before).toMatchObject({ unused: false, reason: "Mounted" });
    expect(statusIn(house)).toMatchObject({ unused: true, reason: "NodeGone" });
  });
});

describe("a node that was Gone for so long that it is forgotten", () => {
  it("still counts as the latest end of a claim's use", async () => {
    const { house, leader, n1, n2 } = await mountedClaim(["--leader-elect-lease-duration", "300s"]);
    addPod(house, "other", { node: "n2" });
    n2.mount("other");
    await leader.send(n2.report());
    house.api.delete(podRef("web"));
    house.api.delete(nodeRef("n1"));
    house.api.delete(podRef("agent-n1", "mooring-agents"));
    await house.pass(10_000);
    house.api.delete(podRef("other"));
    n2.unmount("other");
    const early = n2.report();
    await house.pass(FORGOTTEN_MS);

    await leader.send({ ...n2.report(), unmountRecords: early.unmountRecords });
    await house.pass(5_000);

    expect(statusIn(house)).toMatchObject({ unused: true, reason: "NodeGone", lastUse: { node: n1.name } });
  });

  it("is not taken for the last user of a claim that is used elsewhere, days after its own use was recorded", async () => {
    const { house, leader, n1, n2 } = await mountedClaim(["--leader-elect-lease-duration", "300s"]);
    addPod(house, "other", { node: "n2" });
    n2.mount("other");
    await leader.send(n2.report());
    house.api.delete(podRef("web"));
    n1.unmount("web");
    await leader.send(n1.report());
    house.api.delete(nodeRef("n1"));
    house.api.delete(podRef("agent-n1", "mooring-agents"));
    await house.pass(FORGOTTEN_MS);

    house.api.delete(podRef("other"));
    n2.unmount("other");
    await leader.send(n2.report());
    await house.pass(5_000);

    expect(statusIn(house)).toMatchObject({ unused: true, reason: "Unmounted", lastUse: { node: n2.name } });
  });

  it("still counts also where no claim's status names the node, as that write was refused", async () => {
    const house = houseWithNodes();
    const [n1, n2] = [new ScriptedNode(house, "n1"), new ScriptedNode(house, "n2")];
    addClaim(house);
    const leader = await startLeader(house, { argv: ["--leader-elect-lease-duration", "300s"] });
    for (const node of [n1, n2]) await leader.send(node.report());
    await house.until(() => statusIn(house)?.unused === true);
    house.refuse((site) => site === "apply persistentvolumeclaims/status");
    // The leader knows only the mount of the pod: it saw no pod end.
    n1.mount("web");
    await leader.send(n1.report());
    house.api.delete(nodeRef("n1"));
    house.api.delete(podRef("agent-n1", "mooring-agents"));
    const goneMs = house.nowMs;
    await house.pass(FORGOTTEN_MS);
    house.refuse();

    await house.pass(1_200_000);

    expect(statusIn(house)).toMatchObject({ unused: true, reason: "NodeGone" });
    expect(statusIn(house)?.sinceMs).toBeGreaterThan(goneMs);
  });
});
