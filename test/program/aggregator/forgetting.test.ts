import { afterEach, describe, expect, it } from "vitest";
import type { NodeReport } from "../../../common/storage/node-report.ts";
import type { Fate } from "../../simulation/engine/fate.ts";
import { closeHouses } from "../house.ts";
import { addClaim, CLAIM } from "../objects.ts";
import { leadingScene, type Scene } from "./scene.ts";
import type { ScriptedNode } from "./scripted-node.ts";

afterEach(closeHouses);

const WRITE = "apply persistentvolumeclaims/status";

/** The claim is mounted for these pods, each on its node, as all nodes have reported. */
async function mountedScene(pods: Readonly<Record<string, string>> = { web: "n1" }): Promise<Scene> {
  const nodes = [...new Set(["n1", ...Object.values(pods)])];
  const scene = await leadingScene({ nodes });
  for (const [pod, node] of Object.entries(pods)) {
    scene.addPod(pod, { node });
    scene.node(node).mount(pod);
  }
  await scene.report();
  await scene.pass(1);
  return scene;
}

/** Deletes a pod and unmounts its volume. Returns the ID of the unmount record, which the node has still to report. */
function end(scene: Scene, pod: string, node = "n1"): string {
  scene.deletePod(pod);
  return scene.node(node).unmount(pod);
}

/** Takes the last unmount record of a node away, so that it no longer reports it, and returns it. */
function keepBack(node: ScriptedNode): NodeReport["unmountRecords"] {
  const kept = node.unmountRecords.slice(-1);
  node.unmountRecords = node.unmountRecords.slice(0, -1);
  return kept;
}

describe("a node may forget an unmount record", () => {
  it("once the watch of claims shows the status that includes it, and not when the leader writes that", async () => {
    const scene = await mountedScene();
    scene.lag("persistentvolumeclaims", 20);
    const id = end(scene, "web");

    const unstored = await scene.report();
    await scene.pass(2);
    const stored = scene.status();
    const unshown = await scene.report();
    await scene.pass(100);
    const shown = await scene.report();

    expect(stored).toMatchObject({ unused: true, lastUse: { id: id } });
    expect([unstored, unshown, shown].map(({ forget }) => forget)).toEqual([[], [], [id]]);
  });

  it("not while its pod is there, which may mount the volume again", async () => {
    const scene = await mountedScene();
    const id = scene.node().unmount("web");
    await scene.report();
    await scene.pass(100);
    const early = await scene.report();

    scene.deletePod("web");
    await scene.report();
    await scene.pass(100);

    expect([early.forget, (await scene.report()).forget]).toEqual([[], [id]]);
  });

  it.each<{
    readonly name: string;
    readonly begin: (scene: Scene) => unknown;
    readonly fields?: Partial<NodeReport>;
    readonly forgets: number;
  }>([
    {
      name: "not while the later pod may turn out to have an inline volume of that name",
      begin: () => {},
      fields: { podsResourceVersion: "999999" },
      forgets: 0,
    },
    { name: "not while pods have to be listed anew", begin: (scene) => scene.unwatch("pods"), forgets: 0 },
    { name: "as soon as the leader's watch of pods has come as far as the node's", begin: () => {}, forgets: 1 },
  ])("that a later one replaces: $name", async ({ begin, fields, forgets }) => {
    const scene = await mountedScene({ other: "n2" });
    const node = scene.node();
    for (const pod of ["first", "second"]) {
      await scene.pass(1);
      node.unmount(pod);
    }
    await begin(scene);

    const { forget } = await scene.reportWith({ unmountRecords: node.unmountRecords, ...fields });

    expect(forget).toHaveLength(forgets);
  });

  it("at once where its pod names no claim", async () => {
    const scene = await leadingScene();
    scene.addPod("web", { node: "n1", volumes: [] });
    scene.node().mount("web");
    await scene.report();
    const id = end(scene, "web");

    const { forget } = await scene.report();

    expect(forget).toEqual([id]);
  });

  it("of an unknown volume a quarter of an hour later", async () => {
    const scene = await leadingScene({ claims: [] });
    await scene.report();
    const id = scene.node().unmount("web");

    const answers = [await scene.report()];
    await scene.pass(895);
    answers.push(await scene.report());
    await scene.pass(10);
    answers.push(await scene.report());

    expect(answers.map(({ forget }) => forget)).toEqual([[], [], [id]]);
  });

  it("not while the volumes that came meanwhile cannot be read: the claim would count as unused too early", async () => {
    const scene = await leadingScene({ claims: [] });
    await scene.report();
    await scene.pass(5);
    await scene.unwatch("persistentvolumes");
    addClaim(scene.house);
    scene.addPod("web");
    scene.node().mount("web");
    await scene.report();
    await scene.until(60);
    scene.deletePod("web");
    await scene.passReporting(240);
    await scene.until(300);
    scene.node().unmount("web");
    for (let minute = 0; minute < 16; minute += 1) {
      const { forget } = await scene.report();
      scene.node().unmountRecords = scene.node().unmountRecords.filter(({ id }) => !forget.includes(id));
      await scene.pass(60);
    }

    scene.house.refuse();
    await scene.passReporting(120);

    expect(scene.status()).toMatchObject({ unused: true, lastUse: { podUid: "uid-of-web" } });
    expect(scene.since()).toBe(300);
  });

  it("not sooner for an API server's clock that is put forward", async () => {
    const scene = await leadingScene({ claims: [] });
    await scene.pass(900);
    for (const server of scene.house.api.servers) server.clockOffsetMs = 86_400_000;
    await scene.pass(60);
    scene.node().unmount("web");

    expect((await scene.report()).forget).toEqual([]);
  });
});

