import { afterEach, describe, expect, it } from "vitest";
import { secondsText } from "../../simulation/world/time.ts";
import { closeHouses, House } from "../house.ts";
import { addClaim, addPod, CLAIM, nodeRef, podRef } from "../objects.ts";
import { houseWithNodes, mountedClaim } from "./mounted-claim.ts";
import { recordWrites, startLeader, startReplica, statusIn, untilLeading } from "./replica.ts";
import { ScriptedNode } from "./scripted-node.ts";

afterEach(closeHouses);

const HOST_PATH = { hostPath: { path: "/srv/data" } };

describe("a claim whose use is reported", () => {
  it("becomes unused when its node reports the unmount, long after the pod is gone, and with the time of the unmount", async () => {
    const { house, leader, n1 } = await mountedClaim();
    house.api.delete(podRef("web"));
    await house.pass(20_000);
    await leader.send(n1.report());
    const before = statusIn(house);
    await house.pass(20_000);
    const unmountedMs = house.nowMs;
    n1.unmount("web");

    await leader.send(n1.report());
    await house.pass(1_000);

    const status = statusIn(house);
    expect(before).toMatchObject({ unused: false, reason: "Mounted" });
    expect(status).toMatchObject({ unused: true, reason: "Unmounted", lastUse: { node: "n1", pod: "shop/web" } });
    expect(status?.sinceMs).toBeGreaterThanOrEqual(unmountedMs);
    expect(status?.sinceMs).toBeLessThan(unmountedMs + 3_000);
  });

  it("gets one write for each transition, and none at rest", async () => {
    const { house, leader, n1, n2 } = await mountedClaim();
    const writes = recordWrites(house);
    house.api.delete(podRef("web"));
    n1.unmount("web");
    await leader.send(n1.report());
    await house.pass(1_000);

    for (let minute = 0; minute < 3; minute += 1) {
      await house.pass(30_000);
      for (const node of [n1, n2]) await leader.send(node.heartbeat());
    }

    expect(writes.map(({ resource }) => resource)).toEqual(["persistentvolumeclaims"]);
  });

  it("gets the later time again when the API server's store is restored from before its use", async () => {
    const { house, leader, n1 } = await mountedClaim();
    house.api.delete(podRef("web"));
    n1.unmount("web");
    await leader.send(n1.report());
    await house.pass(1_000);
    const reported = statusIn(house)?.sinceMs ?? 0;
    // The aggregator has acknowledged the unmount record.
    n1.unmountRecords = [];
    await leader.send(n1.report());
    const later = JSON.stringify(house.api.get(CLAIM)?.status);
    const earlier = later.replaceAll(secondsText(reported), secondsText(reported - 10_000));

    house.api.update(CLAIM, (claim) => ({ ...claim, status: JSON.parse(earlier) }), { subresource: "status" });
    await house.pass(30_000);

    expect(earlier).not.toBe(later);
    expect(statusIn(house)?.sinceMs).toBe(reported);
  });

  it("waits for its node to scan after the pod ended, and the answer names the version that the agent's watch has to reach", async () => {
    const { house, leader, n1 } = await mountedClaim();
    const seen = String(house.api.revision());
    house.api.delete(podRef("web"));
    const gone = String(house.api.revision());
    await house.pass(1_000);
    n1.unmount("web");

    const answer = await leader.send(n1.report({ unmountRecords: [], podsResourceVersion: seen }));

    expect(answer).toMatchObject({ reach: gone });
  });

  it("has its node's unmount record acknowledged once its status is stored", async () => {
    const { house, leader, n1 } = await mountedClaim();
    house.api.delete(podRef("web"));
    const id = n1.unmount("web");
    const first = await leader.send(n1.report());
    await house.pass(3_000);

    const second = await leader.send(n1.heartbeat());
    const third = await leader.send(n1.heartbeat());

    expect(first).toMatchObject({ forget: [] });
    expect(second).toMatchObject({ forget: [id] });
    expect(third).toMatchObject({ forget: [] });
  });

  it("is assumed to be unused when its node is gone for five minutes", async () => {
    const { house, leader, n2 } = await mountedClaim();
    house.api.delete(podRef("web"));
    house.api.delete(nodeRef("n1"));
    house.api.delete(podRef("agent-n1", "mooring-agents"));
    await house.pass(100_000);
    await leader.send(n2.report());
    const before = statusIn(house);

    await house.pass(300_000);

    expect(before).toMatchObject({ unused: false, reason: "Mounted" });
    expect(statusIn(house)).toMatchObject({ unused: true, reason: "NodeGone" });
  });

  it("names its node as Stale, which is the only reason why it stays in use", async () => {
    const { house, leader, n2 } = await mountedClaim();
    house.api.delete(podRef("web"));
    await house.pass(60_000);
    await leader.send(n2.report());

    await house.pass(60_000);

    expect(statusIn(house)).toMatchObject({ unused: false, reason: "Mounted" });
    expect(statusIn(house)?.message).toMatch(/no report of the mounts on n1, so/);
  });

  it("is no longer in use once a pod appears that has mounted another volume of that name", async () => {
    const house = houseWithNodes();
    addClaim(house);
    const leader = await startLeader(house);
    const [n1, n2] = [new ScriptedNode(house, "n1"), new ScriptedNode(house, "n2")];
    n1.mount("late");
    await leader.send(n1.report());
    await leader.send(n2.report());
    await house.until(() => statusIn(house)?.reason === "Mounted");
    await house.pass(1_000);
    for (const node of [n1, n2]) await leader.send(node.report());
    // Until their answers for the time without an aggregator count.
    await house.pass(5_000);

    addPod(house, "late", { claim: "another" });
    await house.pass(1_000);

    expect(statusIn(house)).toMatchObject({ unused: true });
  });
});

