import { afterEach, describe, expect, it } from "vitest";
import type { HttpRequest } from "../../../../common/kube/transport.ts";
import type { FakeAnswer } from "../../../fakes/transport.ts";
import { type FakeCluster, refusal } from "./cluster.ts";
import { endScenes, NODE, node, PV, pod, podAt, RUNNING, startScene, volume } from "./scene.ts";

afterEach(endScenes);

const CSI_NAME = "kubernetes.io/csi/csi.example^vol-1";

/** Lets the first rejections meet these answers, and does with them what `before` does. */
function meet(cluster: FakeCluster, answers: readonly FakeAnswer[], before: () => void = () => {}): void {
  const left = [...answers];
  cluster.intercept = ({ method }: HttpRequest) => {
    if (method !== "PATCH" && method !== "DELETE") return undefined;
    const answer = left.shift();
    if (answer !== undefined) before();
    return answer;
  };
}

function changesIn(cluster: FakeCluster): readonly string[] {
  return cluster.asked().filter((line) => line.startsWith("PATCH") || line.startsWith("DELETE"));
}

describe("a rejection", () => {
  it("that conflicts with a changed pod is decided again, by new reads", async () => {
    const { cluster, advance, phase, counted } = await startScene();
    meet(cluster, [refusal(409, "Conflict")], () => cluster.put(PV, volume("a")));

    cluster.put(podAt("web"), pod("web"));
    await advance(60_000);

    expect(phase("web")).toBe("Pending");
    expect(changesIn(cluster)).toHaveLength(1);
    expect(await counted()).toEqual({ conflict: 1 });
  });

  it("that conflicts with a changed pod is made within a second when it still applies", async () => {
    const { cluster, advance, phase, counted } = await startScene();
    meet(cluster, [refusal(409, "Conflict")]);

    cluster.put(podAt("web"), pod("web"));
    await advance(6_000);

    expect(phase("web")).toBe("Failed");
    expect(await counted()).toEqual({ conflict: 1, rejected: 1 });
  });

  it("does not touch a pod that was re-created under its name", async () => {
    const { cluster, advance, phase } = await startScene();
    cluster.put(podAt("web"), pod("web"));
    await advance(4_000);

    cluster.remove(podAt("web"));
    cluster.put(podAt("web"), pod("web", { uid: "u-other" }));
    await advance(4_000);
    const early = phase("web");
    await advance(2_000);

    // The other one has a grace period of its own.
    expect(early).toBe("Pending");
    expect(phase("web")).toBe("Failed");
  });

  it("whose answer was lost is not repeated, and is reported all the same", async () => {
    const { cluster, advance, emitted, counted } = await startScene();
    let isLost = false;
    cluster.intercept = ({ method }, serve) => {
      if (method !== "PATCH" || isLost) return undefined;
      isLost = true;
      serve();
      return "broken";
    };

    cluster.put(podAt("web"), pod("web"));
    await advance(60_000);

    expect(changesIn(cluster)).toHaveLength(1);
    expect(emitted()).toEqual([expect.stringMatching(/^Rejected: /)]);
    expect(await counted()).toEqual({ rejected: 1, held: 1 });
  });

  it("whose answer was lost, and whose pod cannot be read, is verified later and not repeated", async () => {
    const { cluster, advance, phase, counted, emitted } = await startScene();
    let isAway = false;
    cluster.intercept = ({ method }, serve) => {
      if (isAway) return "broken";
      if (method !== "PATCH") return undefined;
      isAway = true;
      serve();
      return "broken";
    };

    cluster.put(podAt("web"), pod("web"));
    await advance(30_000);
    const meanwhile = await counted();
    isAway = false;
    cluster.intercept = () => undefined;
    await advance(60_000);

    expect(meanwhile).toEqual({ unanswered: 1 });
    expect(phase("web")).toBe("Failed");
    expect(changesIn(cluster)).toHaveLength(1);
    expect(await counted()).toEqual({ unanswered: 1, rejected: 1, held: 1 });
    expect(emitted()).toEqual([expect.stringMatching(/^Rejected: Pod was rejected: /)]);
  });

  it("that got no answer and was not made is repeated once that is known", async () => {
    const { cluster, advance, phase, counted } = await startScene();
    meet(cluster, ["broken", refusal(500, "InternalError")]);

    cluster.put(podAt("web"), pod("web"));
    await advance(10_000);

    expect(phase("web")).toBe("Failed");
    expect(await counted()).toMatchObject({ unanswered: 2, rejected: 1 });
  });

  it("that got no answer repeatedly counts once against the pod's owner", async () => {
    const { cluster, advance, phase } = await startScene();
    meet(cluster, ["broken", "broken", "broken"]);

    cluster.put(podAt("web"), pod("web"));
    await advance(12_000);

    expect(phase("web")).toBe("Failed");
  });

  it.each<{ readonly name: string; readonly answer: FakeAnswer; readonly outcome: string; readonly isNamed: boolean }>([
    {
      name: "is forbidden",
      answer: refusal(403, "Forbidden", { message: 'User "agent" cannot patch resource "pods/status"' }),
      outcome: "forbidden",
      isNamed: true,
    },
    { name: "a policy denies", answer: refusal(403, "Forbidden"), outcome: "refused", isNamed: false },
    {
      name: "an overloaded server refuses",
      answer: refusal(429, "TooManyRequests"),
      outcome: "overloaded",
      isNamed: false,
    },
  ])("that $name is tried again with back-off", async ({ answer, outcome, isNamed }) => {
    const { cluster, advance, phase, counted, enforcement } = await startScene();
    meet(
      cluster,
      Array.from({ length: 100 }, () => answer),
    );

    cluster.put(podAt("web"), pod("web"));
    await advance(600_000);
    const { [outcome]: tries = 0 } = await counted();
    const check = enforcement.check();
    meet(cluster, []);
    await advance(400_000);

    expect(tries).toBeGreaterThan(3);
    expect(tries).toBeLessThan(20);
    expect(check.ok).toBe(!isNamed);
    expect(phase("web")).toBe("Failed");
    expect(enforcement.check().ok).toBe(true);
  });

  it("is not sent when its reads are too old, as after a sleep of the machine", async () => {
    const { cluster, clock, advance, phase, counted } = await startScene();
    let isAsleep = true;
    cluster.intercept = ({ path }) => {
      if (isAsleep && path.startsWith(NODE)) clock.suspend(60_000);
      return undefined;
    };

    cluster.put(podAt("web"), pod("web"));
    await advance(6_000);
    const before = [phase("web"), await counted()];
    isAsleep = false;
    await advance(10_000);

    expect(before).toEqual(["Pending", { stale: 2 }]);
    expect(phase("web")).toBe("Failed");
  });
});