describe("an unmount record is kept, and counts", () => {
  it("when the claim's mount on another node turns out to have ended earlier", async () => {
    const scene = await mountedScene({ web: "n1", other: "n2" });
    await scene.until(10);
    end(scene, "other", "n2");
    await scene.until(20);
    const id = end(scene, "web");

    const { forget } = await scene.report("n1");
    await scene.pass(5);
    await scene.report("n2");
    await scene.pass(1);

    expect(forget).toEqual([]);
    expect(scene.status()).toMatchObject({ unused: true, lastUse: { id } });
    expect(scene.since()).toBe(20);
  });

  it("when the claim's other mount on that node had ended earlier, which its agent reports once that pod is over", async () => {
    const scene = await mountedScene({ web: "n1", other: "n1" });
    const node = scene.node();
    const { mountedVolumes } = node;
    await scene.until(10);
    node.unmount("other");
    const suspended = keepBack(node);
    await scene.until(20);
    const id = end(scene, "web");

    const { forget } = await scene.reportWith({ mountedVolumes: mountedVolumes.slice(1) });
    scene.deletePod("other");
    await scene.reportWith({ unmountRecords: suspended, generation: node.generation + 1 });
    await scene.pass(1);

    expect(forget).toEqual([]);
    expect(scene.status()).toMatchObject({ unused: true, lastUse: { id } });
    expect(scene.since()).toBe(20);
  });

  it.each([
    { name: "is still to come", isRecreated: false },
    { name: "is still shown as the one that had its name before", isRecreated: true },
  ])("when its claim $name", async ({ isRecreated }) => {
    const scene = await leadingScene({ claims: [] });
    if (isRecreated) addClaim(scene.house, { volume: "pv-before" });
    await scene.report();
    await scene.pass(1);
    scene.lag("persistentvolumeclaims", 30);
    if (isRecreated) scene.house.api.delete(CLAIM);
    addClaim(scene.house, { uid: "uid-of-now" });
    await scene.pass(5);
    scene.node().unmount("web");

    const { forget } = await scene.report();
    await scene.pass(60);

    expect(forget).toEqual([]);
    expect(scene.status()).toMatchObject({ reason: "Unmounted", lastUse: { podUid: "uid-of-web" } });
  });

  it("for a claim that is still shown as the one that had its name before, of which a later use is stored", async () => {
    const scene = await leadingScene({ claims: [] });
    const node = scene.node();
    addClaim(scene.house, { volume: "pv-before" });
    node.mount("old", "before");
    await scene.report();
    await scene.until(10);
    node.unmount("old");
    const slow = node.report();
    await scene.until(20);
    const id = node.unmount("web");
    const unmountRecords = keepBack(node);
    await scene.until(40);
    await scene.leader.sendOnce(slow);
    await scene.pass(1);
    const before = scene.status();
    scene.lag("persistentvolumeclaims", 30);
    scene.house.api.delete(CLAIM);
    addClaim(scene.house, { uid: "uid-of-now" });
    await scene.pass(2);

    const { forget } = await scene.reportWith({ unmountRecords });

    expect(before?.lastUse).toMatchObject({ podUid: "uid-of-old" });
    expect(forget).not.toContain(id);
  });

  it("when it is from before the machine was put back to a snapshot", async () => {
    const scene = await leadingScene({ claims: [] });
    scene.lag("persistentvolumeclaims", 1_250);
    addClaim(scene.house);
    await scene.pass(1_000);
    const node = scene.node();
    node.unmount("web");
    await scene.report();
    node.putBack(1_800_000);
    const answers = [];
    for (let count = 0; count < 6; count += 1) {
      await scene.pass(30);
      answers.push(await scene.leader.put(node.report()));
    }

    await scene.pass(100);

    expect(answers.slice(-2)).toMatchObject(
      Array(2).fill({ status: 200, body: expect.stringContaining('"forget":[]') }),
    );
    expect(scene.status()?.lastUse).toMatchObject({ podUid: "uid-of-web" });
  });
});

