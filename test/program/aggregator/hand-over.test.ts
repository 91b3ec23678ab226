import { afterEach, describe, expect, it } from "vitest";
import { COVERAGE_ANNOTATION, readCoverage } from "../../../aggregator/sources/watch-history-annotation.ts";
import { closeHouses, House } from "../house.ts";
import { addPod, podRef } from "../objects.ts";
import { startLeader } from "./replica.ts";

afterEach(closeHouses);

const LEASE = { resource: "leases", namespace: "mooring", name: "mooring-aggregator" } as const;

describe("the word that a leader leaves on the way out", () => {
  it.each([
    { name: "does not reach the end of a pod that it saw when it decided no more", claim: "data", reaches: false },
    { name: "reaches what changes no claim, or the chain would break for nothing", claim: undefined, reaches: true },
  ])("$name", async ({ claim, reaches }) => {
    const house = new House();
    const leader = await startLeader(house);
    await house.pass(5_000);
    // It waits for the last change of its own pod.
    house.befall(({ site }) => (site === "patch pods" ? { requestMs: 500 } : {}));

    leader.process.stop();
    await house.pass(100);
    addPod(house, "web", claim === undefined ? { volumes: [] } : { claim });
    house.api.delete(podRef("web"));
    const endedAt = house.api.revision();
    await leader.stop();

    const lease = house.api.get(LEASE);
    const { reached } = readCoverage(String(lease?.metadata.annotations?.[COVERAGE_ANNOTATION]), house.nowMs) ?? {};
    expect(lease?.spec).toMatchObject({ holderIdentity: "" });
    expect(Number(reached) >= endedAt).toBe(reaches);
  });
});
