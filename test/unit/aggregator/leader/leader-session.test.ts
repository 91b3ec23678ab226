import { afterEach, describe, expect, it } from "vitest";
import type { EndedPod } from "../../../../aggregator/core/cluster-objects.ts";
import type { LeaderSession } from "../../../../aggregator/leader/leader-session.ts";
import { finish } from "../../../../common/runtime/steps.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { lastUseWith } from "../core/decisions.ts";
import { FakeCluster } from "../fake-cluster.ts";
import { lead, tell, WIDTH_MS } from "../leader-session.ts";
import {
  claimWith,
  mountedStatus,
  mountedVolumeOf,
  NOON,
  nodeWith,
  podWith,
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

function clusterWith(claim: Claim): FakeCluster {
  const cluster = new FakeCluster();
  cluster.byKey.set(claim.key, claim);
  cluster.volumes.set("pv-1", volumeWith());
  return cluster;
}

function heartbeatOf(node: string) {
  const { mountedVolumes: _, unmountRecords: __, ...heartbeat } = reportWith({ node });
  return heartbeat;
}

describe("a session", () => {
  it("begins with the ends that were seen while another one led, at the time at which they were seen", async () => {
    const pod = podWith({ node: undefined, hasStarted: false });
    const end: EndedPod = { pod, gone: "300", wasOver: false, seenAtMs: NOON - 10_000 };

    const { statuses } = await leading(clusterWith(claimWith({ status: statusWith({ sinceMs: NOON - 60_000 }) })), [
      end,
    ]);

    expect(statuses).toMatchObject([{ unused: true, reason: "NoPodUsing", sinceMs: NOON - 10_000 }]);
  });

  it.each([
    { name: "whose word it waits for when its pod's end is known", gone: ["300"], unused: 0 },
    { name: "that may be the one on which a pod ended that nobody knows of", gone: [], unused: 0 },
  ])("waits for a Stale node $name", async ({ gone, unused }) => {
    const cluster = clusterWith(claimWith({ status: statusWith({ sinceMs: NOON - 60_000 }) }));
    cluster.nodes.set("n1", nodeWith("n1"));
    const ends = gone.map((version) => ({ pod: podWith(), gone: version, wasOver: false, seenAtMs: NOON - 10_000 }));

    const { clock, statuses } = await leading(cluster, ends);
    await clock.advance(180_000);

    expect(statuses.filter((status) => status.unused)).toHaveLength(unused);
  });

  it.each([
    { name: "mounted", status: mountedStatus(["n1"]) },
    { name: "staged", status: statusWith({ unused: true, reason: "NoPodUsing", staged: "Staged on n1" }) },
  ])(
    "does not take a copy of what its node told an earlier leader for the node's own word: a $name claim",
    async ({ status }) => {
      const cluster = clusterWith(claimWith({ status }));
      cluster.nodes.set("n1", nodeWith("n1"));
      const { session, statuses, clock } = await leading(cluster, [], { protection: "enforce" });

      const copies = ["", "an-earlier-session"].map((named) => tell(session, { ...reportWith(), session: named }));
      await clock.advance(20_000);
      const before = [...statuses];
      const own = tell(session, { ...reportWith(), session: session.session });
      await clock.advance(20_000);

      expect(copies).toEqual([{ kind: "unknown" }, { kind: "unknown" }]);
      expect(before).toEqual([]);
      expect(own.kind).toBe("accepted");
      expect(statuses.map(({ unused, staged }) => [unused, staged])).toEqual([[true, undefined]]);
    },
  );

  it("does not move what an earlier leader wrote of pods that are still there, finished", async () => {
    const cluster = clusterWith(
      claimWith({ status: statusWith({ unused: true, reason: "NoPodUsing", sinceMs: NOON - 60_000 }) }),
    );
    cluster.pods.set("pod-1", podWith({ isTerminal: true, node: undefined }));

    const { clock, statuses } = await leading(cluster);
    await clock.advance(120_000);

    expect(statuses).toEqual([]);
  });

  it.each([
    {
      name: "in what it would change",
      breakIn: (cluster: FakeCluster) => {
        cluster.onMisfits = () => {
          throw new TypeError("a bug");
        };
      },
      isTaken: false,
    },
    {
      name: "in one of those who are told of it",
      breakIn: (cluster: FakeCluster, { agentStates }: LeaderSession) => {
        agentStates.onReport = () => {
          throw new TypeError("a bug");
        };
        cluster.onMisfits = () => {};
      },
      isTaken: true,
    },
  ])("takes all of a report or nothing where a bug shows $name", async ({ breakIn, isTaken }) => {
    const cluster = clusterWith(claimWith({ status: statusWith({ unused: true, sinceMs: NOON - 60_000 }) }));
    cluster.nodes.set("n1", nodeWith("n1"));
    const { session, statuses, clock } = await leading(cluster);
    breakIn(cluster, session);

    expect(() => tell(session, reportWith({ mountedVolumes: [mountedVolumeOf("pod-1")] }))).toThrow("a bug");
    await clock.advance(20_000);

    // What the fleet has taken the claim was told of, too.
    expect(session.fleet.view("n1") !== undefined).toBe(isTaken);
    expect(statuses.map(({ reason }) => reason)).toEqual(isTaken ? ["Mounted"] : []);
  });

  it("leaves alone a claim in whose evidence a bug shows, names it, and goes on with the others and with the reports of their nodes", async () => {
    const unmountRecord = unmountRecordOf("pod-1", { after: 900, by: 950 });
    const lastUse = lastUseWith({ releaseId: unmountRecord.id });
    const cluster = clusterWith(claimWith({ status: statusWith({ unused: true, reason: "Unmounted", lastUse }) }));
    const bad = claimWith({ name: "bad", uid: "claim-bad", volume: "pv-bad" });
    cluster.byKey.set(bad.key, bad);
    cluster.volumes.set("pv-bad", volumeWith({ key: "pv-bad", claim: { key: bad.key, uid: bad.uid } }));
    cluster.nodes.set("n1", nodeWith("n1"));
    const { podsOf } = cluster;
    let isBroken = true;
    cluster.podsOf = (key) => {
      if (isBroken && key === bad.key) throw new TypeError("a bug");
      return podsOf(key);
    };
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

  it("takes a report in steps, and drops it where another one of the node was taken between two of them", async () => {
    const { session } = await leading(clusterWith(claimWith()));
    const [early, late] = [1, 2].map((at) =>
      reportWith({ generation: at, scan: { beganAt: 999 + at, endedAt: 1_000 } }),
    );
    const steps = session.onReport(early ?? reportWith());
    steps.next();

    const taken = tell(session, late ?? reportWith());
    const outcome = finish(steps);

    expect(taken.kind).toBe("accepted");
    expect(outcome).toMatchObject({ kind: "stale", why: "another report of the node was taken meanwhile" });
    expect(session.fleet.view("n1")?.generation).toBe(2);
  });

  it("ends with its signal, also when it waits for nodes", async () => {
    const cluster = clusterWith(claimWith());
    cluster.nodes.set("n1", nodeWith("n1"));
    const { session } = await leading(cluster);

    expect(session.unreported).toEqual(["n1"]);
  });

  it.each([
    { name: "a heartbeat of a state that it does not know", message: heartbeatOf("n1") },
    { name: "a report to an earlier leader", message: reportWith({ session: "earlier" }) },
  ])("asks a node for all it knows after $name", async ({ message }) => {
    const { session } = await leading(clusterWith(claimWith()));

    expect(tell(session, message).kind).toBe("unknown");
  });

  it("answers each report with what the API server's clock shows at least", async () => {
    const { session, clock } = await leading(clusterWith(claimWith()));

    const outcome = tell(session, reportWith());

    expect(outcome).toMatchObject({ kind: "accepted", answer: { nowMs: clock.wallMs() - WIDTH_MS } });
  });

  it("names the volumes that the node's agent has to look at", async () => {
    const cluster = clusterWith(claimWith());
    cluster.misfitsOf.set("n1", { volumes: [{ name: "pv-1", resourceVersion: "12" }], waiting: ["pod-1"] });
    const { session } = await leading(cluster);

    expect(tell(session, reportWith())).toMatchObject({
      answer: { volumes: [{ name: "pv-1", resourceVersion: "12" }] },
    });
  });

  it("hands on which pods wait there for a volume that excludes the node", async () => {
    const cluster = clusterWith(claimWith());
    cluster.misfitsOf.set("n1", { volumes: [], waiting: ["pod-1"] });
    const { session, waiting } = await leading(cluster);

    tell(session, reportWith());

    expect(waiting).toEqual([["n1", "pod-1"]]);
  });

  it("knows as it begins which pods wait on all nodes, before any of them has reported", async () => {
    const cluster = clusterWith(claimWith());
    for (const node of ["n1", "n2"]) {
      cluster.nodes.set(node, nodeWith(node));
      cluster.misfitsOf.set(node, { volumes: [], waiting: [`pod-on-${node}`] });
    }

    const { waiting } = await leading(cluster);

    expect(waiting).toEqual([
      ["n1", "pod-on-n1"],
      ["n2", "pod-on-n2"],
    ]);
  });

  it("hands that on as one: half of it would say less than what was known before", async () => {
    const [cluster, clock] = [clusterWith(claimWith()), createFakeClock()];
    for (let node = 1; node <= 40; node += 1) cluster.nodes.set(`n${node}`, nodeWith(`n${node}`));
    cluster.onMisfits = () => clock.pass(1);
    const { waiting } = await leading(cluster, [], { clock });

    const early = waiting.length;
    await clock.advance(100);

    expect([early, waiting.length]).toEqual([0, 40]);
  });

  it("takes turns with others where it takes long to know that, and answers no report before", async () => {
    const [cluster, clock] = [clusterWith(claimWith()), createFakeClock()];
    for (let node = 1; node <= 40; node += 1) cluster.nodes.set(`n${node}`, nodeWith(`n${node}`));
    cluster.onMisfits = () => clock.pass(1);
    const { session } = await leading(cluster, [], { clock });

    const before = session.notReady();
    await clock.advance(100);

    expect(before).toMatchObject({ kind: "not-ready" });
    expect(session.notReady()).toBeUndefined();
    expect(tell(session, reportWith())).toMatchObject({ kind: "accepted" });
  });

  it("tells an agent that there are none", async () => {
    const { session } = await leading(clusterWith(claimWith()));

    expect(tell(session, reportWith())).toMatchObject({ answer: { volumes: [] } });
  });

  it("asks a node for a scan that has told only of the time before a gap ended", async () => {
    const cluster = clusterWith(claimWith());
    cluster.nodes.set("n1", nodeWith("n1"));
    const gap = { fromMs: NOON - 60_000, toMs: NOON, leasesAt: undefined, isForAll: true, open: new Map() };
    const { session, clock } = await leading(cluster, [], { gap });

    const before = tell(session, reportWith());
    await clock.advance(5_000);
    const after = tell(session, reportWith());

    expect(before).toMatchObject({ kind: "accepted", answer: { scanRequest: `${session.session}/1` } });
    expect(after).not.toHaveProperty("answer.scanRequest");
  });

  it("says so when a node's boot clock went back, and takes the node as it is", async () => {
    const { session, clock, logger } = await leading(clusterWith(claimWith()));
    const tellAt = (sentAt: number) => tell(session, reportWith({ scan: { beganAt: sentAt, endedAt: sentAt } }));
    tellAt(7_200_000);

    const outcomes = [];
    for (let index = 0; index < 5; index += 1) {
      clock.pass(30_000);
      outcomes.push(tellAt(3_600_000 + index * 30_000).kind);
    }

    expect(outcomes).toEqual(["stale", "stale", "stale", "stale", "accepted"]);
    expect(logger.lines).toContainEqual({
      level: "warn",
      message: "node's boot clock went back, taken as it is now",
      fields: { node: "n1", rolledBackMs: 3_480_000 },
    });
  });
});