describe("a rejection that the kubelet reverts", () => {
  function revert(cluster: FakeCluster): void {
    cluster.put(podAt("web"), pod("web"));
  }

  it("is logged, counted and repeated, and given up after the third time", async () => {
    const { cluster, advance, phase, counted, logger, enforcement } = await startScene();
    cluster.put(podAt("web"), pod("web"));

    for (let round = 0; round < 8; round += 1) {
      await advance(100_000);
      if (phase("web") === "Failed") revert(cluster);
    }
    await advance(1_000);

    expect(phase("web")).toBe("Pending");
    expect(await counted()).toMatchObject({ rejected: 3, reverted: 3 });
    expect(logger.messages("warn")).toContain("pod came back from its rejection");
    expect(JSON.stringify(enforcement.describe())).toContain("it came back from 3 rejections");
  });

  it("is noticed although the watch does not show it", async () => {
    const { cluster, advance, counted } = await startScene();
    cluster.put(podAt("web"), pod("web"));
    await advance(5_500);

    cluster.intercept = ({ method, path }) =>
      method === "GET" && path.startsWith(podAt("web")) ? { body: JSON.stringify(pod("web")) } : undefined;
    await advance(4_000);

    expect(await counted()).toMatchObject({ reverted: 1 });
  });

  it.each([
    { name: "just after the rejection", afterMs: 800 },
    { name: "after the rejection was verified", afterMs: 60_000 },
  ])(
    "does not count as reverted when the kubelet reverts it for a moment, $name, and then keeps it",
    async ({ afterMs }) => {
      const { cluster, advance, counted, logger, phase } = await startScene();
      cluster.put(podAt("web"), pod("web"));
      await advance(5_100);
      const { metadata, status } = cluster.get(podAt("web")) ?? expect.fail("there is no pod");

      await advance(afterMs);
      cluster.put(podAt("web"), { ...pod("web"), metadata });
      await advance(1_100);
      cluster.put(podAt("web"), { ...pod("web"), metadata, status: status ?? {} });
      await advance(120_000);

      expect(phase("web")).toBe("Failed");
      expect(await counted()).toEqual({ rejected: 1, held: 1 });
      expect(logger.messages("warn")).not.toContain("pod came back from its rejection");
      expect(cluster.asked().filter((line) => line.startsWith("PATCH"))).toHaveLength(1);
    },
  );

  it("is not repeated while the revert may be momentary, whatever else happens", async () => {
    const { cluster, advance } = await startScene({ graceMs: 500 });
    cluster.put(podAt("web"), pod("web"));
    await advance(600);

    revert(cluster);
    cluster.put(NODE, node("c"));
    await advance(2_000);
    const early = changesIn(cluster).length;
    await advance(60_000);

    expect(early).toBe(1);
    expect(changesIn(cluster)).toHaveLength(2);
  });

  it("does not count as reverted while only the reason is missing for a moment", async () => {
    const { cluster, advance, counted, logger } = await startScene();
    cluster.put(podAt("web"), pod("web"));
    await advance(5_500);
    const rejected = cluster.get(podAt("web"));
    let isMissing = true;
    cluster.intercept = ({ method, path }) =>
      isMissing && method === "GET" && path.startsWith(podAt("web"))
        ? { body: JSON.stringify({ ...rejected, status: { phase: "Failed" } }) }
        : undefined;

    await advance(12_000);
    isMissing = false;
    await advance(5_000);

    expect(await counted()).toEqual({ rejected: 1, held: 1 });
    expect(logger.messages()).toContain("pod stays rejected");
  });

  it("is not counted for a pod that was deleted soon after its rejection, and neither is a kept one", async () => {
    const { cluster, advance, counted, logger } = await startScene();
    cluster.put(podAt("web"), pod("web"));
    await advance(5_500);

    cluster.remove(podAt("web"));
    await advance(60_000);

    expect(await counted()).toEqual({ rejected: 1 });
    expect(logger.messages()).toContain("rejected pod is gone");
    expect(logger.messages()).not.toContain("pod stays rejected");
  });

  it("leads to a deletion where the settings say so, and nowhere else", async () => {
    const { cluster, advance } = await startScene({ deleteReverted: true });
    cluster.put(podAt("web"), pod("web"));
    await advance(10_000);

    revert(cluster);
    await advance(5_000);

    expect(cluster.get(podAt("web"))).toBeUndefined();
    expect(changesIn(cluster)).toEqual([`PATCH ${podAt("web")}/status`, `DELETE ${podAt("web")}`]);
  });

  it("does not lead to a deletion of a pod that is right by then", async () => {
    const { cluster, advance, phase } = await startScene({ deleteReverted: true });
    cluster.put(podAt("web"), pod("web"));
    await advance(10_000);

    cluster.put(PV, volume("a"));
    revert(cluster);
    await advance(60_000);

    expect(phase("web")).toBe("Pending");
  });
});

