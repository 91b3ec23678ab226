import { afterEach, describe, expect, it } from "vitest";
import { createMemoryJournal } from "../../../agent/sinks/journal.ts";
import { isReport, type NodeMessage } from "../../../common/storage/node-report.ts";
import { closeHouses, House } from "../house.ts";
import { addAgentPod, addClaim, addNode, addPod, podRef, setPhase, touchPod } from "../objects.ts";
import { HouseAgent, mountOf } from "./house-agent.ts";

afterEach(closeHouses);

/** An agent on a node where the pod `web` has a claim's volume mounted. */
async function mounted(options: ConstructorParameters<typeof HouseAgent>[1] = {}) {
  const house = new House();
  addNode(house, "n1");
  addAgentPod(house, "n1");
  addClaim(house);
  addPod(house, "web");
  const agent = new HouseAgent(house, options);
  await house.pass(5_000);
  agent.table.mount(mountOf("web"));
  await house.pass(5_000);
  return { house, agent };
}

function mountedVolumesIn(message: NodeMessage | undefined): readonly unknown[] {
  return message !== undefined && isReport(message) ? message.mountedVolumes.map(({ podUid }) => podUid) : [];
}

function eventsIn(house: House): readonly unknown[] {
  return house.api.list("events").map(({ reason }) => reason);
}

describe("an agent", () => {
  it("reports a mount at once, and the unmount once the pod is gone as well", async () => {
    const { house, agent } = await mounted();
    const shown = mountedVolumesIn(agent.last);
    agent.table.unmount(mountOf("web"));
    await house.pass(2_000);
    const before = agent.unmounted;

    house.api.delete(podRef("web"));
    await house.pass(500);

    expect(shown).toEqual(["uid-of-web"]);
    expect(before).toEqual([]);
    expect(agent.unmounted).toEqual(["uid-of-web"]);
  });

  it("reports an unmount record until the aggregator acknowledges it, and then no more", async () => {
    const { house, agent } = await mounted();
    house.api.delete(podRef("web"));
    agent.table.unmount(mountOf("web"));
    await house.pass(1_000);
    const reported = agent.last;
    const count = agent.messages.length;
    await house.pass(12_000);
    const again = agent.messages.length - count;
    const forget = reported !== undefined && isReport(reported) ? reported.unmountRecords.map(({ id }) => id) : [];

    agent.answer = { forget };
    await house.pass(40_000);
    const kept = await agent.journal.load();

    expect(forget).toHaveLength(1);
    expect(again).toBeGreaterThanOrEqual(1);
    expect(kept?.unmountRecords).toEqual([]);
  });

  it("sends a heartbeat with the leader session that has the state", async () => {
    const { house, agent } = await mounted();
    agent.answer = { forget: [], session: "leader-1" };
    await house.pass(80_000);

    const { last } = agent;

    expect(last !== undefined && isReport(last)).toBe(false);
    expect(last).toMatchObject({ session: "leader-1" });
  });

  it("sends a whole report at once to a leader that asks for it", async () => {
    const { house, agent } = await mounted();
    await house.pass(40_000);
    agent.answer = { forget: [], whole: true };
    const heartbeat = agent.messages.length;
    await house.until(() => agent.messages.length > heartbeat);
    agent.answer = { forget: [] };

    await house.pass(500);

    expect(mountedVolumesIn(agent.last)).toEqual(["uid-of-web"]);
  });

  it("scans and reports at once on a scan request, and names that request", async () => {
    const { house, agent } = await mounted();
    agent.answer = { forget: [], scanRequest: "session/1" };
    const before = agent.messages.length;
    await house.until(() => agent.messages.length > before);
    agent.answer = { forget: [] };

    await house.pass(500);

    expect(agent.messages.slice(before).map(({ scanRequest }) => scanRequest)).toEqual([undefined, "session/1"]);
  });

  it("brings its pod watch to the version that the aggregator asks for, and reports it at once", async () => {
    const { house, agent } = await mounted();
    addPod(house, "elsewhere", { node: "n2" });
    const wanted = house.api.revision();
    agent.answer = { forget: [], reach: String(wanted) };
    const before = agent.messages.length;
    await house.until(() => agent.messages.length > before);
    agent.answer = { forget: [] };

    await house.pass(2_000);

    expect(agent.messages.length).toBeGreaterThan(before + 1);
    expect(Number(agent.last?.podsResourceVersion)).toBeGreaterThanOrEqual(wanted);
  });

  it("emits an event when a volume is unmounted under a running pod", async () => {
    const { house, agent } = await mounted();

    agent.table.unmount(mountOf("web"));
    await house.pass(2_000);
    // The pod was seen to run after that.
    touchPod(house, "web");
    agent.table.mount(mountOf("other"));
    await house.pass(2_000);

    expect(eventsIn(house)).toContain("VolumeUnmountedWhileRunning");
  });

  it("reports the node's facts", async () => {
    const { agent } = await mounted();

    expect(agent.last).toMatchObject({ facts: { kernel: "6.18.4" } });
  });

  it("records no unmount by a scan that began before the pod ended", async () => {
    const { house, agent } = await mounted();
    const before = house.api.revision();
    agent.table.readMs = () => [2_000, 0];
    agent.table.mount(mountOf("other"));
    await house.pass(500);

    setPhase(house, "web", "Succeeded");
    await house.pass(1_900);

    expect(Number(agent.last?.podsResourceVersion)).toBeLessThanOrEqual(before);
  });
});

