import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { type AffinityStage, openAffinityStage, type RunningAgent } from "./affinity-stage.ts";

let owner: Owner;
let signals: Disposable;
let stage: AffinityStage;
let count = 0;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  stage = await openAffinityStage(owner);
});

afterEach(() => stage.clear());

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

const ENFORCE = ["--affinity=enforce"];

/** A claim of its own whose volume the node must not have, and a pod that waits for it. */
async function placeWrongly(): Promise<{ readonly pod: string; readonly claim: string }> {
  count += 1;
  const [pod, claim] = [`web-${count}`, `data-${count}`];
  await stage.createClaim(claim, "b");
  await stage.createPod(pod, claim);
  return { pod, claim };
}

/** Runs before the first change of a pod is sent, and at no later one. */
function beforeFirst(agent: RunningAgent, act: () => Promise<void>): void {
  agent.onChange = async () => {
    agent.onChange = async () => {};
    await act();
  };
}

const isRejected = ({ status }: { readonly status: { readonly phase: string } }): boolean => status.phase === "Failed";

describe("an agent with only the permissions of the base", () => {
  it("reports a pod on the wrong node once, also across restarts, and does not reject it", async () => {
    const { pod } = await placeWrongly();

    for (let run = 0; run < 2; run += 1) {
      const agent = await stage.startAgent();
      await stage.until("a count", async () => expect(await agent.counted("would-reject")).toBe(1));
      await stage.until("an event", async () => expect(await stage.eventsOf(pod)).toHaveLength(1));
      await agent.stop();
    }

    expect(await stage.eventsOf(pod)).toMatchObject([
      {
        type: "Warning",
        reason: "VolumeNodeAffinity",
        action: "WouldReject",
        note: expect.stringMatching(
          /^Pod would be rejected \(--affinity=audit\): the node affinity of volume pv-data-/,
        ),
        reportingController: "mooring.dev/agent",
        regarding: { kind: "Pod", uid: (await stage.pod(pod)).metadata.uid },
      },
    ]);
    expect((await stage.pod(pod)).status.phase).toBe("Pending");
  });

  it("in enforce mode is forbidden to reject, reports that, and rejects once it has the permission", async () => {
    const { pod } = await placeWrongly();
    const agent = await stage.startAgent(ENFORCE);

    await stage.until("a refusal", async () => expect(await agent.counted("forbidden")).toBeGreaterThan(0));
    const ready = await agent.page("/readyz?verbose");
    const before = await stage.pod(pod);
    await stage.grant("affinity-rights");
    await stage.podThat(pod, "rejected", isRejected);

    expect(ready).toContain("[-]affinity failed: the agent's account may not read or change: pods/status (patch)");
    expect(before.status.phase).toBe("Pending");
    // The pod shows it before the agent has the answer.
    await stage.until("that nothing is missing any more", async () =>
      expect(await agent.page("/readyz?verbose")).toContain("[+]affinity ok: enforce"),
    );
  });
});

