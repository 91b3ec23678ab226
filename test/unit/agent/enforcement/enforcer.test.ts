import { afterEach, describe, expect, it } from "vitest";
import type { FakeClock } from "../../../fakes/clock.ts";
import { knownMountedVolume, mountedVolumesOf, nodeState } from "../../../fakes/node-states.ts";
import { endScenes, NODE, node, PV, pod, podAt, RUNNING, startScene, volume } from "./scene.ts";

afterEach(endScenes);

/** How often a clock is asked from now on. Each time costs a moment, so that time passes also for what never rests. */
function countAsks(clock: FakeClock): () => number {
  const { monotonicMs, pass } = clock;
  let asks = 0;
  const ask = (): number => {
    asks += 1;
    pass(0.01);
    return monotonicMs();
  };
  Object.assign(clock, { monotonicMs: ask });
  return () => asks;
}

describe("a pod that waits for a volume that excludes its node", () => {
  it("is rejected after the grace period as a kubelet does it, with an event", async () => {
    const { cluster, advance, phase, emitted } = await startScene();

    cluster.put(podAt("web"), pod("web"));
    await advance(4_900);
    const before = phase("web");
    await advance(200);

    expect(before).toBe("Pending");
    expect(cluster.get(podAt("web"))?.status).toMatchObject({
      phase: "Failed",
      reason: "VolumeNodeAffinity",
      message: expect.stringMatching(
        /^Pod was rejected: the node affinity of volume pv-1 of claim data-1 excludes node/,
      ),
    });
    expect(cluster.get(podAt("web"))?.metadata.annotations).toHaveProperty(["mooring.dev/rejected"]);
    expect(emitted()).toEqual([expect.stringMatching(/^Rejected: Pod was rejected: the node affinity/)]);
  });

  it("is rejected once, and the rejection is verified", async () => {
    const { cluster, advance, counted, logger } = await startScene();

    cluster.put(podAt("web"), pod("web"));
    await advance(60_000);

    expect(await counted()).toEqual({ rejected: 1, held: 1 });
    expect(logger.messages()).toEqual(expect.arrayContaining(["pod looked at", "pod rejected", "pod stays rejected"]));
    expect(cluster.asked().filter((line) => line.startsWith("PATCH"))).toHaveLength(1);
  });

  it.each([
    { name: "is not rejected while the agent knows its mount from this boot", since: 11, seenAt: 20, phase: "Pending" },
    {
      name: "is not rejected while the agent knows its mount from this boot, by an earlier clock",
      since: 11,
      seenAt: 0,
      phase: "Pending",
    },
    {
      name: "is rejected although it had a mount in an earlier boot",
      since: 0,
      seenAt: 0,
      phase: "Failed",
    },
  ])("$name", async ({ since, seenAt, phase: expected }) => {
    const { cluster, advance, phase, setState } = await startScene();
    setState(nodeState({ mountedVolumes: mountedVolumesOf(knownMountedVolume(1, { since, seenAt })) }));

    cluster.put(podAt("web"), pod("web", { uid: "u1" }));
    await advance(20_000);

    expect(phase("web")).toBe(expected);
  });

  it("is rejected although a bug fails the check of another pod, which is named and checked again", async () => {
    const { cluster, advance, phase, enforcement, expectBug, logger } = await startScene();
    expectBug();
    cluster.put(podAt("bad"), pod("bad"));
    let isBroken = true;
    cluster.intercept = ({ path }) => {
      if (isBroken && path.includes("/pods/bad")) throw new TypeError("a bug");
      return undefined;
    };

    cluster.put(podAt("web"), pod("web"));
    await advance(10_000);
    const named = enforcement.internalErrors();
    const phases = [phase("bad"), phase("web")];
    isBroken = false;
    await advance(60_000);

    expect(phases).toEqual(["Pending", "Failed"]);
    expect(named).toMatchObject({ ok: true, detail: "internal errors, see the log; placement: u-bad" });
    expect(logger.messages("error")).toEqual(["internal error, work on this key will be tried again"]);
    expect(phase("bad")).toBe("Failed");
    expect(enforcement.internalErrors()).toEqual({ ok: true });
  });

  it("that exists when the agent starts is rejected as well", async () => {
    const { phase } = await startScene({}, (cluster) => cluster.put(podAt("web"), pod("web")));

    expect(phase("web")).toBe("Failed");
  });

  it("gets one event in audit mode, which a restart does not repeat, and is not rejected", async () => {
    const { cluster, advance, phase, emitted, counted } = await startScene({ mode: "audit" });

    cluster.put(podAt("web"), pod("web"));
    await advance(6_000);
    cluster.put(NODE, node("c"));
    await advance(600_000);

    expect(phase("web")).toBe("Pending");
    expect(emitted()).toEqual([expect.stringMatching(/^WouldReject: Pod would be rejected \(--affinity=audit\): /)]);
    expect(cluster.events()[0]?.metadata.name).toBe("web.u-web-would-reject");
    expect(await counted()).toEqual({ "would-reject": 1 });
  });

  it("is not checked when the mode is off", async () => {
    const { cluster, advance, verdicts, enforcement } = await startScene({ mode: "off" });

    cluster.put(podAt("web"), pod("web"));
    await advance(60_000);

    expect(verdicts()).toEqual([]);
    expect(cluster.asked()).toEqual([]);
    expect(enforcement.check()).toEqual({ ok: true, detail: "off" });
  });

  it("is decided by live reads: it stays when its volume was corrected meanwhile", async () => {
    const { cluster, advance, phase, verdicts } = await startScene();

    cluster.put(podAt("web"), pod("web"));
    await advance(4_000);
    cluster.put(PV, volume("a"));
    await advance(60_000);

    expect(phase("web")).toBe("Pending");
    expect(verdicts()).toEqual(["allow"]);
  });

  it("causes no read when it has started within the grace period", async () => {
    const { cluster, advance, verdicts } = await startScene();

    cluster.put(podAt("web"), pod("web"));
    await advance(2_000);
    cluster.put(podAt("web"), pod("web", { status: RUNNING }));
    await advance(1_000);
    cluster.remove(podAt("web"));
    await advance(60_000);

    expect(verdicts()).toEqual([]);
    expect(cluster.asked()).toEqual([]);
  });

  it("is not rejected while its volume is mounted, and is rejected afterwards", async () => {
    const { cluster, table, advance, phase } = await startScene();
    const mountPoint = "/var/lib/kubelet/pods/u-web/volumes/kubernetes.io~nfs/pv-1";
    table.mount(mountPoint);

    cluster.put(podAt("web"), pod("web"));
    await advance(30_000);
    const before = phase("web");
    table.unmount(mountPoint);
    await advance(300_000);

    expect(before).toBe("Pending");
    expect(phase("web")).toBe("Failed");
  });

  it("is not rejected while scans are incomplete, and is rejected afterwards", async () => {
    const { cluster, table, advance, phase, verdicts } = await startScene();
    const token = "/var/lib/kubelet/pods/agent-1/volumes/kubernetes.io~projected/kube-api-access-x7k2p";
    table.unmount(token);

    cluster.put(podAt("web"), pod("web"));
    await advance(30_000);
    const before = phase("web");
    table.mount(token);
    await advance(60_000);

    expect(before).toBe("Pending");
    expect(verdicts()[0]).toBe("unknown");
    expect(phase("web")).toBe("Failed");
  });

  it("is not rejected while a read fails, and is checked again with back-off", async () => {
    const { cluster, advance, phase, enforcement } = await startScene();
    cluster.intercept = ({ path }) => (path.startsWith(PV) ? { status: 403, body: "no" } : undefined);

    cluster.put(podAt("web"), pod("web"));
    await advance(600_000);
    const tries = cluster.asked().filter((line) => line === `GET ${PV}`).length;
    const check = enforcement.check();
    cluster.intercept = () => undefined;
    await advance(400_000);

    expect(tries).toBeGreaterThan(5);
    expect(tries).toBeLessThan(20);
    expect(check).toMatchObject({ ok: false, why: expect.stringContaining("persistentvolumes") });
    expect(phase("web")).toBe("Failed");
    expect(enforcement.check().ok).toBe(true);
  });
});

