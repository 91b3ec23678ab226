import { afterEach, describe, expect, it } from "vitest";
import { closeHouses, House } from "../house.ts";
import { addAgentPod, addNode, addPod, podRef } from "../objects.ts";
import { mountedClaim } from "./mounted-claim.ts";
import { startLeader } from "./replica.ts";
import { ScriptedNode } from "./scripted-node.ts";

afterEach(closeHouses);

describe("readiness", () => {
  it("names the first few nodes that have not reported since the start", async () => {
    const house = new House();
    const names = ["n1", "n2", "n3", "n4", "n5", "n6", "n7"];
    for (const name of names) {
      addNode(house, name);
      addAgentPod(house, name);
    }
    const leader = await startLeader(house);
    const atFirst = await leader.readiness();

    for (const name of names.slice(1)) await leader.send(new ScriptedNode(house, name).report());
    const late = await leader.readiness();
    await leader.send(new ScriptedNode(house, "n1").report());

    const since = "[-]nodes failed: no report since the start";
    expect(atFirst).toContain(`${since}: 7 nodes (n1, n2, n3 and 4 more)\n`);
    expect(late).toContain(`${since}: 1 node (n1)\n`);
    expect(await leader.readiness()).toContain("[+]nodes ok\n");
  });

  it("names the Stale nodes later, and says how many claims wait for them", async () => {
    const { house, leader, n2 } = await mountedClaim();
    const pass = async (): Promise<void> => {
      for (let passedMs = 0; passedMs < 120_000; passedMs += 30_000) {
        await house.pass(30_000);
        await leader.send(n2.report());
      }
    };
    await pass();
    const inUse = await leader.readiness();
    house.api.delete(podRef("web"));
    await pass();
    const waiting = await leader.readiness();
    addPod(house, "again", { node: "n2" });
    await pass();

    const said = "[+]nodes ok (degraded): Stale: 1 node (n1); claims that wait for a node:";
    expect(inUse).toContain(`${said} 0\n`);
    expect(waiting).toContain(`${said} 1\n`);
    expect(await leader.readiness()).toContain(`${said} 0\n`);
  });
});
