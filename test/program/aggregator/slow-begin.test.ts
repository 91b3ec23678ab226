import { afterEach, describe, expect, it } from "vitest";
import { closeHouses, House } from "../house.ts";
import { addAgentPod, addClaim, addNode, addPod, podRef } from "../objects.ts";
import { startLeader, startReplica, statusIn } from "./replica.ts";
import { ScriptedNode } from "./scripted-node.ts";

afterEach(closeHouses);

describe("a leader of many nodes that is slow to begin", () => {
  it("hands over no end that it has not decided", async () => {
    const house = new House();
    for (let node = 1; node <= 800; node += 1) addNode(house, `n${node}`);
    addAgentPod(house, "n1");
    const n1 = new ScriptedNode(house, "n1");
    addClaim(house, { source: { hostPath: { path: "/srv/data" } } });
    const first = await startLeader(house);
    await first.send(n1.report());
    await house.pass(95_000);
    await first.send(n1.report());
    await house.pass(5_000);
    const before = statusIn(house);
    const second = startReplica(house, { name: "aggregator-1" });
    await house.pass(10_000);
    first.process.crash();
    addPod(house, "web");
    await house.pass(5_000);
    house.api.delete(podRef("web"));
    const endedMs = house.nowMs;
    await house.until(() => {
      const isLeading = second.logger.messages().includes("leading from now on");
      if (!isLeading) second.delayPauses(true);
      return isLeading;
    });
    await house.pass(12_000);
    second.delayPauses(false);
    await house.pass(88_000);
    await second.put(n1.report());
    await house.pass(100_000);
    expect(before?.unused).toBe(true);
    expect(statusIn(house)?.sinceMs).toBeGreaterThanOrEqual(endedMs);
  });
});
