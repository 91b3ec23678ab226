import { afterEach, describe, expect, it } from "vitest";
import type { LeaderSession } from "../../../../aggregator/leader/leader-session.ts";
import { finish } from "../../../../common/runtime/steps.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { lastUseWith } from "../core/decisions.ts";
import { FakeCluster } from "../fake-cluster.ts";
import { lead, tell, WIDTH_MS } from "../leader-session.ts";
import {
  claimWith,
  mountedVolumeOf,
  NOON,
  nodeWith,
  reportWith,
  statusWith,
  unmountRecordOf,
  volumeWith,
} from "../world.ts";

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

/** A session that ends with its test. */
async function leading(...args: Parameters<typeof lead>) {
  const session = await lead(...args);
  cleanUps.push(session.stop);
  return session;
}

/** A claim, its volume and so many nodes. */
function clusterWith(claim: Claim = claimWith(), nodes = 1): FakeCluster {
  const cluster = new FakeCluster();
  cluster.byKey.set(claim.key, claim);
  cluster.volumes.set("pv-1", volumeWith());
  for (let node = 1; node <= nodes; node += 1) cluster.nodes.set(`n${node}`, nodeWith(`n${node}`));
  return cluster;
}

function heartbeatOf(node: string) {
  const { mountedVolumes: _, unmountRecords: __, ...heartbeat } = reportWith({ node });
  return heartbeat;
}

function bug(): never {
  throw new TypeError("a bug");
}

describe("a report to the leader", () => {
  it("is answered with what the API server's clock shows at least, and the volumes to look at; who waits for them is handed on", async () => {
    const cluster = clusterWith();
    const volumes = [{ name: "pv-1", resourceVersion: "12" }];
    cluster.misfitsOf.set("n1", { volumes, waiting: ["pod-1"] });
    const { session, clock, waiting } = await leading(cluster);
    waiting.splice(0);

    const outcomes = [tell(session, reportWith()), tell(session, reportWith({ node: "n2" }))];

    const nowMs = clock.wallMs() - WIDTH_MS;
    expect(outcomes).toMatchObject([{ answer: { nowMs, volumes } }, { answer: { nowMs, volumes: [] } }]);
    expect(waiting).toEqual([["n1", "pod-1"], ["n2"]]);
  });

  it.each([
    { name: "a heartbeat of a state that is not known", message: heartbeatOf("n1") },
    { name: "one to an earlier leader", message: reportWith({ session: "earlier" }) },
    { name: "one to no leader", message: reportWith({ session: "" }) },
  ])("is asked for again, with all that the node knows, after $name", async ({ message }) => {
    const { session } = await leading(clusterWith());

    expect(tell(session, message)).toEqual({ kind: "unknown" });
  });

  it.each<{
    readonly name: string;
    readonly breakIn: (cluster: FakeCluster, session: LeaderSession) => unknown;
    readonly isTaken: boolean;
  }>([
    {
      name: "is not taken where a bug shows in what it would change",
      breakIn: (cluster) => Object.assign(cluster, { onMisfits: bug }),
      isTaken: false,
    },
    {
      name: "is taken as a whole where a bug shows in one of those who are told of it",
      breakIn: (_, { agentStates }) => Object.assign(agentStates, { onReport: bug }),
      isTaken: true,
    },
  ])("$name", async ({ breakIn, isTaken }) => {
    const cluster = clusterWith(claimWith({ status: statusWith({ unused: true, sinceMs: NOON - 60_000 }) }));
    const { session, statuses, clock } = await leading(cluster);
    breakIn(cluster, session);

    expect(() => tell(session, reportWith({ mountedVolumes: [mountedVolumeOf("pod-1")] }))).toThrow("a bug");
    await clock.advance(20_000);

    // What the fleet has taken the claim was told of, too.
    expect(session.fleet.view("n1") !== undefined).toBe(isTaken);
    expect(statuses.map(({ reason }) => reason)).toEqual(isTaken ? ["Mounted"] : []);
  });

  it("is taken in steps, and dropped where another one of the node was taken between two of them", async () => {
    const { session } = await leading(clusterWith());
    const at = (generation: number) => reportWith({ generation, scan: { beganAt: 999 + generation, endedAt: 1_000 } });
    const steps = session.onReport(at(1));
    steps.next();

    const taken = tell(session, at(2));
    const outcome = finish(steps);

    expect(taken.kind).toBe("accepted");
    expect(outcome).toMatchObject({ kind: "stale", why: "another report of the node was taken meanwhile" });
    expect(session.fleet.view("n1")?.generation).toBe(2);
  });

  it("is not answered while it takes long to know which pods wait; that is handed on as one", async () => {
    const [cluster, clock] = [clusterWith(claimWith(), 40), createFakeClock()];
    cluster.onMisfits = () => clock.pass(1);
    const { session, waiting } = await leading(cluster, [], { clock });

    const before = [session.notReady()?.kind, waiting.length];
    await clock.advance(100);

    expect([before, [session.notReady()?.kind, waiting.length]]).toEqual([
      ["not-ready", 0],
      [undefined, 40],
    ]);
    expect(tell(session, reportWith())).toMatchObject({ kind: "accepted" });
  });

  it("is asked for with a new scan as long as it tells only of the time before a gap ended", async () => {
    const gap = { fromMs: NOON - 60_000, toMs: NOON, leasesAt: undefined, isForAll: true, open: new Map() };
    const { session, clock } = await leading(clusterWith(), [], { gap });

    const before = tell(session, reportWith());
    await clock.advance(5_000);
    const after = tell(session, reportWith());

    expect(before).toMatchObject({ kind: "accepted", answer: { scanRequest: `${session.session}/1` } });
    expect(after).not.toHaveProperty("answer.scanRequest");
  });

  it("is taken by a boot clock that went back, which is said", async () => {
    const { session, clock, logger } = await leading(clusterWith());
    const tellAt = (sentAt: number) => tell(session, reportWith({ scan: { beganAt: sentAt, endedAt: sentAt } }));
    tellAt(7_200_000);

    const outcomes = [];
    for (let index = 0; index < 5; index += 1) {
      clock.pass(30_000);
      outcomes.push(tellAt(3_600_000 + index * 30_000).kind);
    }

    expect(outcomes).toEqual(["stale", "stale", "stale", "stale", "accepted"]);
    const message = "node's boot clock went back, taken as it is now";
    expect(logger.lines).toContainEqual({ level: "warn", message, fields: { node: "n1", rolledBackMs: 3_480_000 } });
  });
});

