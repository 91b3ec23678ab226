import { afterEach, describe, expect, it } from "vitest";
import { FORCE_RELEASE } from "../../../common/storage/claim.ts";
import { closeHouses } from "../house.ts";
import { CLAIM, setPhase } from "../objects.ts";
import { leadingScene, type Scene } from "./scene.ts";
import { handleOf } from "./scripted-node.ts";

afterEach(closeHouses);

type Protection = "audit" | "enforce";

const CSI = { driver: "csi.example.org", volumeHandle: "one" };
const REMOVED = "mooring_claims_removed_while_mounted_total";

/** A claim that n1 has mounted for the pod `web`, and that is being deleted. */
async function deletedScene(protection: Protection): Promise<Scene> {
  const scene = await leadingScene({ claims: [{ source: { csi: CSI } }], argv: ["--protection", protection] });
  scene.addPod("web");
  scene.node().mount("web");
  await scene.report();
  await scene.pass(10);
  scene.house.api.requestDeletion(CLAIM);
  return scene;
}

/** Its pod is gone, too. */
async function heldScene(protection: Protection): Promise<Scene> {
  const scene = await deletedScene(protection);
  scene.deletePod("web");
  await scene.report();
  await scene.pass(1);
  return scene;
}

function notesOf({ house }: Scene): readonly unknown[] {
  return house.api.list("events").map(({ note }) => note);
}

describe("a deleted claim that a node has mounted", () => {
  it("is told of with node and pod, once, after thirty seconds, and counted", async () => {
    const scene = await heldScene("enforce");

    await scene.pass(28);
    const early = scene.events();
    await scene.passReporting(300);

    expect([early, scene.events()]).toEqual([[], ["DeletionHeld"]]);
    expect(notesOf(scene)).toEqual([expect.stringMatching(/shop\/web.*n1|n1.*shop\/web/)]);
    expect(await scene.leader.metric("mooring_claims_deletion_held")).toBe(1);
  });

  it("is not told of while a pod that has finished is still there: Kubernetes keeps it", async () => {
    const scene = await deletedScene("enforce");
    setPhase(scene.house, "web", "Succeeded");
    await scene.passReporting(60);
    const before = scene.events();

    scene.deletePod("web");
    await scene.passReporting(60);

    expect([before, scene.events()]).toEqual([[], ["DeletionHeld"]]);
  });

  it.each([
    { name: "is only recorded", protection: "audit", override: "", cause: "not-enforced", others: [] },
    { name: "was let go", protection: "enforce", override: "lost", cause: "override", others: ["ForceReleased"] },
    {
      name: "lost its finalizer to another client",
      protection: "enforce",
      override: "",
      cause: "unexpected",
      others: [],
    },
  ] as const)("and that $name is told of once when it is gone, and counted", async (row) => {
    const scene = await heldScene(row.protection);
    const annotations = row.override === "" ? {} : { [FORCE_RELEASE]: `uid-of-data ${row.override}` };
    scene.house.api.update(CLAIM, (claim) => {
      const { metadata } = claim;
      return { ...claim, metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } } };
    });
    await scene.pass(1);

    scene.house.api.delete(CLAIM);
    await scene.pass(5);
    await scene.passReporting(300);

    expect(scene.events()).toEqual([...row.others, "RemovedWhileMounted"]);
    expect(await scene.leader.metric(REMOVED, row.cause)).toBe(1);
  });

  it.each<{ readonly name: string; readonly next: (scene: Scene) => unknown }>([
    {
      name: "its unmount is reported a moment later",
      next: async (scene) => {
        scene.node().unmount("web");
        await scene.report();
      },
    },
    {
      name: "another pod has the volume mounted since",
      next: async (scene) => {
        scene.node().lose();
        scene.node().mount("other");
        await scene.report();
      },
    },
    { name: "its node reports no more", next: () => {} },
  ])("and that is gone is not told of when $name", async ({ next }) => {
    const scene = await heldScene("audit");

    scene.house.api.delete(CLAIM);
    await scene.pass(1);
    await next(scene);
    await scene.pass(300);

    expect(scene.events()).toEqual([]);
  });

  it("and that is only staged when it is gone is told of, too", async () => {
    const scene = await leadingScene({ claims: [{ source: { csi: CSI } }], argv: ["--protection", "audit"] });
    scene.node().stage(handleOf(CSI.driver, CSI.volumeHandle));
    await scene.report();
    await scene.pass(10);

    scene.house.api.delete(CLAIM);
    await scene.pass(5);
    await scene.report();
    await scene.pass(30);

    expect(scene.events()).toEqual(["RemovedWhileMounted"]);
    expect(notesOf(scene)).toEqual([expect.stringContaining("n1")]);
  });
});
