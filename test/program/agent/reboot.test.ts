import { afterEach, describe, expect, it } from "vitest";
import { isReport, type NodeReport } from "../../../common/storage/node-report.ts";
import { closeHouses, House } from "../house.ts";
import { addAgentPod, addClaim, addNode, addPod, podRef, setPhase } from "../objects.ts";
import { HouseAgent, mountOf } from "./house-agent.ts";

afterEach(closeHouses);

/** An agent with a journal on a node where the pod `web` has a claim's volume mounted. */
async function mounted() {
  const house = new House();
  addNode(house, "n1");
  addAgentPod(house, "n1");
  addClaim(house);
  addPod(house, "web");
  const agent = new HouseAgent(house);
  await house.pass(5_000);
  agent.table.mount(mountOf("web"));
  await house.pass(5_000);
  return { house, agent };
}

/** The power goes, and with it all mounts; the agent is back `startsAfterMs` after the boot. */
async function reboot(house: House, { machine, journal, table }: HouseAgent, startsAfterMs = 5_000) {
  const isMounted = table.text(0)?.includes(mountOf("web")) === true;
  machine.powerOff();
  if (isMounted) table.unmount(mountOf("web"));
  await house.pass(20_000);
  machine.powerOn();
  return {
    start: async (): Promise<HouseAgent> => {
      await house.pass(startsAfterMs);
      const agent = new HouseAgent(house, { machine, journal, table });
      await house.pass(3_000);
      return agent;
    },
  };
}

function lastReport({ messages }: HouseAgent): NodeReport {
  return messages.filter(isReport).at(-1) ?? expect.fail("nothing was reported");
}

describe("a node that is rebooted", () => {
  it("has a pending unmount for a pod that is not over, without a last seen time", async () => {
    const { house, agent } = await mounted();

    const next = await (await reboot(house, agent)).start();

    expect(lastReport(next)).toMatchObject({
      mountedVolumes: [{ podUid: "uid-of-web", seenAt: 0 }],
      unmountRecords: [],
    });
  });

  it("has the pod's mount again once the pod starts again, and one unmount record when it is over", async () => {
    const { house, agent } = await mounted();
    const next = await (await reboot(house, agent)).start();
    next.table.mount(mountOf("web"));
    // It was mounted all the time for the aggregator: that it is shown again comes with the next heartbeat.
    await house.pass(40_000);
    const again = lastReport(next);
    house.api.delete(podRef("web"));
    await house.pass(1_000);
    const before = next.machine.clock.monotonicMs();

    next.table.unmount(mountOf("web"));
    await house.pass(2_000);

    expect(again).toMatchObject({ mountedVolumes: [{ podUid: "uid-of-web" }], unmountRecords: [] });
    expect(again.mountedVolumes[0]?.seenAt).toBeUndefined();
    expect(lastReport(next).unmountRecords).toHaveLength(1);
    expect(lastReport(next).unmountRecords[0]?.by).toBeGreaterThanOrEqual(before);
  });

  it("dates by its first scan the unmount of a pod that had started again before it", async () => {
    const { house, agent } = await mounted();
    const { start } = await reboot(house, agent, 0);
    agent.table.mount(mountOf("web"));
    await house.pass(60_000);
    setPhase(house, "web", "Succeeded");
    agent.table.unmount(mountOf("web"));
    const unmountedAt = agent.machine.clock.monotonicMs();

    const next = await start();

    const { unmountRecords, mountedVolumes, agentGaps } = lastReport(next);
    expect(mountedVolumes).toEqual([]);
    expect(unmountRecords).toMatchObject([{ podUid: "uid-of-web", by: agentGaps[0]?.to }]);
    expect(unmountRecords[0]?.by).toBeGreaterThanOrEqual(unmountedAt);
    expect(unmountRecords[0]?.after).toBeUndefined();
  });

  it("has one unmount record of a pod, however often it reboots before the pod is over", async () => {
    const { house, agent } = await mounted();
    let last = agent;
    for (let boot = 0; boot < 5; boot += 1) last = await (await reboot(house, last)).start();
    const pending = lastReport(last);

    house.api.delete(podRef("web"));
    await house.pass(2_000);

    expect(pending).toMatchObject({ mountedVolumes: [{ seenAt: 0 }], unmountRecords: [] });
    expect(lastReport(last)).toMatchObject({ mountedVolumes: [], unmountRecords: [{ podUid: "uid-of-web" }] });
  });

  it("keeps the unmount record of a pod that was over before, by its ID, as ended by the boot", async () => {
    const { house, agent } = await mounted();
    house.api.delete(podRef("web"));
    agent.table.unmount(mountOf("web"));
    await house.pass(2_000);
    const [reported] = lastReport(agent).unmountRecords;

    const next = await (await reboot(house, agent)).start();

    expect(lastReport(next)).toMatchObject({ mountedVolumes: [], unmountRecords: [{ id: reported?.id, by: 0 }] });
  });
});