describe("a check", () => {
  it.each([{ name: "another label of the node", change: { path: NODE, object: node("b") } }])(
    "at a waiting pod is $name",
    async ({ change }) => {
      const { cluster, advance, phase, verdicts } = await startScene();
      cluster.put(PV, volume("a"));
      cluster.put(podAt("web"), pod("web"));
      await advance(60_000);
      const before = verdicts();

      cluster.put(change.path, change.object);
      await advance(6_000);

      expect(before).toEqual(["allow"]);
      expect(phase("web")).toBe("Failed");
    },
  );

  it("follows within seconds for all pods when the node's labels return", async () => {
    const { cluster, advance, enforcement, phase } = await startScene();
    cluster.put(PV, volume("a"));
    for (const name of ["a", "b", "c", "d"]) cluster.put(podAt(name), pod(name, { status: RUNNING }));
    cluster.put(podAt("web"), pod("web"));
    await advance(60_000);

    cluster.put(NODE, node("b"));
    await advance(10_000);
    const held = enforcement.check();
    cluster.put(NODE, node("a"));
    await advance(6_000);

    expect(held).toMatchObject({ ok: false, why: expect.stringContaining("5 of the node's 5 pods") });
    expect(enforcement.check().ok).toBe(true);
    expect(phase("web")).toBe("Pending");
  });

  it("of other pods follows when a rejection depends on old verdicts", async () => {
    const { cluster, advance, phase } = await startScene();
    for (const name of ["a", "b", "c"]) cluster.put(podAt(name), pod(name, { status: RUNNING }));
    cluster.put("/api/v1/persistentvolumes/pv-2", volume("b", "pv-2"));
    cluster.put("/api/v1/namespaces/team/persistentvolumeclaims/data-2", {
      metadata: { name: "data-2", namespace: "team", uid: "claim of pv-2" },
      spec: { volumeName: "pv-2" },
      status: { phase: "Bound" },
    });
    cluster.put(podAt("web"), pod("web", { claim: "data-2" }));
    await advance(10_000);
    const before = phase("web");

    cluster.put(PV, volume("a"));
    await advance(310_000);

    expect(before).toBe("Pending");
    expect(phase("web")).toBe("Failed");
  });

  it("follows once when a label changes after a held-back pod has started", async () => {
    const { cluster, clock, advance, enforcement } = await startScene();
    enforcement.onAnswer({ forget: [], pauseRejections: "many nodes reject" });
    for (const name of ["a", "b"]) cluster.put(podAt(name), pod(name));
    cluster.put(podAt("c"), pod("c", { status: RUNNING }));
    await advance(6_000);
    cluster.put(podAt("a"), pod("a", { status: RUNNING }));
    cluster.put(NODE, node("c"));
    await advance(6_000);

    const asks = countAsks(clock);
    enforcement.onAnswer({ forget: [] });
    await advance(6_000);

    expect(enforcement.check()).toMatchObject({ ok: false, why: expect.stringContaining("3 of the node's 3 pods") });
    expect(asks()).toBeLessThan(1_000);
  });

  it("does not follow the kubelet's regular updates of its Node", async () => {
    const readsOf = async (status: object | undefined): Promise<number> => {
      const { cluster, advance } = await startScene();
      cluster.put(PV, volume("a"));
      cluster.put(podAt("web"), pod("web"));
      for (let minute = 0; minute < 10; minute += 1) {
        if (status !== undefined) cluster.put(NODE, node("a", status));
        await advance(60_000);
      }
      return cluster.asked().length;
    };

    const quiet = await readsOf(undefined);
    const busy = await readsOf({ conditions: [{ type: "Ready", status: "True" }] });

    expect(quiet).toBeGreaterThan(0);
    expect(busy).toBe(quiet);
  });

  it("follows each minute for a pod that waits, and a changed affinity of its volume counts after a grace period", async () => {
    const { cluster, advance, phase } = await startScene();
    cluster.put(PV, volume("a"));
    cluster.put(podAt("web"), pod("web"));
    // The first check, after the grace period, and the next one.
    await advance(66_000);

    cluster.put(PV, volume("b"));
    await advance(63_000);
    const inGracePeriod = phase("web");
    await advance(2_000);

    expect(inGracePeriod).toBe("Pending");
    expect(phase("web")).toBe("Failed");
  });

  it("finds in that grace period that the affinity is right again", async () => {
    const { cluster, advance, phase } = await startScene();
    cluster.put(PV, volume("a"));
    cluster.put(podAt("web"), pod("web"));
    await advance(64_000);

    cluster.put(PV, volume("b"));
    await advance(3_000);
    cluster.put(PV, volume("a"));
    await advance(600_000);

    expect(phase("web")).toBe("Pending");
  });

  it("follows within a minute for a pod of which something is not known", async () => {
    const { cluster, advance, phase } = await startScene();
    cluster.put(PV, volume("a"));
    cluster.intercept = ({ path }) => (path.startsWith(PV) ? { status: 403, body: "no" } : undefined);
    cluster.put(podAt("web"), pod("web"));
    await advance(3_600_000);

    cluster.put(PV, volume("b"));
    cluster.intercept = () => undefined;
    await advance(80_000);

    expect(phase("web")).toBe("Failed");
  });

  it("causes no read for a pod that has started since the last one, and was right", async () => {
    const { cluster, advance, verdicts } = await startScene();
    cluster.put(PV, volume("a"));
    cluster.put(podAt("web"), pod("web"));
    await advance(6_000);
    cluster.put(podAt("web"), pod("web", { status: RUNNING }));
    const reads = cluster.asked().length;

    await advance(600_000);

    expect(verdicts()).toEqual(["allow"]);
    expect(cluster.asked()).toHaveLength(reads);
  });

  it("of a running pod follows a label change within half an hour, and leads to one event, and to nothing else", async () => {
    const { cluster, advance, phase, emitted } = await startScene();
    cluster.put(podAt("web"), pod("web", { status: RUNNING }));
    await advance(60_000);
    const before = emitted();

    for (const zone of ["c", "d"]) {
      cluster.put(NODE, node(zone));
      await advance(1_800_000);
    }

    expect(before).toEqual([]);
    expect(phase("web")).toBe("Running");
    expect(emitted()).toEqual([expect.stringMatching(/^Running: Pod goes on, but could not start here again: /)]);
  });

  it("follows each half hour for running pods that are wrong: their volumes may have been corrected", async () => {
    const { cluster, advance, enforcement } = await startScene();
    for (const name of ["a", "b", "c"]) cluster.put(podAt(name), pod(name, { status: RUNNING }));
    await advance(1_000);
    cluster.put(NODE, node("c"));
    await advance(1_800_000);
    const before = enforcement.check();

    cluster.put(PV, volume("c"));
    await advance(1_800_000);

    expect(before).toMatchObject({ ok: false, why: expect.stringContaining("3 of the node's 3 pods") });
    expect(enforcement.check()).toEqual({ ok: true, detail: "enforce" });
  });

  it("comes after a report when the node's labels change: its answer may pause rejections", async () => {
    const { cluster, advance, reportRequests } = await startScene();
    const atFirst = reportRequests();

    cluster.put(NODE, { ...node("a"), metadata: { ...node("a").metadata, annotations: { other: "x" } } });
    await advance(1_000);
    const meanwhile = reportRequests();
    cluster.put(NODE, { ...node("a"), metadata: { ...node("a").metadata, labels: { zone: "b" } } });
    await advance(1_000);

    expect([meanwhile - atFirst, reportRequests() - meanwhile]).toEqual([0, 1]);
  });

  it("is logged with its verdict and reasons, once while they stay the same", async () => {
    const { cluster, advance, logger, enforcement } = await startScene({ mode: "audit" });
    cluster.put(podAt("web"), pod("web"));
    await advance(6_000);
    cluster.put(NODE, { ...node("a"), metadata: { ...node("a").metadata, labels: { zone: "a", other: "x" } } });
    await advance(6_000);

    const lines = logger.lines.filter(({ message, level }) => message === "pod looked at" && level === "info");
    expect(lines).toMatchObject([
      {
        fields: {
          pod: "team/web",
          podUid: "u-web",
          verdict: "reject",
          volumes: [{ volume: "data", claim: "data-1", pv: "pv-1", finding: "wrong" }],
        },
      },
    ]);
    expect(enforcement.describe()).toMatchObject({
      mode: "audit",
      survey: { pods: 1, wrong: 1, unseen: 0 },
      pods: [{ pod: "team/web", verdict: "reject", outcome: "would be rejected" }],
    });
  });
});

