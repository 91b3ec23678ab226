import { afterEach, describe, expect, it } from "vitest";
import { closeHouses } from "../house.ts";
import { addClaim, addKubelet, attach, podRef } from "../objects.ts";
import { leadingScene, Scene } from "./scene.ts";
import { handleOf } from "./scripted-node.ts";

afterEach(closeHouses);

const LEFT = "In use: still mounted on node n1, although every pod that names the claim has ended";
const OUT_OF_DATE = `${LEFT}; no report of the mounts on n1, so this may be out of date`;

/** No agent runs on n1, and its kubelet lives. */
async function sceneWithoutAgent(): Promise<Scene> {
  const scene = new Scene();
  scene.house.api.delete(podRef("agent-n1", "mooring-agents"));
  addKubelet(scene.house, "n1");
  await scene.lead();
  return scene;
}

/** The claim is mounted on n1 for the pod `web`, as n1 has reported in time. */
async function sceneWithMount(): Promise<Scene> {
  const scene = await leadingScene();
  scene.addPod("web");
  scene.node().mount("web");
  await scene.passReporting(60);
  return scene;
}

describe("a claim whose node has no agent", () => {
  it("is unused since its pod was seen to end", async () => {
    const scene = await sceneWithoutAgent();
    await scene.pass(700);
    scene.addPod("web");
    await scene.until(710);

    scene.deletePod("web");
    await scene.pass(1);

    const lastUse = { evidence: "pod-status", pod: "shop/web" };
    expect(scene.status()).toMatchObject({ unused: true, reason: "NoPodUsing", lastUse });
    expect(scene.since()).toBe(710);
  });

  it("waits until the node is NoAgent, and is then unused since its pod was seen to end", async () => {
    const scene = await sceneWithoutAgent();
    scene.addPod("web");
    await scene.until(100);
    scene.deletePod("web");
    await scene.until(599);
    const waiting = scene.status();
    await scene.until(615);

    const message = "Not known to be unused: no report from n1 (pod shop/web ended there)";
    expect(waiting).toMatchObject({ unused: false, message });
    expect(scene.status()).toMatchObject({ unused: true, reason: "NoPodUsing" });
    expect(scene.since()).toBe(100);
  });

  it("stays mounted as it was when the agent left, also for the next leader", async () => {
    const scene = await sceneWithMount();
    scene.house.api.delete(podRef("agent-n1", "mooring-agents"));
    addKubelet(scene.house, "n1");
    await scene.pass(700);
    const before = scene.status();

    await scene.handOver();
    await scene.pass(700);

    expect(before).toMatchObject({ unused: false, reason: "Mounted" });
    expect(scene.status()).toEqual(before);
  });
});

describe("a claim that is used on a node whose agent left before it was started anew", () => {
  it("is unused since its pod was seen to end, and what was mounted before stays mounted, also for the next leader", async () => {
    const scene = await leadingScene({ claims: [{}, { name: "other" }] });
    scene.addPod("web");
    scene.node().mount("web");
    await scene.passReporting(60);
    scene.house.api.delete(podRef("agent-n1", "mooring-agents"));
    scene.deletePod("web");
    await scene.until(200);
    scene.reboot();
    await scene.until(700);
    scene.addPod("later", { claim: "other" });
    await scene.until(800);
    const statuses = scene.watchStatuses();
    scene.deletePod("later");
    await scene.until(810);
    const first = [scene.status("other")?.reason, scene.since("other")];

    await scene.handOver();
    await scene.pass(700);

    expect(first).toEqual(["NoPodUsing", 800]);
    expect(scene.status()).toMatchObject({ unused: false, reason: "Mounted", message: OUT_OF_DATE });
    expect(statuses).toHaveLength(1);
  });
});