describe("a claim in whose evidence a bug shows", () => {
  it("is left alone and named, and the others and the reports of their nodes are dealt with", async () => {
    const unmountRecord = unmountRecordOf("pod-1", { after: 900, by: 950 });
    const lastUse = lastUseWith({ releaseId: unmountRecord.id });
    const cluster = clusterWith(claimWith({ status: statusWith({ unused: true, reason: "Unmounted", lastUse }) }));
    const bad = claimWith({ name: "bad", uid: "claim-bad", volume: "pv-bad" });
    cluster.byKey.set(bad.key, bad);
    cluster.volumes.set("pv-bad", volumeWith({ key: "pv-bad", claim: { key: bad.key, uid: bad.uid } }));
    const { podsOf } = cluster;
    let isBroken = true;
    cluster.podsOf = (key) => (isBroken && key === bad.key ? bug() : podsOf(key));
    const { session, statuses, internalErrors, clock } = await leading(cluster);

    const volume = { by: "name", name: "pv-bad" } as const;
    const unmountRecords = [unmountRecord, { ...unmountRecordOf("pod-2", { after: 900, by: 960 }), volume }];
    const outcome = tell(session, reportWith({ mountedVolumes: [mountedVolumeOf("pod-3")], unmountRecords }));
    await clock.advance(20_000);
    const named = internalErrors.check();
    const written = statuses.map(({ reason }) => reason);
    isBroken = false;
    await clock.advance(120_000);

    expect(outcome).toMatchObject({ kind: "accepted", answer: { forget: [unmountRecord.id] } });
    expect(named).toMatchObject({ detail: expect.stringContaining("claims: shop/bad") });
    expect(written).toEqual(["Mounted"]);
    expect(statuses.map(({ reason }) => reason)).toContain("Unmounted");
  });
});