describe("a pod whose volume is attached or staged", () => {
  async function startAttached(config: { readonly rejectAttached?: boolean } = {}) {
    const scene = await startScene(config);
    const { metadata, spec } = volume("b");
    const csi = { driver: "csi.example", volumeHandle: "vol-1" };
    scene.cluster.put(PV, { metadata, spec: { ...spec, nfs: null, csi } });
    scene.cluster.put("/apis/storage.k8s.io/v1/csinodes/node-1", {
      metadata: { name: "node-1", uid: "c1" },
      spec: { drivers: [{ name: "csi.example" }] },
    });
    scene.cluster.put(NODE, node("a", { volumesAttached: [{ name: CSI_NAME }] }));
    scene.cluster.put(podAt("web"), pod("web"));
    return scene;
  }

  it("is reported once after a whole mount wait, and not rejected", async () => {
    const { advance, emitted, phase, counted } = await startAttached();

    await advance(122_000);
    const before = emitted();
    await advance(2_000);
    const after = emitted();
    await advance(600_000);

    expect(before).toEqual([]);
    expect(after).toEqual([expect.stringMatching(/^Waiting: Pod waits for a volume .* is let alone since/)]);
    expect(emitted()).toHaveLength(1);
    expect(phase("web")).toBe("Pending");
    expect(await counted()).toEqual({ reported: 1 });
  });

  it("is rejected after that where the settings say so", async () => {
    const { advance, phase } = await startAttached({ rejectAttached: true });

    await advance(122_000);
    const before = phase("web");
    await advance(2_000);

    expect(before).toBe("Pending");
    expect(phase("web")).toBe("Failed");
  });

  it("is rejected like any other once the volume is detached", async () => {
    const { cluster, advance, phase } = await startAttached();
    await advance(130_000);

    cluster.put(NODE, node("a"));
    await advance(330_000);

    expect(phase("web")).toBe("Failed");
  });
});

