import { afterEach, describe, expect, it } from "vitest";
import { COVERAGE_ANNOTATION, readCoverage } from "../../../aggregator/sources/watch-history-annotation.ts";
import type { ReportAnswer } from "../../../common/storage/node-report.ts";
import { closeHouses, House } from "../house.ts";
import { addAgentPod, addClaim, addNode, addPod, podRef } from "../objects.ts";
import { recordWrites, startLeader, startReplica, statusIn, untilLeading } from "./replica.ts";
import { ScriptedNode } from "./scripted-node.ts";

afterEach(closeHouses);

const HOST_PATH = { hostPath: { path: "/srv/data" } };
const LEASE = { resource: "leases", namespace: "mooring", name: "mooring-aggregator" } as const;

function houseWithNode(): { readonly house: House; readonly n1: ScriptedNode } {
  const house = new House();
  addNode(house, "n1");
  addAgentPod(house, "n1");
  return { house, n1: new ScriptedNode(house, "n1") };
}

const NOT_THE_LEADER = { status: 503, body: "not the leader\n" };

/** Another replica holds the Lease from now on. */
function takeLead(house: House): void {
  house.api.update(LEASE, (lease) => ({ ...lease, spec: { ...Object(lease.spec), holderIdentity: "somebody" } }));
}

/** What the leader leaves to its successor. */
function handedOver(house: House) {
  const { annotations } = house.api.get(LEASE)?.metadata ?? {};
  return readCoverage(String(annotations?.[COVERAGE_ANNOTATION]), house.nowMs);
}

function isScanRequested({ scanRequest }: ReportAnswer): boolean {
  return scanRequest !== undefined;
}

describe("the leader", () => {
  it("hands over the version up to which it has decided, its own change of a pod included", async () => {
    const { house, n1 } = houseWithNode();
    addClaim(house);
    const leader = await startLeader(house);
    await leader.send(n1.report());
    await house.pass(30_000);

    await leader.stop();

    const labelled = Number(house.api.get(podRef("aggregator-0", "mooring"))?.metadata.resourceVersion);
    expect(Number(handedOver(house)?.reached)).toBeGreaterThanOrEqual(labelled);
  });

  it("hands over a claim whose status could not be stored", async () => {
    const { house, n1 } = houseWithNode();
    addClaim(house, { source: HOST_PATH });
    const leader = await startLeader(house);
    await leader.send(n1.report());
    await house.until(() => statusIn(house)?.unused === true);
    house.refuse((site) => site === "apply persistentvolumeclaims/status");
    addPod(house, "web");
    await house.pass(1_000);
    house.api.delete(podRef("web"));
    await house.pass(10_000);

    const left = handedOver(house)?.unstored;

    expect(left).toEqual([expect.objectContaining({ uid: "uid-of-data" })]);
  });

  it("serves no lists and takes no report once another replica leads", async () => {
    const { house, n1 } = houseWithNode();
    const leader = await startLeader(house);
    await leader.send(n1.report());
    const before = await leader.get("/v1/nodes");

    takeLead(house);
    await house.pass(5_000);

    expect(before.status).toBe(200);
    expect(await leader.get("/v1/nodes")).toMatchObject(NOT_THE_LEADER);
    expect(await leader.put(n1.report())).toMatchObject(NOT_THE_LEADER);
  });

  it("does not answer the report that it takes when another replica begins to lead", async () => {
    const { house, n1 } = houseWithNode();
    const leader = await startLeader(house);
    await leader.send(n1.report());
    let left = 0;
    leader.slowDownBy(() => {
      left += 1;
      return 0;
    });
    await leader.sendOnce(n1.report({ generation: 2 }));
    // In the last pause of such a report, after what it says was taken.
    leader.slowDownBy(() => {
      left -= 1;
      if (left !== 0) return 0;
      takeLead(house);
      return 5_000;
    });

    expect(await leader.put(n1.report({ generation: 3 }))).toMatchObject(NOT_THE_LEADER);
  });

  it("writes nothing after a pause in which another replica took the lead", async () => {
    const { house, n1 } = houseWithNode();
    addClaim(house, { source: HOST_PATH });
    const first = await startLeader(house);
    await first.send(n1.report());
    await house.until(() => statusIn(house)?.unused === true);
    const second = startReplica(house, { name: "aggregator-1" });
    await house.pass(5_000);
    first.process.pause();
    // The first event that its watch will show.
    addPod(house, "web");
    house.refuse((site, process) => process === "aggregator-1" && site.startsWith("apply"));
    await untilLeading(house, second);
    const writes = recordWrites(house);

    first.process.resume();
    await house.pass(20_000);

    expect(writes.filter(({ by }) => by === "aggregator-0").map(({ resource }) => resource)).not.toContain(
      "persistentvolumeclaims",
    );
  });
});

describe("a claim without any sign of use", () => {
  it("does not become unused by a scan from before the leader session", async () => {
    const { house, n1 } = houseWithNode();
    addClaim(house);
    const leader = await startLeader(house);

    const { scanRequest } = await leader.sendOnce(n1.report());
    await house.pass(5_000);
    const early = statusIn(house);
    await leader.sendOnce(n1.report({ scanRequest }));
    await house.pass(1_000);

    expect([early, statusIn(house)?.reason]).toEqual([undefined, "NeverObservedInUse"]);
  });

  it("does not become unused by a scan from before the leader listed pods anew", async () => {
    const { house, n1 } = houseWithNode();
    const leader = await startLeader(house);
    const { scanRequest } = await leader.sendOnce(n1.report());
    await leader.sendOnce(n1.report({ scanRequest }));
    house.api.restart(2_000);
    addClaim(house);
    house.api.compact();
    await house.pass(30_000);

    await leader.sendOnce(n1.report({ scanRequest }));
    await house.pass(5_000);
    const early = statusIn(house);
    await leader.send(n1.report());
    await house.pass(1_000);

    expect([early, statusIn(house)?.reason]).toEqual([undefined, "NeverObservedInUse"]);
  });

  it("waits for a pending node until that is Stale, and no longer", async () => {
    const { house } = houseWithNode();
    addClaim(house);
    await startLeader(house);

    await house.pass(80_000);
    const early = statusIn(house);
    await house.pass(15_000);

    expect([early, statusIn(house)?.reason]).toEqual([undefined, "NeverObservedInUse"]);
  });
});

