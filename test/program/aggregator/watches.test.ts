import { afterEach, describe, expect, it } from "vitest";
import { closeHouses } from "../house.ts";
import { addClaim, addPod } from "../objects.ts";
import { houseWithNodes } from "./mounted-claim.ts";
import { startLeader, statusIn, ToldNode } from "./replica.ts";

afterEach(closeHouses);

describe("a claim that comes while pods are not watched", () => {
  it("is said to be unused as soon as they are listed anew, and not before", async () => {
    const house = houseWithNodes();
    const leader = await startLeader(house);
    for (const name of ["n1", "n2"]) await leader.send(new ToldNode(house, name).report());
    await house.pass(5_000);
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
    const before = statusIn(house);

    house.refuse();
    await house.pass(60_000);

    expect(before).toBeUndefined();
    expect(statusIn(house)).toMatchObject({ unused: true, reason: "NeverObservedInUse" });
  });
});
