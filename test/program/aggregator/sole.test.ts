import { afterEach, describe, expect, it } from "vitest";
import { closeHouses, House } from "../house.ts";
import { addAgentPod, addClaim, addNode, addPod, podRef } from "../objects.ts";
import { startLeader, startReplica, statusIn, untilLeading } from "./replica.ts";
import { ScriptedNode } from "./scripted-node.ts";

afterEach(closeHouses);

const HOST_PATH = { hostPath: { path: "/srv/data" } };

describe("the only process, without an election", () => {
  it("takes the end of a pod into account that its watch showed before it led", async () => {
    const house = new House();
    addNode(house, "n1");
    addAgentPod(house, "n1");
    const n1 = new ScriptedNode(house, "n1");
    addClaim(house, { source: HOST_PATH });
    const first = await startLeader(house, { isSole: true });
    await first.send(n1.report());
    await house.until(() => statusIn(house)?.unused === true);
    await first.stop();
    await house.pass(60_000);
    house.refuse((site) => ["list", "watch"].includes(site.split(" ")[0] ?? "") && site.endsWith("persistentvolumes"));
    const second = startReplica(house, { name: "aggregator-1", isSole: true });
    await house.pass(5_000);
    addPod(house, "web");
    await house.pass(40_000);
    house.api.delete(podRef("web"));
    const endedMs = house.nowMs;
    await house.pass(40_000);
    house.refuse();
    await untilLeading(house, second);
    await second.send(n1.report());
    await house.pass(200_000);

    expect(statusIn(house)?.sinceMs).toBeGreaterThanOrEqual(endedMs);
  });
});
