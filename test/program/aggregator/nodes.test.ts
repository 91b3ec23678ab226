import { afterEach, describe, expect, it } from "vitest";
import { REJECTED_ANNOTATION, REJECTION_REASON } from "../../../common/storage/rejection.ts";
import { readList } from "../../rig/stand-in/listed.ts";
import { secondsText } from "../../simulation/engine/times.ts";
import { closeHouses, House } from "../house.ts";
import { addAgentPod, addClaim, addKubelet, addNode, addPod, podRef } from "../objects.ts";
import { startLeader, startReplica } from "./replica.ts";
import { ScriptedNode } from "./scripted-node.ts";

afterEach(closeHouses);

const ELSEWHERE = {
  required: { nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: ["b"] }] }] },
};

/** A node in zone a with an agent, and a claim whose volume is in zone b. */
async function misplaced(argv: readonly string[] = []) {
  const house = new House();
  addNode(house, "n1", { labels: { zone: "a" } });
  addAgentPod(house, "n1");
  addClaim(house, { nodeAffinity: ELSEWHERE });
  const leader = await startLeader(house, { argv });
  const n1 = new ScriptedNode(house, "n1");
  await leader.send(n1.report());
  return { house, leader, n1 };
}

/** A pod that an agent has rejected. */
function addRejected(house: House, mark: { readonly at?: string | undefined }): void {
  const annotations = { [REJECTED_ANNOTATION]: JSON.stringify(mark) };
  addPod(house, "web", { phase: "Failed", status: { reason: REJECTION_REASON }, metadata: { annotations } });
}

describe("a node", () => {
  it("becomes Stale without reports, and Reporting with the next one", async () => {
    const { house, leader, n1 } = await misplaced();
    await house.pass(100_000);
    const before = await leader.metric("mooring_nodes", 'state="Stale"');

    await leader.send(n1.report());

    expect(before).toBe(1);
    expect(await leader.metric("mooring_nodes", 'state="Stale"')).toBe(0);
    expect(await leader.metric("mooring_nodes", 'state="Reporting"')).toBe(1);
  });

  it("is counted as soon as it joins", async () => {
    const { house, leader } = await misplaced();
    const before = await leader.metric("mooring_nodes", 'state="Reporting"');

    addNode(house, "n2");
    await house.pass(1_000);

    expect(before).toBe(1);
    expect(await leader.metric("mooring_nodes", 'state="Reporting"')).toBe(2);
  });

  it("becomes NoAgent when its agent's pod has been away for ten minutes and its kubelet is alive", async () => {
    const { house, leader } = await misplaced();
    await house.pass(600_000);
    house.api.delete(podRef("agent-n1", "mooring-agents"));
    await house.pass(500_000);
    addKubelet(house, "n1");
    const before = await leader.metric("mooring_nodes", 'state="NoAgent"');

    await house.pass(200_000);

    expect(before).toBe(0);
    expect(await leader.metric("mooring_nodes", 'state="NoAgent"')).toBe(1);
  });

  it("is listed with the volumes that are staged there and unused", async () => {
    const { leader, n1 } = await misplaced();
    n1.stage();
    await leader.send(n1.report());

    const { body } = await leader.get("/v1/volumes");

    const stagedOn = { items: [expect.objectContaining({ node: "n1", unusedSince: expect.stringMatching(/Z$/) })] };
    expect(readList(body).items).toMatchObject([{ live: { stagedOn } }]);
  });
});

describe("pods on a node that their volume excludes", () => {
  it("may be rejected again when none was for ten minutes", async () => {
    const { house, leader, n1 } = await misplaced(["--pause-rejections-at", "1"]);
    const before = await leader.send(n1.report());
    addRejected(house, {});
    await house.pass(2_000);
    await leader.send(n1.report());
    await house.pass(590_000);
    const paused = await leader.send(n1.report());
    await house.pass(20_000);

    const after = await leader.send(n1.report());

    expect(before).not.toHaveProperty("pauseRejections");
    expect(paused).toHaveProperty("pauseRejections");
    expect(after).not.toHaveProperty("pauseRejections");
  });

  it("do not pause rejections while they only wait", async () => {
    const { house, leader, n1 } = await misplaced(["--pause-rejections-at", "1"]);
    addPod(house, "web", { phase: "Pending" });
    await house.pass(2_000);

    const answer = await leader.send(n1.report());

    expect(answer).not.toHaveProperty("pauseRejections");
    expect(answer).not.toHaveProperty("volumes");
  });

  it.each<readonly [name: string, ageS: number | undefined, recent: number]>([
    ["that does not say when", undefined, 1],
    ["some minutes ago", 500, 1],
    ["long ago", 601, 0],
  ])("are counted, and pause rejections, when an agent has rejected them in ten minutes: one %s", async (...row) => {
    const [, ageS, recent] = row;
    const { house, leader, n1 } = await misplaced(["--pause-rejections-at", "1"]);

    const at = ageS === undefined ? undefined : secondsText(house.nowMs - ageS * 1_000);
    addRejected(house, { at });
    await house.pass(2_000);
    const answer = await leader.send(n1.report());
    const counted = await leader.metric("mooring_fleet_rejections_recent");
    await house.pass(600_000);

    expect([counted, Object.hasOwn(answer, "pauseRejections")]).toEqual([recent, recent > 0]);
    expect(await leader.metric("mooring_fleet_rejections_recent")).toBe(0);
  });
});

describe("a standby", () => {
  it("refuses a report with the reason", async () => {
    const { house, n1 } = await misplaced();
    const other = startReplica(house, { name: "aggregator-1" });
    await house.pass(5_000);

    const answer = await other.put(n1.report());

    expect(answer).toMatchObject({ status: 503, body: "not the leader\n" });
  });
});
