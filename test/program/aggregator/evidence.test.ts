import { afterEach, describe, expect, it } from "vitest";
import { closeHouses } from "../house.ts";
import { attach } from "../objects.ts";
import { leadingScene, Scene } from "./scene.ts";

afterEach(closeHouses);

const TWO = { nodes: ["n1", "n2"] };

describe("a claim that is there when a replica begins to lead", () => {
  it("waits for each node that it may be used on, where it was in use by a pod that is gone since, and names it", async () => {
    const scene = await leadingScene();
    scene.addPod("web");
    await scene.report();
    await scene.pass(10);
    await scene.leader.stop();
    scene.deletePod("web");
    await scene.lead();
    const statuses = scene.watchStatuses();
    await scene.until(300);
    const waiting = [...statuses];

    await scene.report();
    await scene.pass(5);

    expect(waiting).toMatchObject([{ unused: false, reason: "Referenced", message: expect.stringContaining("n1") }]);
    expect(statuses.slice(1)).toMatchObject([{ unused: true, reason: "NoPodUsing" }]);
    expect(scene.since()).toBe(300);
  });

  it("gets one write while a node is Stale, where its stored status is not trusted or missing", async () => {
    const forged = { type: "mooring.dev/Unused", status: "True", reason: "Unmounted", message: "" };
    const conditions = [{ ...forged, lastTransitionTime: "2020-01-01T00:00:00Z" }];
    const scene = new Scene({ claims: [{ status: { conditions } }, { name: "bare" }] });
    attach(scene.house, ["handle-of-data", "handle-of-bare"]);
    await scene.lead();
    const statuses = scene.watchStatuses();
    await scene.until(60);
    const early = [...statuses];
    await scene.until(600);
    const waiting = [...statuses];

    await scene.report();
    await scene.pass(5);
    await scene.passReporting(120);

    const reasons = statuses.slice(1).map(({ reason }) => reason);
    expect(early).toEqual([]);
    expect(waiting).toMatchObject([{ unused: false, reason: "Referenced", message: expect.stringContaining("n1") }]);
    expect(reasons.toSorted()).toEqual(["NeverObservedInUse", "NoPodUsing"]);
    expect([scene.since(), scene.since("bare")]).toEqual([600, 600]);
  });

  it("is not unused before the last node reports a mount that no pod explains", async () => {
    const scene = await leadingScene(TWO);
    const statuses = scene.watchStatuses();
    await scene.report("n1");
    await scene.pass(10);
    scene.node("n2").mount("web");

    await scene.report("n2");
    await scene.pass(10);

    expect(statuses.map(({ reason }) => reason)).toEqual(["Mounted"]);
  });

  it.each([
    { name: "stays in use when the last node reports another use", pods: ["other"], expected: { unused: false } },
    {
      name: "is unused since that end when the last node reports no use",
      pods: [],
      expected: { unused: true, reason: "Unmounted" },
    },
  ])("and whose use this leader saw from begin to end $name", async ({ pods, expected }) => {
    const scene = await leadingScene(TWO);
    const statuses = scene.watchStatuses();
    await scene.report("n1");
    await scene.until(3);
    scene.node("n1").mount("web");
    await scene.report("n1");
    await scene.until(10);
    scene.node("n1").unmount("web");
    await scene.report("n1");
    await scene.until(20);
    const early = statuses.map(({ unused }) => unused);

    for (const pod of pods) scene.node("n2").mount(pod);
    await scene.report("n2");
    await scene.pass(1);

    expect(early).toEqual([false]);
    expect(scene.status()).toMatchObject(expected);
    expect(statuses.slice(0, -1).filter(({ unused }) => unused)).toEqual([]);
    if (expected.unused) expect(scene.since()).toBe(10);
  });

  it("waits for the nodes from when everything is listed, however long that took", async () => {
    const scene = new Scene();
    scene.house.setFaults(({ site }) => (site === "watch pods" ? { requestMs: 55_000 } : {}));
    await scene.lead();
    const listedAt = scene.seconds;

    await scene.pass(60);

    expect(listedAt).toBeGreaterThan(50);
    expect(scene.status()).toBeUndefined();
  });
});
