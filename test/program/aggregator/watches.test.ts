import { afterEach, describe, expect, it } from "vitest";
import { closeHouses } from "../house.ts";
import { addClaim, addPod, CLAIM } from "../objects.ts";
import { houseWithNodes } from "./mounted-claim.ts";
import { startLeader, statusIn } from "./replica.ts";
import { ScriptedNode } from "./scripted-node.ts";

afterEach(closeHouses);

/** A leader that both nodes have reported to. */
async function atRest() {
  const house = houseWithNodes();
  const leader = await startLeader(house);
  const nodes = ["n1", "n2"].map((name) => new ScriptedNode(house, name));
  for (const node of nodes) await leader.send(node.report());
  await house.pass(5_000);
  return { house, leader, nodes };
}

/** The one entry of a list. */
function entryIn({ body }: { readonly body: string }): unknown {
  return JSON.parse(body.split("\n")[1] ?? "");
}

describe("a claim that is created during an interruption of the pod watch", () => {
  it("becomes unused once pods are listed anew and its nodes have reported since, and not before", async () => {
    const { house, leader, nodes } = await atRest();
    // The server has forgotten what happened since the watch broke off, so they have to be listed; and that fails.
    for (const server of house.api.servers) server.cut();
    addPod(house, "other", { claim: "another" });
    house.api.compact();
    let watches = 0;
    house.refuse((site) => {
      if (site === "watch pods") watches += 1;
      return site === "watch pods" && watches > 1;
    });
    await house.pass(2_000);
    addClaim(house);
    await house.pass(20_000);
    for (const node of nodes) await leader.send(node.report());
    const before = statusIn(house);

    house.refuse();
    await house.pass(60_000);
    // Pods that came and went meanwhile are in no list: only nodes can report them.
    const labels = { touched: "true" };
    house.api.update(CLAIM, (claim) => ({ ...claim, metadata: { ...claim.metadata, labels } }));
    await house.pass(5_000);
    const listed = statusIn(house);
    for (const node of nodes) await leader.send(node.report());
    await house.pass(5_000);

    expect([before, listed]).toEqual([undefined, undefined]);
    expect(statusIn(house)).toMatchObject({ unused: true, reason: "NeverObservedInUse" });
  });

  it("becomes unused soon after the watch resumes, where nothing was missed", async () => {
    const { house, leader } = await atRest();
    for (const server of house.api.servers) server.cut();
    house.refuse((site) => site === "watch pods");
    await house.pass(2_000);
    addClaim(house);
    await house.pass(20_000);
    const before = statusIn(house);
    const [waits, checks] = [await leader.get("/v1/claims"), await leader.readiness()];

    house.refuse();
    await house.pass(35_000);

    expect(before).toBeUndefined();
    expect([waits.status, entryIn(waits)]).toMatchObject([200, { pending: true, live: { podsUnwatched: true } }]);
    expect(checks).toContain("pod-watch ok (degraded): the watch of pods is interrupted");
    expect(statusIn(house)).toMatchObject({ unused: true, reason: "NeverObservedInUse" });
    expect(entryIn(await leader.get("/v1/claims"))).toMatchObject({ pending: false, live: { podsUnwatched: false } });
    expect(await leader.readiness()).not.toContain("interrupted");
  });
});
