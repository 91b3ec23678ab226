import { afterEach, describe, expect, it } from "vitest";
import { closeHouses, House } from "../house.ts";
import { addAgentPod, addClaim, addNode, addPod, podRef } from "../objects.ts";
import { startLeader, startReplica, statusIn, untilLeading } from "./replica.ts";
import { ScriptedNode } from "./scripted-node.ts";

afterEach(closeHouses);

const HOST_PATH = { hostPath: { path: "/srv/data" } };

describe("a use that ended before the next leader began to watch, and that its predecessor could not store", () => {
  it.each([
    { name: "no other pod has named the claim", hasFinished: false },
    { name: "a pod that finished long ago still names the claim", hasFinished: true },
  ])("is not forgotten where $name", async ({ hasFinished }) => {
    const house = new House();
    addNode(house, "n1");
    addAgentPod(house, "n1");
    const n1 = new ScriptedNode(house, "n1");
    if (hasFinished) addPod(house, "job", { phase: "Succeeded" });
    await house.pass(5_000);
    addClaim(house, { source: HOST_PATH });
    const first = await startLeader(house);
    await first.send(n1.report());
    await house.until(() => statusIn(house)?.unused === true);
    house.refuse((site) => site === "apply persistentvolumeclaims/status");
    addPod(house, "web");
    await house.pass(20_000);
    house.api.delete(podRef("web"));
    const endedMs = house.nowMs;
    // Its node reports no more.
    await house.pass(5_000);
    const second = startReplica(house, { name: "aggregator-1" });
    await house.pass(10_000);
    first.process.crash();
    house.refuse();
    await untilLeading(house, second);
    await second.send(n1.report());
    await house.pass(60_000);

    expect(statusIn(house)?.sinceMs).toBeGreaterThanOrEqual(endedMs);
  });
});
