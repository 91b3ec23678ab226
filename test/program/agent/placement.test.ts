import { afterEach, describe, expect, it } from "vitest";
import { closeHouses, House } from "../house.ts";
import { addAgentPod, addClaim, addNode, addPod, nodeRef, podRef, setPhase, VOLUME } from "../objects.ts";
import { HouseAgent } from "./house-agent.ts";

afterEach(closeHouses);

const NFS = { nfs: { server: "storage", path: "/data" } };

function zone(name: string) {
  const matchExpressions = [{ key: "zone", operator: "In", values: [name] }];
  return { required: { nodeSelectorTerms: [{ matchExpressions }] } };
}

/** An agent on a node in zone a, with a claim whose volume may be used in a zone. */
async function placed({
  volumeIn = "b",
  argv = [],
}: {
  readonly volumeIn?: string;
  readonly argv?: readonly string[];
} = {}) {
  const house = new House();
  addNode(house, "n1", { labels: { zone: "a" } });
  addAgentPod(house, "n1");
  addClaim(house, { source: NFS, nodeAffinity: zone(volumeIn) });
  const agent = new HouseAgent(house, { argv: ["--affinity", "enforce", ...argv] });
  // A run begins slowly: nothing is rejected in its first seconds.
  await house.pass(60_000);
  return { house, agent };
}

/** A pod of a controller, on n1, that waits for the volume. */
function addWaiting(house: House, name = "web", owner = "web"): void {
  const containerStatuses = [{ name: "main", restartCount: 0, state: { waiting: { reason: "ContainerCreating" } } }];
  const controller = {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    name: owner,
    uid: `uid-of-${owner}`,
    controller: true,
  };
  const ownerReferences = [controller];
  addPod(house, name, { phase: "Pending", status: { containerStatuses }, metadata: { ownerReferences } });
}

function phaseOf(house: House, name = "web"): unknown {
  return Object(house.api.get(podRef(name))?.status).phase;
}

/** The kubelet takes the rejection of a pod back. */
function takeBack(house: House, name = "web"): void {
  setPhase(house, name, "Pending");
}

function eventsIn(house: House): readonly unknown[] {
  return house.api.list("events").map(({ reason }) => reason);
}

describe("a pod that waits on a node that its volume excludes", () => {
  it("is rejected after the grace period, and an event names the reason", async () => {
    const { house } = await placed();
    addWaiting(house);
    await house.pass(4_000);
    const before = phaseOf(house);

    await house.pass(3_000);

    expect(before).toBe("Pending");
    expect(phaseOf(house)).toBe("Failed");
    expect(eventsIn(house)).toContain("VolumeNodeAffinity");
  });

  it("is rejected as soon as the policy comes into force, however late", async () => {
    const { house, agent } = await placed();
    agent.isPolicyInForce = false;
    await house.pass(1_000_000);
    addWaiting(house);
    await house.pass(100_000);
    addWaiting(house, "other", "another");
    await house.pass(1_800_000);
    const before = phaseOf(house);

    agent.isPolicyInForce = true;
    await house.until(() => phaseOf(house) === "Failed" || phaseOf(house, "other") === "Failed");
    await house.pass(3_000);

    expect(before).toBe("Pending");
    expect([phaseOf(house), phaseOf(house, "other")]).toEqual(["Failed", "Failed"]);
  });

  it("is rejected when the node's labels change, after the agent asked the aggregator whether rejections are paused", async () => {
    const { house, agent } = await placed({ volumeIn: "a" });
    addWaiting(house);
    await house.pass(30_000);
    const [before, reported] = [phaseOf(house), agent.messages.length];

    house.api.update(nodeRef("n1"), (node) => ({ ...node, metadata: { ...node.metadata, labels: { zone: "c" } } }));
    await house.pass(2_000);
    const requested = agent.messages.length - reported;
    await house.pass(5_000);

    expect(before).toBe("Pending");
    expect(requested).toBe(1);
    expect(phaseOf(house)).toBe("Failed");
  });

  it("is rejected within about a minute when the affinity of its volume changes", async () => {
    const { house } = await placed({ volumeIn: "a" });
    addWaiting(house);
    await house.pass(30_000);
    const before = phaseOf(house);

    house.api.update(VOLUME, (volume) => ({ ...volume, spec: { ...Object(volume.spec), nodeAffinity: zone("b") } }));
    await house.pass(70_000);

    expect(before).toBe("Pending");
    expect(phaseOf(house)).toBe("Failed");
  });

  it("is not rejected while the aggregator pauses all rejections, and is rejected afterwards", async () => {
    const { house, agent } = await placed();
    agent.answer = { forget: [], pauseRejections: "too many of them" };
    await house.pass(60_000);
    addWaiting(house);
    await house.pass(120_000);
    const before = phaseOf(house);

    agent.answer = { forget: [] };
    await house.pass(45_000);

    expect(before).toBe("Pending");
    expect(phaseOf(house)).toBe("Failed");
  });

  it("is not rejected where another machine has taken the node's name", async () => {
    const { house } = await placed();
    const [server] = house.api.servers;
    if (server !== undefined) server.lagMs = (resource) => (resource === "nodes" ? 600_000 : 0);
    house.api.delete(nodeRef("n1"));
    addNode(house, "n1", { labels: { zone: "a" } });
    addWaiting(house);

    await house.pass(60_000);

    expect(phaseOf(house)).toBe("Pending");
  });

  it("is not rejected where the kubelet rejects such pods itself", async () => {
    const { house } = await placed({ argv: ["--kubelet-enforces-since", "1.36"] });
    addWaiting(house);

    await house.pass(60_000);

    expect(phaseOf(house)).toBe("Pending");
  });
});

