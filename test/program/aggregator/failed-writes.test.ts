import { afterEach, describe, expect, it } from "vitest";
import { COVERAGE_ANNOTATION, readCoverage } from "../../../aggregator/sources/watch-history-annotation.ts";
import { closeHouses, House } from "../house.ts";
import { addAgentPod, addClaim, addNode, addPod, podRef } from "../objects.ts";
import { claimIn, startLeader, statusIn } from "./replica.ts";
import { ScriptedNode } from "./scripted-node.ts";

afterEach(closeHouses);

const HOST_PATH = { source: { hostPath: { path: "/srv/data" } } };
const LEASE = { resource: "leases", namespace: "mooring", name: "mooring-aggregator" } as const;
const APPLY = "apply persistentvolumeclaims/status";

function houseWithNode(): { readonly house: House; readonly n1: ScriptedNode } {
  const house = new House();
  addNode(house, "n1");
  addAgentPod(house, "n1");
  return { house, n1: new ScriptedNode(house, "n1") };
}

describe("a claim whose status cannot be written", () => {
  it.each([
    { name: "a webhook refuses it", status: 422 },
    { name: "a role is missing", status: 403 },
    { name: "the API server fails", status: 500 },
  ] as const)("is left to the next leader with the time of its last use: $name", async ({ status }) => {
    const { house, n1 } = houseWithNode();
    addClaim(house, HOST_PATH);
    const leader = await startLeader(house);
    await leader.send(n1.report());
    await house.until(() => statusIn(house)?.unused === true);
    house.setFaults(({ site }) => (site === APPLY ? { refusal: { status } } : {}));
    addPod(house, "web");
    await house.pass(20_000);
    const endedMs = house.nowMs;
    house.api.delete(podRef("web"));
    await house.pass(1_000);
    await leader.send(n1.report());

    await house.pass(10_000);

    const { annotations } = house.api.get(LEASE)?.metadata ?? {};
    const [left, ...others] = readCoverage(String(annotations?.[COVERAGE_ANNOTATION]), house.nowMs)?.unstored ?? [];
    expect([left?.uid, others]).toEqual([claimIn(house).uid, []]);
    expect(left?.sinceMs).toBeGreaterThanOrEqual(endedMs);
    expect(left?.sinceMs).toBeLessThan(endedMs + 3_000);
  });

  it("is warned of once, however often a pod uses the claim meanwhile", async () => {
    const { house, n1 } = houseWithNode();
    addClaim(house, HOST_PATH);
    const leader = await startLeader(house);
    await leader.send(n1.report());
    await house.until(() => statusIn(house)?.unused === true);
    const isUnused = (body = ""): boolean => body.includes('"status":"True"');
    house.setFaults(({ site, request: { body } }) =>
      site === APPLY && isUnused(body) ? { refusal: { status: 422 } } : {},
    );
    for (let round = 0; round < 4; round += 1) {
      addPod(house, `web-${round}`);
      await house.pass(30_000);
      house.api.delete(podRef(`web-${round}`));
      await leader.send(n1.report());
      await house.pass(90_000);
      await leader.send(n1.report());
    }

    expect(leader.logger.messages().filter((message) => message === "claim needs attention")).toHaveLength(1);
  });

  it("delays no other for longer than a worker rests, however many there are", async () => {
    const { house, n1 } = houseWithNode();
    for (let index = 0; index < 50; index += 1) addClaim(house, { ...HOST_PATH, name: `bad-${index}` });
    house.setFaults(({ site, request }) =>
      site === APPLY && request.path.includes("/bad-") ? { refusal: { status: 503, retryAfterS: 30 } } : {},
    );
    const leader = await startLeader(house);
    await leader.send(n1.report());
    await house.pass(600_000);

    addClaim(house, HOST_PATH);
    await house.pass(31_000);

    expect(statusIn(house)).toMatchObject({ unused: true });
  });
});