describe("the limits", () => {
  it.each([
    { name: "no controller owns", owner: { kind: "", name: "" }, flag: { rejectBarePods: true } },
    { name: "is the last retry of a Job", owner: { kind: "Job", name: "night" }, flag: { rejectLastTries: true } },
  ])("protect a pod that $name, unless the settings say otherwise", async ({ owner, flag }) => {
    const kept = await startScene();
    kept.cluster.put(podAt("web"), pod("web", { owner }));
    await kept.advance(60_000);
    const lost = await startScene(flag);
    lost.cluster.put(podAt("web"), pod("web", { owner }));
    await lost.advance(60_000);

    expect(kept.phase("web")).toBe("Pending");
    expect(await kept.counted()).toEqual({ kept: 1 });
    expect(kept.logger.messages("warn")).toEqual(["pod is not rejected"]);
    expect(lost.phase("web")).toBe("Failed");
  });

  it("emit one event on an owner whose replacements keep coming to the node", async () => {
    const { cluster, advance, emitted, phase } = await startScene();
    const owner = { kind: "ReplicaSet", name: "web" };

    for (const name of ["web-1", "web-2", "web-3", "web-4", "web-5"]) {
      cluster.put(podAt(name), pod(name, { owner }));
      await advance(10_000);
    }

    const backedOff = emitted().filter((line) => line.startsWith("BackingOff"));
    expect(["web-3", "web-4", "web-5"].map(phase)).toEqual(["Failed", "Pending", "Pending"]);
    expect(backedOff).toEqual([
      expect.stringMatching(/ReplicaSet web keep coming to this node.* s before it is rejected$/),
    ]);
  });

  it("count rejections of before a restart", async () => {
    const first = await startScene();
    const owner = { kind: "ReplicaSet", name: "web" };
    const names = ["web-1", "web-2", "web-3"];
    for (const name of names) {
      first.cluster.put(podAt(name), pod(name, { owner }));
      await first.advance(10_000);
    }
    const rejected = names.map((name) => first.cluster.get(podAt(name)));
    const keep = (begun: FakeCluster): void => {
      for (const [index, object] of rejected.entries())
        if (object !== undefined) begun.put(podAt(names[index] ?? ""), object);
    };
    const { cluster, advance, phase } = await startScene({}, keep, 30_000);

    cluster.put(podAt("web-4"), pod("web-4", { owner }));
    cluster.put(podAt("other"), pod("other"));
    await advance(10_000);

    expect(phase("web-4")).toBe("Pending");
    expect(phase("other")).toBe("Failed");
  });

  it("pause all rejections while the aggregator says so, without a read, and resume at once", async () => {
    const { cluster, advance, phase, enforcement } = await startScene();
    enforcement.onAnswer({ forget: [], pauseRejections: "20 pods a minute" });
    cluster.put(podAt("web"), pod("web"));
    await advance(6_000);
    const reads = cluster.asked().length;

    await advance(120_000);
    const later = cluster.asked().length;
    const held = [phase("web"), enforcement.check()];
    enforcement.onAnswer({ forget: [] });
    await advance(100);

    expect(later).toBe(reads);
    expect(held).toEqual(["Pending", { ok: true, detail: expect.stringContaining("20 pods a minute") }]);
    expect(phase("web")).toBe("Failed");
  });

  it("stop on a node that is wrong for most of its pods, which makes the agent not ready, and resume when it is right", async () => {
    const { cluster, advance, phase, enforcement, counted } = await startScene();
    const names = ["a", "b", "c", "d"];
    for (const name of names) cluster.put(podAt(name), pod(name));
    await advance(60_000);

    const held = [names.map(phase), enforcement.check(), await counted()];
    for (const name of ["a", "b"]) cluster.remove(podAt(name));
    await advance(30_000);

    expect(held[0]).toEqual(["Pending", "Pending", "Pending", "Pending"]);
    expect(held[1]).toMatchObject({ ok: false, why: expect.stringContaining("4 of the node's 4 pods") });
    expect(held[2]).toEqual({ "held-back": 4 });
    expect(["c", "d"].map(phase)).toEqual(["Failed", "Failed"]);
  });

  /** Four pods that run, with a volume that is right here. */
  function withRunningPods(cluster: FakeCluster): void {
    cluster.put("/api/v1/persistentvolumes/pv-2", volume("a", "pv-2"));
    cluster.put("/api/v1/namespaces/team/persistentvolumeclaims/data-2", {
      metadata: { name: "data-2", namespace: "team", uid: "claim of pv-2" },
      spec: { volumeName: "pv-2" },
      status: { phase: "Bound" },
    });
    for (const name of ["a", "b", "c", "d"]) cluster.put(podAt(name), pod(name, { status: RUNNING, claim: "data-2" }));
  }

  it("do not let a pod be rejected within its grace period because another pod needs its check", async () => {
    const { cluster, advance, phase } = await startScene({}, withRunningPods);
    cluster.put(podAt("web"), pod("web"));
    await advance(4_500);

    cluster.put(podAt("young"), pod("young"));
    await advance(4_900);
    const before = [phase("web"), phase("young")];
    await advance(200);

    expect(before).toEqual(["Failed", "Pending"]);
    expect(phase("young")).toBe("Failed");
  });

  it("have the other pods of the node checked first, at once, with an event for running ones", async () => {
    const { cluster, advance, phase, verdicts } = await startScene({}, withRunningPods);
    cluster.put(podAt("web"), pod("web"));

    await advance(4_900);
    const before = verdicts();
    await advance(700);

    expect(before).toEqual([]);
    expect(verdicts()).toHaveLength(6);
    expect(phase("web")).toBe("Failed");
  });
});
