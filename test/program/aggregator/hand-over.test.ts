import { afterEach, describe, expect, it } from "vitest";
import { COVERAGE_ANNOTATION, readCoverage } from "../../../aggregator/sources/watch-history-annotation.ts";
import { closeHouses, House } from "../house.ts";
import { addClaim, addPod, podRef } from "../objects.ts";
import { houseWithNodes } from "./mounted-claim.ts";
import { startLeader, startReplica, statusIn, untilLeading } from "./replica.ts";
import { ScriptedNode } from "./scripted-node.ts";

afterEach(closeHouses);

const LEASE = { resource: "leases", namespace: "mooring", name: "mooring-aggregator" } as const;

describe("the hand-over that a leader writes when it stops", () => {
  it.each([
    { name: "does not include the end of a pod that it saw after its last decision", claim: "data", reaches: false },
    {
      name: "includes changes that affect no claim, so that the chain of watches is not broken",
      claim: undefined,
      reaches: true,
    },
  ])("$name", async ({ claim, reaches }) => {
    const house = new House();
    const leader = await startLeader(house);
    await house.pass(5_000);
    // Another client changes the Lease: the first hand-over meets a conflict, and the second one is made half a second later.
    house.setFaults(({ site }) => (site === "get leases" ? { requestMs: 500 } : {}));
    house.api.update(LEASE, (lease) => ({ ...lease, metadata: { ...lease.metadata, labels: { team: "storage" } } }));

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

describe("a claim whose status the API server refuses while a pod uses it, and whose leader dies then", () => {
  const HOST_PATH = { source: { hostPath: { path: "/data" } } };

  it.each([
    { name: "its node reports the mount, a standby watched", claim: {}, isMounted: true, hasStandby: true },
    { name: "its node reports the mount, no replica watched", claim: {}, isMounted: true, hasStandby: false },
    { name: "a hostPath volume has no mount, a standby watched", claim: HOST_PATH, isMounted: false, hasStandby: true },
    {
      name: "a hostPath volume has no mount, no replica watched",
      claim: HOST_PATH,
      isMounted: false,
      hasStandby: false,
    },
  ])("is not unused before the pod ended: $name", async ({ claim, isMounted, hasStandby }) => {
    const house = houseWithNodes();
    addClaim(house, claim);
    const leader = await startLeader(house);
    const n1 = new ScriptedNode(house, "n1");
    const nodes = [n1, new ScriptedNode(house, "n2")];
    for (const node of nodes) await leader.send(node.report());
    await house.until(() => statusIn(house)?.unused === true);
    const standby = hasStandby ? startReplica(house, { name: "aggregator-1" }) : undefined;
    await house.pass(30_000);
    house.refuse((site) => site.startsWith("apply"));
    addPod(house, "web");
    if (isMounted) n1.mount("web");
    await leader.send(n1.report());
    await house.pass(60_000);
    if (isMounted) n1.unmount("web");
    house.api.delete(podRef("web"));
    const endedAt = house.nowMs;
    await house.pass(5_000);
    await leader.send(n1.report());
    await house.pass(10_000);
    const before = statusIn(house)?.sinceMs;

    leader.process.crash();
    house.refuse();
    const next = standby ?? startReplica(house, { name: "aggregator-1" });
    await untilLeading(house, next);
    for (const node of nodes) await next.send(node.report());
    await house.pass(120_000);

    expect(before).toBeLessThan(endedAt);
    expect(statusIn(house)?.unused).toBe(true);
    expect(statusIn(house)?.sinceMs).toBeGreaterThanOrEqual(endedAt);
  });
});
