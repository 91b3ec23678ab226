import { afterEach, describe, expect, it } from "vitest";
import type { Refusal } from "../../simulation/engine/fate.ts";
import { closeHouses } from "../house.ts";
import { addClaim, addKubelet, CLAIM, podRef, VOLUME } from "../objects.ts";
import { leadingScene, type Scene } from "./scene.ts";

afterEach(closeHouses);

const MARK = "mooring.dev/mounted-on";

type Protection = "off" | "audit" | "enforce";

/** A retained volume that is mounted on n1 for the pod `web`, as the nodes have reported. */
async function mountedScene(protection: Protection = "enforce"): Promise<Scene> {
  const claims = [{ reclaimPolicy: "Retain" as const }];
  const scene = await leadingScene({ nodes: ["n1", "n2"], claims, argv: ["--protection", protection] });
  scene.addPod("web");
  scene.node().mount("web");
  await scene.report();
  await scene.pass(1);
  return scene;
}

/** The claim is gone, and its volume Released, while that is mounted; the pod of the mount is deleted. */
function makeReleased(scene: Scene, volume = VOLUME): void {
  scene.deletePod("web");
  scene.house.api.delete(CLAIM);
  const options = { subresource: "status" } as const;
  scene.house.api.update(volume, (object) => ({ ...object, status: { phase: "Released" } }), options);
}

async function releasedScene(protection?: Protection): Promise<Scene> {
  const scene = await mountedScene(protection);
  makeReleased(scene);
  await scene.pass(1);
  return scene;
}

function annotationsOf({ house }: Scene, volume = VOLUME): Readonly<Record<string, unknown>> {
  return house.api.get(volume)?.metadata.annotations ?? {};
}

function isMarked(scene: Scene, volume = VOLUME): boolean {
  return annotationsOf(scene, volume)[MARK] !== undefined;
}

function touch({ house }: Scene, annotations: Readonly<Record<string, string>>): void {
  house.api.update(VOLUME, (volume) => ({ ...volume, metadata: { ...volume.metadata, annotations } }));
}

/** How often volumes are written from now on. */
function countWrites({ house }: Scene): () => number {
  let writes = 0;
  house.api.observe(({ by, resource }) => {
    if (by !== undefined && resource === "persistentvolumes") writes += 1;
  });
  return () => writes;
}

/** When a write of a volume was tried from now on, in seconds; it is refused so, until that is undone. */
function refuseWrites({ house }: Scene, refusal: Refusal | undefined): number[] {
  const [beganMs, tries]: [number, number[]] = [house.nowMs, []];
  house.setFaults(({ site }) => {
    if (!site.endsWith(" persistentvolumes/status")) return {};
    tries.push((house.nowMs - beganMs) / 1_000);
    return { refusal };
  });
  return tries;
}

describe("a volume that is mounted although it is not Bound", () => {
  it("is marked once; at its unmount one write removes the mark and adds the last use", async () => {
    const scene = await mountedScene();
    const writes = countWrites(scene);
    makeReleased(scene);
    await scene.passReporting(120);
    const before = [writes(), isMarked(scene), await scene.leader.metric("mooring_volumes_unbound_mounted")];

    scene.node().unmount("web");
    await scene.passReporting(120);

    const { [MARK]: mark, ...annotations } = annotationsOf(scene);
    expect(before).toEqual([1, true, 1]);
    expect([writes(), mark]).toEqual([2, undefined]);
    expect(JSON.parse(String(annotations["mooring.dev/last-use"]))).toMatchObject({ node: "n1", pod: "shop/web" });
    expect(await scene.leader.metric("mooring_volumes_unbound_mounted")).toBe(0);
  });

  it("is counted and not marked without protection, which takes an earlier mark away", async () => {
    const scene = await mountedScene("off");
    makeReleased(scene);
    const volumeUID = scene.house.api.get(VOLUME)?.metadata.uid;
    touch(scene, { [MARK]: JSON.stringify({ volumeUID, nodes: ["n1"] }) });

    await scene.pass(5);

    expect(isMarked(scene)).toBe(false);
    expect(await scene.leader.metric("mooring_volumes_unbound_mounted")).toBe(1);
  });

  it("is not marked for a pod that names another claim: it has an inline volume of that name", async () => {
    const scene = await leadingScene({ argv: ["--protection", "enforce"] });
    addClaim(scene.house, { name: "elsewhere" });
    scene.addPod("other", { claim: "elsewhere" });
    scene.node().mount("other");

    makeReleased(scene);
    await scene.report();
    await scene.pass(1);

    expect(isMarked(scene)).toBe(false);
  });
});