describe("an agent that rejects pods", () => {
  let agent: RunningAgent;
  beforeAll(async () => {
    await stage.grant("affinity-rights");
  });

  it("fails a pod on the wrong node as a kubelet would, and sees that it holds", async () => {
    agent = await stage.startAgent(ENFORCE);
    const { pod, claim } = await placeWrongly();

    const { metadata, status } = await stage.podThat(pod, "rejected", isRejected);
    await stage.until("that it holds", async () => expect(await agent.counted("held")).toBe(1));

    expect(status).toMatchObject({
      reason: "VolumeNodeAffinity",
      message: expect.stringContaining(
        `Pod was rejected: the node affinity of volume pv-${claim} of claim ${claim} excludes node node-1: `,
      ),
    });
    expect(JSON.parse(metadata.annotations["mooring.dev/rejected"] ?? "")).toMatchObject({
      volume: "data",
      claim,
      pv: `pv-${claim}`,
      node: "node-1",
      level: 0,
    });
    expect(await stage.eventsOf(pod)).toMatchObject([{ action: "Rejected", reason: "VolumeNodeAffinity" }]);
    const { pods } = JSON.parse(await agent.page("/debug/verdicts"));
    expect(pods).toContainEqual(
      expect.objectContaining({ pod: `shop/${pod}`, verdict: "reject", outcome: "rejected" }),
    );
  });

  it("leaves a pod whose volume was corrected when the kubelet has written meanwhile", async () => {
    agent = await stage.startAgent(ENFORCE);
    const { pod, claim } = await placeWrongly();
    beforeFirst(agent, async () => {
      await stage.moveVolume(claim, "a");
      await stage.setStatus(pod, { message: "trying again" });
    });

    await stage.until("a conflict", async () => expect(await agent.counted("conflict")).toBe(1));
    await stage.until("another look", async () => {
      const { pods } = JSON.parse(await agent.page("/debug/verdicts"));
      expect(pods).toContainEqual(expect.objectContaining({ pod: `shop/${pod}`, verdict: "allow" }));
    });

    expect((await stage.pod(pod)).status).toMatchObject({ phase: "Pending", message: "trying again" });
    expect(agent.changes()).toBe(1);
  });

  it("decides again about a pod that has changed, and rejects it in its new state", async () => {
    agent = await stage.startAgent(ENFORCE);
    const { pod } = await placeWrongly();
    beforeFirst(agent, () => stage.setStatus(pod, { message: "trying again" }));

    await stage.podThat(pod, "rejected", isRejected);
    await stage.until("that it is counted", async () => expect(await agent.counted("rejected")).toBe(1));

    expect(await agent.counted("conflict")).toBe(1);
  });

  it("does not touch a pod that was re-created under the same name", async () => {
    agent = await stage.startAgent(ENFORCE);
    const { pod, claim } = await placeWrongly();
    const { uid } = (await stage.pod(pod)).metadata;
    beforeFirst(agent, async () => {
      await stage.cluster.removePod(pod);
      await stage.moveVolume(claim, "a");
      await stage.createPod(pod, claim);
    });

    await stage.until("an answer", async () =>
      expect((await agent.counted("gone")) + (await agent.counted("conflict"))).toBe(1),
    );
    await stage.until("a look at the other one", async () => {
      const { pods } = JSON.parse(await agent.page("/debug/verdicts"));
      expect(pods).toContainEqual(expect.objectContaining({ pod: `shop/${pod}`, verdict: "allow" }));
    });

    const other = await stage.pod(pod);
    expect(other.metadata.uid).not.toBe(uid);
    expect(other.status.phase).toBe("Pending");
    expect(other.metadata.annotations).toEqual({});
  });

  it("verifies a rejection whose answer was lost, and does not repeat it", async () => {
    agent = await stage.startAgent(ENFORCE);
    const { pod } = await placeWrongly();
    beforeFirst(agent, async () => agent.proxy.arm({ kind: "lost-answer", atMs: 0, pick: 0, lengthMs: 0 }));

    await stage.podThat(pod, "rejected", isRejected);
    await stage.until("that it holds", async () => expect(await agent.counted("held")).toBe(1));

    expect(agent.proxy.hits().get("lost-answer")).toBe(1);
    expect(agent.changes()).toBe(1);
    expect(await agent.counted("rejected")).toBe(1);
    expect(await stage.eventsOf(pod)).toMatchObject([{ action: "Rejected" }]);
  });

  it("rejects a pod when the API server is back that was killed in the middle", async () => {
    agent = await stage.startAgent(ENFORCE);
    const { pod } = await placeWrongly();
    const server = stage.cluster.plane.part("kube-apiserver");
    beforeFirst(agent, () => server.kill());

    await stage.until("no answer", async () => expect(await agent.counted("unanswered")).toBeGreaterThan(0));
    await server.start();
    await stage.podThat(pod, "rejected", isRejected);

    await stage.until("that it is counted", async () => expect(await agent.counted("rejected")).toBe(1));
  });

  it("logs and counts that a kubelet reverts a rejection, and repeats it", async () => {
    agent = await stage.startAgent(ENFORCE);
    const { pod } = await placeWrongly();
    await stage.podThat(pod, "rejected", isRejected);

    await stage.setStatus(pod, { phase: "Pending", reason: null, message: null });

    await stage.until("that it is counted", async () => expect(await agent.counted("reverted")).toBe(1));
    await stage.podThat(pod, "rejected once more", isRejected);
    await stage.until("that this is counted", async () => expect(await agent.counted("rejected")).toBe(2));
  });

  it("deletes such a pod where both the settings and its permissions allow it", async () => {
    agent = await stage.startAgent([...ENFORCE, "--delete-reverted"]);
    const { pod } = await placeWrongly();
    await stage.podThat(pod, "rejected", isRejected);

    await stage.setStatus(pod, { phase: "Pending", reason: null, message: null });
    await stage.until("a refusal", async () => expect(await agent.counted("forbidden")).toBeGreaterThan(0));
    const before = await stage.pod(pod);
    await stage.grant("affinity-delete");
    await stage.until("the deletion", async () => expect(await agent.counted("deleted")).toBe(1));
    await stage.revoke("affinity-delete");

    expect(before.status.phase).toBe("Pending");
    await expect(stage.pod(pod)).rejects.toThrow("404");
  });

  it("deletes a rejected pod where the settings say so, and reports the missing permission before", async () => {
    agent = await stage.startAgent([...ENFORCE, "--delete-rejected"]);
    const { pod } = await placeWrongly();
    await stage.podThat(pod, "rejected", isRejected);

    await stage.until("a refusal", async () => expect(await agent.counted("forbidden")).toBeGreaterThan(0));
    const before = await stage.pod(pod);
    await stage.grant("affinity-delete");
    await stage.until("the deletion", async () => expect(await agent.counted("deleted")).toBe(1));
    await stage.revoke("affinity-delete");

    expect(before.status.phase).toBe("Failed");
    await expect(stage.pod(pod)).rejects.toThrow("404");
  });

  it("rejects a waiting pod whose volume was moved away, with its check of each minute", async () => {
    agent = await stage.startAgent(ENFORCE);
    count += 1;
    const [pod, claim] = [`web-${count}`, `data-${count}`];
    await stage.createClaim(claim, "a");
    await stage.createPod(pod, claim);
    await stage.until("a first look", async () => {
      const { pods } = JSON.parse(await agent.page("/debug/verdicts"));
      expect(pods).toContainEqual(expect.objectContaining({ pod: `shop/${pod}`, verdict: "allow" }));
    });

    await stage.moveVolume(claim, "b");

    await stage.podThat(pod, "rejected", isRejected);
  });

  it("reports a running pod whose volume excludes its node once, and does not reject it", async () => {
    agent = await stage.startAgent(ENFORCE);
    agent.paused = "for a test";
    await stage.until("a pause", async () =>
      expect(await agent.page("/readyz?verbose")).toContain("the aggregator pauses all rejections"),
    );
    const { pod } = await placeWrongly();
    await stage.until("that it is held back", async () => expect(await agent.counted("held-back")).toBe(1));
    await stage.setStatus(pod, { phase: "Running", podIP: "192.0.2.7", podIPs: [{ ip: "192.0.2.7" }] });

    agent.paused = undefined;
    await stage.until("an event", async () => expect(await stage.eventsOf(pod)).toHaveLength(1));

    expect(await stage.eventsOf(pod)).toMatchObject([{ action: "Running", type: "Warning" }]);
    expect((await stage.pod(pod)).status.phase).toBe("Running");
  });
});