describe("a standby", () => {
  it("knows the end of a pod that its predecessor saw and did not store", async () => {
    const { house, n1 } = houseWithNode();
    addClaim(house, { source: HOST_PATH });
    addPod(house, "web");
    const first = await startLeader(house);
    await first.send(n1.report());
    await house.until(() => statusIn(house)?.reason === "Referenced");
    const second = startReplica(house, { name: "aggregator-1" });
    await house.pass(10_000);
    const endedMs = house.nowMs;
    first.process.crash();
    house.api.delete(podRef("web"));
    await untilLeading(house, second);

    await second.send(n1.report());
    await house.pass(5_000);

    expect(statusIn(house)).toMatchObject({ unused: true, reason: "NoPodUsing", lastUse: { pod: "shop/web" } });
    expect(statusIn(house)?.sinceMs).toBeLessThan(endedMs + 3_000);
  });

  it("does not repeat what its predecessor has decided", async () => {
    const { house, n1 } = houseWithNode();
    addClaim(house);
    addPod(house, "web");
    const first = await startLeader(house);
    const second = startReplica(house, { name: "aggregator-1" });
    n1.mount("web");
    await first.send(n1.report());
    await house.until(() => statusIn(house)?.reason === "Mounted");
    house.api.delete(podRef("web"));
    n1.unmount("web");
    await first.send(n1.report());
    await house.until(() => statusIn(house)?.unused === true);
    n1.unmountRecords = [];
    await first.send(n1.report());
    await house.pass(60_000);
    const writes = recordWrites(house);

    await first.stop();
    await untilLeading(house, second);
    await house.pass(10_000);

    expect(writes.filter(({ resource }) => resource === "persistentvolumeclaims")).toEqual([]);
  });

  it("knows that its predecessor watched pods during an agent's gap", async () => {
    const { house, n1 } = houseWithNode();
    addClaim(house);
    const first = await startLeader(house);
    await first.send(n1.report());
    await house.until(() => statusIn(house)?.unused === true);
    const before = statusIn(house);
    await house.pass(20_000);
    const seenAt = n1.stamp;
    await house.pass(20_000);
    n1.comeBack(seenAt);
    await first.send(n1.report());
    const second = startReplica(house, { name: "aggregator-1" });
    await house.pass(10_000);
    first.process.crash();
    await untilLeading(house, second);

    await second.send(n1.report());
    await house.pass(10_000);

    expect(statusIn(house)).toEqual(before);
  });

  it("dates no claim earlier than its predecessor had decided and could not store", async () => {
    const { house, n1 } = houseWithNode();
    addClaim(house, { source: HOST_PATH });
    const first = await startLeader(house);
    await first.send(n1.report());
    await house.until(() => statusIn(house)?.unused === true);
    const before = statusIn(house);
    house.refuse((site) => site === "apply persistentvolumeclaims/status");
    addPod(house, "web");
    await house.pass(5_000);
    const endedMs = house.nowMs;
    house.api.delete(podRef("web"));
    await house.pass(10_000);
    await first.stop();
    house.refuse();

    const second = await startLeader(house, { name: "aggregator-1" });
    await second.send(n1.report());
    await house.pass(5_000);

    expect(before?.sinceMs).toBeLessThan(endedMs);
    expect(statusIn(house)?.sinceMs).toBeGreaterThanOrEqual(endedMs);
  });
});

describe("a gap of the pod watch", () => {
  /** A claim that is unused, and a leader that comes twenty seconds after the last one went. */
  async function afterGap({ isAgentAway = false } = {}) {
    const { house, n1 } = houseWithNode();
    addClaim(house);
    const first = await startLeader(house);
    await first.send(n1.report());
    await house.until(() => statusIn(house)?.unused === true);
    const before = statusIn(house);
    await house.pass(20_000);
    await first.stop();
    const seenAt = n1.stamp;
    await house.pass(20_000);
    if (isAgentAway) n1.comeBack(seenAt);
    const stale = n1.report();
    const second = await startLeader(house, { name: "aggregator-1" });
    return { house, n1, before, stale, second };
  }

  it("does not change a claim whose node had no agent gap", async () => {
    const { house, n1, before, second } = await afterGap();

    await second.send(n1.report());
    await house.pass(60_000);
    await second.send(n1.report());
    await house.pass(120_000);

    expect(statusIn(house)).toEqual(before);
  });

  it("counts as use where the node had an agent gap, too", async () => {
    const { house, n1, before, second } = await afterGap({ isAgentAway: true });

    await second.send(n1.report());
    await house.pass(5_000);

    expect(statusIn(house)?.sinceMs).toBeGreaterThan((before?.sinceMs ?? 0) + 20_000);
  });

  it("is asked of each node by one scan, as the barrier is", async () => {
    const { n1, stale, second } = await afterGap();

    const first = await second.sendOnce({ ...stale, sentAt: n1.stamp });
    const next = await second.sendOnce(n1.report({ scanRequest: first.scanRequest }));

    expect([first, next].map(isScanRequested)).toEqual([true, false]);
  });
});
