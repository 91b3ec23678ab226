import { afterEach, describe, expect, it } from "vitest";
import { closeHouses } from "../house.ts";
import { addClaim, addPod, nodeRef, podRef } from "../objects.ts";
import { houseWithNodes, mountedClaim } from "./mounted-claim.ts";
import { startLeader, statusIn } from "./replica.ts";
import { ToldNode } from "./told-node.ts";

afterEach(closeHouses);

/** What was mounted on a node that is gone is remembered for a day; that it is gone is known after five minutes. */
const FORGOTTEN_MS = 87_000_000;

describe("a node that was deleted without a leader", () => {
  it("is Gone after five minutes, although no watch shows its deletion", async () => {
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

  it("still counts also where no claim's status names the node, as that write was refused", async () => {
    const house = houseWithNodes();
    const [n1, n2] = [new ToldNode(house, "n1"), new ToldNode(house, "n2")];
    addClaim(house);
    const leader = await startLeader(house, { argv: ["--leader-elect-lease-duration", "300s"] });
    for (const node of [n1, n2]) await leader.send(node.report());
    await house.until(() => statusIn(house)?.unused === true);
    house.refuse((site) => site === "apply persistentvolumeclaims/status");
    // Of its pod the leader knows nothing but the mount: it saw no pod end.
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