describe("the unmount records of a claim whose status cannot be written", () => {
  it.each<{ readonly name: string; readonly fate: Fate }>([
    { name: "without the permission", fate: { refusal: { status: 403 } } },
    { name: "as the API server refuses it", fate: { refusal: { status: 422 } } },
    { name: "as the API server does not answer", fate: { lost: "request", brokenAfterMs: 1_000 } },
  ])("are forgotten except the latest, $name, for as long as it takes", async ({ fate }) => {
    const scene = await mountedScene({});
    scene.house.setFaults(({ site }) => (site === WRITE ? fate : {}));
    const node = scene.node();

    for (let pod = 0; pod < 3; pod += 1) {
      await scene.pass(300);
      node.unmount(`pod-${pod}`);
      const { forget } = await scene.report();
      node.unmountRecords = node.unmountRecords.filter(({ id }) => !forget.includes(id));
    }
    const endedAt = scene.seconds;
    scene.house.setFaults(() => ({}));
    await scene.pass(900);

    expect(node.unmountRecords).toMatchObject([{ podUid: "uid-of-pod-2" }]);
    expect(scene.status()).toMatchObject({ unused: true, lastUse: { podUid: "uid-of-pod-2" } });
    expect(scene.since()).toBe(Math.floor(endedAt / 5) * 5);
  });

  it.each<{ readonly name: string; readonly fate: Fate; readonly written: number }>([
    {
      name: "are acknowledged by the next leader, where only the answer was lost",
      fate: { lost: "answer" },
      written: 0,
    },
    { name: "are acknowledged by the next leader once it has written them", fate: { lost: "request" }, written: 1 },
  ])("as the leader dies meanwhile, $name", async ({ fate, written }) => {
    const scene = await mountedScene();
    await scene.until(10);
    const id = end(scene, "web");
    scene.house.setFaults(({ site }) => (site === WRITE ? fate : {}));
    const before = await scene.report();
    await scene.pass(1);
    await scene.crash();
    scene.house.setFaults(() => ({}));
    const statuses = scene.watchStatuses();

    const first = await scene.report();
    await scene.pass(1);
    await scene.report();
    await scene.pass(120);
    const then = await scene.report();

    expect([before.forget, then.forget]).toEqual([[], [id]]);
    expect(first.forget).toEqual(written === 0 ? [id] : []);
    expect(statuses).toHaveLength(written);
    expect([scene.status()?.unused, scene.since()]).toEqual([true, 10]);
  });
});

describe("two agents on one node for a moment", () => {
  it("end nothing too early and lose nothing", async () => {
    const scene = await leadingScene();
    const node = scene.node();
    const reportAs = (instance: string) =>
      scene.reportWith({ instance, generation: Math.round(scene.seconds * 1_000) });
    for (const pod of ["web", "other"]) node.mount(pod);
    const { mountedVolumes } = node;
    await reportAs("run-1");
    await scene.until(5);
    await reportAs("run-2");
    await scene.until(10);
    const first = node.unmount("web");
    await reportAs("run-1");
    const ofFirst = node.unmountRecords;
    await scene.until(20);
    // The second one reads later that both are gone, and stamps the first end anew.
    Object.assign(node, { mountedVolumes, unmountRecords: [] });
    const again = node.unmount("web");
    await scene.pass(0.01);
    const last = node.unmount("other");
    const { forget } = await reportAs("run-2");
    await scene.pass(1);
    const ofSecond = node.unmountRecords;
    node.unmountRecords = [...ofFirst, ...ofSecond.slice(1)];
    const toFirst = await reportAs("run-1");
    await scene.pass(1);
    node.unmountRecords = ofSecond;
    const toSecond = await reportAs("run-2");

    expect(forget).toEqual([first, again]);
    expect([toFirst, toSecond].map((answer) => answer.forget.includes(last))).toEqual([true, true]);
    expect(scene.status()).toMatchObject({ unused: true, lastUse: { podUid: "uid-of-other" } });
    expect(scene.since()).toBe(20);
  });
});
