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
  it("tells at once of a mount, and of its end when the pod is gone as well", async () => {
    const { house, agent } = await mounted();
    const shown = mountedVolumesIn(agent.last);
    agent.table.unmount(mountOf("web"));
    await house.pass(2_000);
    const before = agent.released;

    house.api.delete(podRef("web"));
    await house.pass(500);

    expect(shown).toEqual(["uid-of-web"]);
    expect(before).toEqual([]);
    expect(agent.released).toEqual(["uid-of-web"]);
  });

  it("tells of an end again and again until the aggregator lets it be forgotten, and then no more", async () => {
    const { house, agent } = await mounted();
    house.api.delete(podRef("web"));
    agent.table.unmount(mountOf("web"));
    await house.pass(1_000);
    const told = agent.last;
    const count = agent.messages.length;
    await house.pass(12_000);
    const again = agent.messages.length - count;
    const forget = told !== undefined && isReport(told) ? told.unmountRecords.map(({ id }) => id) : [];

    agent.answer = { forget };
    await house.pass(40_000);
    const kept = await agent.journal.load();

    expect(forget).toHaveLength(1);
    expect(again).toBeGreaterThanOrEqual(1);
    expect(kept?.unmountRecords).toEqual([]);
  });

  it("sends a heartbeat without the state that is known, in the name of whoever knows it", async () => {
    const { house, agent } = await mounted();
    agent.answer = { forget: [], session: "leader-1" };
    await house.pass(80_000);

    const { last } = agent;

    expect(last !== undefined && isReport(last)).toBe(false);
    expect(last).toMatchObject({ session: "leader-1" });
  });

  it("sends the whole state at once to a leader that does not know it", async () => {
    const { house, agent } = await mounted();
    await house.pass(40_000);
    agent.answer = { forget: [], whole: true };
    const heartbeat = agent.messages.length;
    await house.until(() => agent.messages.length > heartbeat);
    agent.answer = { forget: [] };

    await house.pass(500);

    expect(mountedVolumesIn(agent.last)).toEqual(["uid-of-web"]);
  });

  it("scans and tells at once when the aggregator asks for it, and says that it has", async () => {
    const { house, agent } = await mounted();
    agent.answer = { forget: [], scanRequest: "session/1" };
    const before = agent.messages.length;
    await house.until(() => agent.messages.length > before);
    agent.answer = { forget: [] };

    await house.pass(500);

    expect(agent.messages.slice(before).map(({ scanRequest }) => scanRequest)).toEqual([undefined, "session/1"]);
  });

  it("brings its watch as far as the aggregator asks, and says so at once", async () => {
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

  it("tells by an event of a volume that is unmounted under a running pod", async () => {
    const { house, agent } = await mounted();

    agent.table.unmount(mountOf("web"));
    await house.pass(2_000);
    // The pod was seen to run after that.
    touchPod(house, "web");
    agent.table.mount(mountOf("other"));
    await house.pass(2_000);

    expect(eventsIn(house)).toContain("VolumeUnmountedWhileRunning");
  });

  it("tells what kind of node it runs on", async () => {
    const { agent } = await mounted();

    expect(agent.last).toMatchObject({ facts: { kernel: "6.18.4" } });
  });

  it("tells no end by a scan that began before the pod's", async () => {
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

  it("looks once more before it ends, so that its next run is blind for no longer than need be", async () => {
    const journal = onDisk();
    const { house, agent } = await mounted({ journal });
    await house.pass(20_000);
    const endedAt = agent.machine.clock.monotonicMs();

    await agent.stop();

    expect((await journal.load())?.scan?.endedAt).toBeGreaterThanOrEqual(endedAt);
  });

  it("ends what an earlier run had seen by its first scan, and tells so at once", async () => {
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
    expect(next.released).toEqual(["uid-of-web"]);
  });

  it("closes it when it ends", async () => {
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

  it("tells nothing that is not stored", async () => {
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

describe("an agent that cannot read", () => {
  it("falls silent when that lasts for three minutes, and tells at once when it can again", async () => {
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