describe("a kubelet that rejects such pods itself", () => {
  it.each([
    {
      name: "leaves such pods to the kubelet from that version on",
      since: [1, 36, 3] as const,
      phase: "Pending",
      says: /rejects such pods itself/,
    },
    { name: "does not before that version", since: [1, 37, 0] as const, phase: "Failed", says: /^enforce/ },
  ])("$name", async ({ since, phase: expected, says }) => {
    const { cluster, advance, phase, enforcement } = await startScene({ enforcesSince: since });

    cluster.put(podAt("web"), pod("web"));
    await advance(60_000);

    expect(phase("web")).toBe(expected);
    expect(enforcement.check()).toMatchObject({ ok: true, detail: expect.stringMatching(says) });
  });
});

describe("the health check", () => {
  it("fails before the own Node was listed, and nothing is rejected", async () => {
    const { enforcement, cluster, advance, phase } = await startScene({}, (begun) => {
      begun.intercept = ({ path }) => (path.startsWith("/api/v1/nodes?") ? { status: 403 } : undefined);
    });
    cluster.put(podAt("web"), pod("web"));
    await advance(30_000);

    const before = [phase("web"), enforcement.check()];
    cluster.intercept = () => undefined;
    await advance(300_000);

    expect(before).toEqual(["Pending", { ok: false, why: "the Node object has not been listed yet" }]);
    expect(phase("web")).toBe("Failed");
    expect(enforcement.check().ok).toBe(true);
  });
});