describe("a pod that is gone", () => {
  it("is no longer among the verdicts", async () => {
    const { house, agent } = await placed({ volumeIn: "a" });
    addWaiting(house);
    await house.pass(30_000);
    const before = JSON.parse((await agent.get("/debug/verdicts")).body);

    house.api.delete(podRef("web"));
    await house.pass(1_000);

    expect(before.pods).toEqual([expect.objectContaining({ pod: "shop/web" })]);
    expect(JSON.parse((await agent.get("/debug/verdicts")).body).pods).toEqual([]);
  });
});

describe("a pod that was rejected", () => {
  it("is rejected again when the kubelet reverts its status", async () => {
    const { house, agent } = await placed();
    addWaiting(house);
    await house.until(() => phaseOf(house) === "Failed");
    takeBack(house);

    await house.pass(60_000);

    expect(phaseOf(house)).toBe("Failed");
    expect(await agent.metrics.text()).toMatch(/outcome="reverted"\} 1/);
  });

  it("is rejected again when the kubelet reverts its status after the rejection was verified", async () => {
    const { house, agent } = await placed();
    addWaiting(house);
    await house.until(() => phaseOf(house) === "Failed");
    await house.pass(60_000);
    const before = await agent.metrics.text();
    takeBack(house);

    await house.pass(60_000);

    expect(phaseOf(house)).toBe("Failed");
    expect(before).toMatch(/outcome="held"\} 1/);
    expect(await agent.metrics.text()).toMatch(/outcome="reverted"\} 1/);
  });

  it("is deleted where the settings say so, and not while the aggregator pauses all rejections", async () => {
    const { house, agent } = await placed({ argv: ["--delete-rejected"] });
    addWaiting(house);
    await house.until(() => phaseOf(house) === "Failed");
    agent.answer = { forget: [], pauseRejections: "too many of them" };
    house.api.update(nodeRef("n1"), (node) => ({ ...node, metadata: { ...node.metadata, labels: { zone: "d" } } }));
    await house.pass(60_000);
    const before = phaseOf(house);

    agent.answer = { forget: [] };
    await house.pass(60_000);

    expect(before).toBe("Failed");
    expect(phaseOf(house)).toBeUndefined();
  });

  it("counts against its owner also after a restart of the agent", async () => {
    const { house, agent } = await placed();
    for (const name of ["web-1", "web-2", "web-3"]) {
      addWaiting(house, name);
      await house.pass(10_000);
    }
    await agent.stop();
    const next = new HouseAgent(house, { argv: ["--affinity", "enforce"] });
    await house.pass(30_000);

    addWaiting(house, "web-4");
    addWaiting(house, "other", "another");
    await house.pass(10_000);

    expect(next.process.state()).toBe("running");
    expect(phaseOf(house, "other")).toBe("Failed");
    expect(phaseOf(house, "web-4")).toBe("Pending");
  });
});