describe("a claim without an observed mount", () => {
  it("is unused since the observed end of its pod", async () => {
    const house = houseWithNodes();
    addClaim(house, { source: HOST_PATH });
    addPod(house, "web");
    const leader = await startLeader(house);
    for (const name of ["n1", "n2"]) await leader.send(new ScriptedNode(house, name).report());
    await house.until(() => statusIn(house)?.reason === "Referenced");
    await house.pass(5_000);

    house.api.delete(podRef("web"));
    await house.pass(5_000);
    await leader.send(new ScriptedNode(house, "n1").report());
    await house.pass(1_000);

    expect(statusIn(house)).toMatchObject({ unused: true, reason: "NoPodUsing", lastUse: { pod: "shop/web" } });
  });

  it("may be in use by a pod that came and finished without a leader, until its node has reported", async () => {
    const house = houseWithNodes();
    addClaim(house);
    const first = await startLeader(house);
    const [n1, n2] = [new ScriptedNode(house, "n1"), new ScriptedNode(house, "n2")];
    for (const node of [n1, n2]) await first.send(node.report());
    await house.until(() => statusIn(house)?.unused === true);
    await first.stop();
    await house.pass(2_000);
    addPod(house, "web", { phase: "Succeeded" });
    const second = await startLeader(house, { name: "aggregator-1" });

    await second.send(n2.report());
    await house.pass(2_000);
    const waiting = statusIn(house);
    await second.send(n1.report());
    await house.pass(5_000);

    expect(waiting).toMatchObject({ unused: false, reason: "Referenced" });
    expect(waiting?.message).toContain("shop/web");
    expect(statusIn(house)).toMatchObject({ unused: true });
  });
});

describe("a claim that exists before the aggregator starts", () => {
  it("has its first status as soon as the last node has reported", async () => {
    const house = houseWithNodes();
    addClaim(house);
    const leader = await startLeader(house);
    await leader.send(new ScriptedNode(house, "n1").report());
    await house.pass(5_000);
    const before = statusIn(house);

    await leader.send(new ScriptedNode(house, "n2").report());
    await house.pass(1_000);

    expect(before).toBeUndefined();
    expect(statusIn(house)).toMatchObject({ unused: true, reason: "NeverObservedInUse" });
  });

  it("waits for a node that never reports for `--node-stale-after`, and no longer", async () => {
    const house = houseWithNodes();
    addClaim(house, { source: HOST_PATH });
    addPod(house, "web");
    const first = await startLeader(house);
    const [n1, n2] = [new ScriptedNode(house, "n1"), new ScriptedNode(house, "n2")];
    for (const node of [n1, n2]) await first.send(node.report());
    await house.until(() => statusIn(house)?.reason === "Referenced");
    // It has watched all the time, and the time before both is covered: only this node is pending.
    const second = startReplica(house, { name: "aggregator-1" });
    await house.pass(5_000);
    for (const node of [n1, n2]) await first.send(node.report());
    await house.pass(10_000);
    first.process.crash();
    house.api.delete(podRef("web"));
    await untilLeading(house, second);
    await second.send(n1.report());
    await house.pass(80_000);
    const before = statusIn(house);
    await second.send(n1.report());

    await house.pass(15_000);

    expect(before).toMatchObject({ unused: false, reason: "Referenced" });
    expect(statusIn(house)).toMatchObject({ unused: true, reason: "NoPodUsing" });
  });

  it("gets a status although nothing happens to it and no node is pending", async () => {
    const house = new House();
    addClaim(house);

    await startLeader(house);
    await house.pass(1_000);

    expect(statusIn(house)).toMatchObject({ unused: true, reason: "NeverObservedInUse" });
  });
});