describe("an agent with a journal", () => {
  function onDisk() {
    return { ...createMemoryJournal(), place: "/var/lib/mooring" };
  }

  it("scans once more before it stops, so that the gap of its next run begins there", async () => {
    const journal = onDisk();
    const { house, agent } = await mounted({ journal });
    await house.pass(20_000);
    const endedAt = agent.machine.clock.monotonicMs();

    await agent.stop();

    expect((await journal.load())?.scan?.endedAt).toBeGreaterThanOrEqual(endedAt);
  });

  it("records by its first scan the unmount of what an earlier run had seen, and reports it at once", async () => {
    const journal = onDisk();
    const { house, agent } = await mounted({ journal });
    await agent.stop();
    agent.table.unmount(mountOf("web"));
    house.api.delete(podRef("web"));
    const { table, machine } = agent;

    const next = new HouseAgent(house, { journal, table, machine });
    await house.pass(1_000);

    const agentGaps = next.messages.map(({ agentGaps: spans }) => spans.length);
    expect(agentGaps).toEqual([2, 2]);
    expect(next.unmounted).toEqual(["uid-of-web"]);
  });

  it("closes the journal when it stops", async () => {
    let isClosed = false;
    const journal = {
      ...onDisk(),
      close: async () => {
        isClosed = true;
      },
    };
    const { agent } = await mounted({ journal });

    await agent.stop();

    expect(isClosed).toBe(true);
  });

  it("reports only what the journal has", async () => {
    const memory = onDisk();
    let isFull = false;
    const journal = {
      ...memory,
      store: async (state: Parameters<typeof memory.store>[0]) => {
        if (isFull) await new Promise(() => {});
        await memory.store(state);
      },
    };
    const { house, agent } = await mounted({ journal });
    isFull = true;

    agent.table.mount(mountOf("other"));
    await house.pass(5_000);

    expect(agent.messages.flatMap(mountedVolumesIn)).not.toContain("uid-of-other");
  });
});

describe("an agent that cannot read the mount table", () => {
  it("stops reporting after three minutes, and reports at once when it can read again", async () => {
    const { house, agent } = await mounted();
    agent.table.isBroken = true;
    await house.pass(200_000);
    const before = agent.messages.length;
    await house.pass(100_000);
    const silent = agent.messages.length;

    agent.table.isBroken = false;
    await house.pass(2_000);

    expect(silent).toBe(before);
    expect(agent.messages.length).toBeGreaterThan(silent);
    expect(agent.last?.agentGaps).toHaveLength(2);
  });
});