describe("a claim that a Stale node has mounted", () => {
  it("is written once when its pod goes, with the node that is Stale, and not again at rest", async () => {
    const scene = await sceneWithMount();
    await scene.pass(100);
    const statuses = scene.watchStatuses();

    scene.deletePod("web");
    await scene.pass(700);
    await scene.handOver();
    await scene.pass(700);

    expect(statuses).toMatchObject([{ unused: false, reason: "Mounted", message: OUT_OF_DATE }]);
  });

  it.each([
    { name: "without a scan", isScanned: false },
    { name: "after a scan that still showed the mount", isScanned: true },
  ])("is written twice when the node becomes Stale after its pod went, $name", async ({ isScanned }) => {
    const scene = await sceneWithMount();
    const statuses = scene.watchStatuses();

    scene.deletePod("web");
    if (isScanned) await scene.report();
    await scene.pass(700);

    expect(statuses.map(({ message }) => message)).toEqual([LEFT, OUT_OF_DATE]);
  });

  it("is mounted again when the node is back and shows it, and unused when it does not", async () => {
    const scene = await sceneWithMount();
    await scene.pass(100);
    scene.deletePod("web");
    await scene.pass(10);
    const statuses = scene.watchStatuses();

    await scene.report();
    await scene.pass(6);
    scene.node().unmount("web");
    await scene.report();
    await scene.pass(1);

    expect(statuses.map(({ reason, message }) => (reason === "Mounted" ? message : reason))).toEqual([
      LEFT,
      "Unmounted",
    ]);
  });
});

describe("a claim that was mounted elsewhere", () => {
  it("waits for a Stale node that has its volume staged", async () => {
    const scene = await leadingScene({ nodes: ["n1", "n2"] });
    scene.node().stage();
    scene.node("n2").mount("web");
    await scene.report();
    await scene.passReporting(90, "n2");
    await scene.until(100);
    scene.node("n2").unmount("web");
    await scene.report("n2");
    await scene.pass(6);
    const waiting = scene.status();

    await scene.report("n1");
    await scene.pass(1);

    const message = "Not known to be unused: no report from n1 (had it mounted)";
    expect(waiting).toMatchObject({ unused: false, message });
    expect(scene.status()).toMatchObject({ unused: true, reason: "Unmounted" });
    expect(scene.since()).toBe(100);
  });
});

describe("a claim whose volume is attached to a node", () => {
  const CSI = { driver: "csi.example.org", volumeHandle: "one" };

  const attached = ({ house }: Scene): void => attach(house, [CSI.volumeHandle]);
  const detached = ({ house }: Scene): void => attach(house, []);
  const inUse = ({ house }: Scene): void => attach(house, [CSI.volumeHandle], "volumesInUse");
  const unused = ({ house }: Scene): void => attach(house, [], "volumesInUse");

  it.each<{ readonly name: string; readonly begin: (scene: Scene) => void; readonly next: (scene: Scene) => unknown }>([
    { name: "until that has reported", begin: attached, next: (scene) => scene.report() },
    { name: "as long as it is", begin: attached, next: detached },
    { name: "as its kubelet reports, until its agent has reported", begin: inUse, next: (scene) => scene.report() },
    { name: "as long as its kubelet reports the volume in use", begin: inUse, next: unused },
  ])("waits for the node $name, and so does one whose volume has the same handle", async ({ begin, next }) => {
    const scene = new Scene({ claims: [{ source: { csi: CSI } }, { name: "copy", source: { csi: CSI } }] });
    begin(scene);
    await scene.lead();
    await scene.until(200);
    const waiting = [scene.status(), scene.status("copy")];

    await next(scene);
    await scene.pass(1);

    const never = { unused: true, reason: "NeverObservedInUse" };
    expect(waiting).toEqual([undefined, undefined]);
    expect([scene.status(), scene.status("copy")]).toMatchObject([never, never]);
    expect(scene.since()).toBe(200);
  });

  it("waits for no node where a volume of another driver is attached that has the same handle", async () => {
    const other = { driver: "other.example.org", volumeHandle: CSI.volumeHandle };
    const scene = new Scene({ claims: [{ source: { csi: CSI } }, { name: "copy", source: { csi: other } }] });
    attached(scene);
    await scene.lead();

    await scene.until(200);

    expect([scene.status(), scene.status("copy")]).toMatchObject([undefined, { unused: true }]);
  });

  it("is used alone where its volume is mounted and a copy of the same handle is only staged", async () => {
    const scene = new Scene({ claims: [{ source: { csi: CSI } }] });
    addClaim(scene.house, { name: "copy", source: { csi: CSI } });
    await scene.lead();
    scene.node().mount("web");
    scene.node().stage(handleOf(CSI.driver, CSI.volumeHandle));

    await scene.report();
    await scene.pass(1);

    expect(scene.status()).toMatchObject({ unused: false, reason: "Mounted" });
    expect(scene.status("copy")).toMatchObject({ unused: true });
  });
});