describe("the mark of a mounted volume, after a change of leaders", () => {
  it("stays while the node does not report, though it has no agent any more", async () => {
    const scene = await releasedScene();
    scene.house.api.delete(podRef("agent-n1", "mooring-agents"));
    addKubelet(scene.house, "n1");

    await scene.handOver();
    await scene.passReporting(900, "n2");

    expect(isMarked(scene)).toBe(true);
  });

  it("goes five minutes after its node has gone", async () => {
    const scene = await releasedScene();
    await scene.leader.stop();
    scene.remove("n1");
    await scene.lead();

    await scene.passReporting(295, "n2");
    const before = isMarked(scene);
    await scene.passReporting(30, "n2");

    expect([before, isMarked(scene)]).toEqual([true, false]);
  });
});

describe("the last use of a Retain volume", () => {
  it("is copied by a leader that finds its claim being deleted, once", async () => {
    const scene = await mountedScene();
    scene.deletePod("web");
    scene.node().unmount("web");
    await scene.report();
    await scene.pass(1);
    await scene.leader.stop();
    scene.house.api.requestDeletion(CLAIM);
    const writes = countWrites(scene);

    await scene.lead();
    await scene.passReporting(120);

    expect(annotationsOf(scene)).toHaveProperty(["mooring.dev/last-use"]);
    expect(writes()).toBe(1);
  });
});

describe("the write of a mark", () => {
  it.each([
    { name: "is tried again after a minute when it is refused", status: 422, from: 40, to: 80 },
    { name: "is tried again soon when it fails", status: 500, from: 0.1, to: 3 },
  ] as const)("$name", async ({ status, from, to }) => {
    const scene = await mountedScene();
    const tries = refuseWrites(scene, { status });
    makeReleased(scene);
    await scene.pass(90);

    const [first = Number.NaN, second = Number.NaN] = tries;
    expect(second - first).toBeGreaterThan(from);
    expect(second - first).toBeLessThan(to);
  });

  it("is not repeated at once while the watch does not show it, though the node reports another mount", async () => {
    const scene = await mountedScene();
    scene.lag("persistentvolumes", 30);
    const tries = refuseWrites(scene, undefined);
    makeReleased(scene);
    await scene.pass(30.1);
    scene.node().mount("late");

    await scene.report();
    await scene.pass(0.2);

    expect([tries.length, isMarked(scene)]).toEqual([1, true]);
  });

  it("does not delay that of another volume when it is refused", async () => {
    const scene = await mountedScene();
    addClaim(scene.house, { name: "copy" });
    scene.node().mount("second", "copy");
    await scene.report();
    const copy = { ...VOLUME, name: "pv-copy" };
    scene.house.setFaults(({ site, request }) =>
      site.endsWith(" persistentvolumes/status") && request.path.includes("pv-data")
        ? { refusal: { status: 403 } }
        : {},
    );

    makeReleased(scene);
    scene.house.api.delete({ ...CLAIM, name: "copy" });
    makeReleased(scene, copy);
    await scene.pass(1);

    expect([isMarked(scene), isMarked(scene, copy)]).toEqual([false, true]);
  });

  it("is repeated ever more rarely where another client takes it back each second", async () => {
    const scene = await releasedScene();
    const tries = refuseWrites(scene, undefined);

    for (let second = 0; second < 200; second += 1) {
      touch(scene, { second: String(second) });
      await scene.pass(1);
    }

    expect(tries.length).toBeGreaterThan(3);
    expect(tries.length).toBeLessThan(12);
  });
});
