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
const HELD = "mooring_claims_deletion_held";
const OLDEST = "mooring_claims_deletion_held_oldest_seconds";

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

/** What the log says of claims, whose events of one kind are one event. */
function warned({ leader }: Scene): readonly unknown[] {
  const lines = leader.logger.lines.filter(({ message }) => message === "claim needs attention");
  return lines.map(({ fields }) => fields.warning);
}

/** The claim has other annotations: it is looked at again. */
function annotate({ house }: Scene, name: string, text: string): void {
  house.api.update(CLAIM, (claim) => {
    const { metadata } = claim;
    return { ...claim, metadata: { ...metadata, annotations: { ...metadata.annotations, [name]: text } } };
  });
}

function letGo(scene: Scene): void {
  annotate(scene, FORCE_RELEASE, "uid-of-data lost");
}

async function held({ leader }: Scene): Promise<readonly unknown[]> {
  return [await leader.metric(HELD), await leader.metric(OLDEST)];
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

describe("a claim that protection alone keeps", () => {
  it("is told of once, however often it is looked at, and counts anew when it is unused in between", async () => {
    const scene = await heldScene("enforce");
    await scene.pass(40);
    annotate(scene, "seen", "again");
    await scene.pass(1);
    const before = await scene.leader.metric(HELD);
    scene.node().unmount("web");
    await scene.report();
    await scene.pass(5);
    const between = await scene.leader.metric(HELD);

    scene.node().mount("other");
    await scene.report();
    await scene.pass(40);
    const after = await held(scene);
    scene.house.api.delete(CLAIM);
    await scene.pass(1);

    expect([before, between, after]).toEqual([1, 0, [1, expect.closeTo(43, -1)]]);
    expect(warned(scene)).toEqual(["deletion-held"]);
    expect(await held(scene)).toEqual([0, 0]);
  });

  it.each<{ readonly name: string; readonly next: (scene: Scene) => unknown; readonly told: readonly string[] }>([
    {
      name: "was let go, also when it is looked at again",
      next: async (scene) => {
        letGo(scene);
        await scene.pass(60);
        annotate(scene, "seen", "again");
      },
      told: ["force-released"],
    },
    {
      name: "was let go and is gone at once",
      next: (scene) => {
        letGo(scene);
        scene.house.api.delete(CLAIM);
      },
      told: ["force-released"],
    },
    {
      name: "is let go although it is unused",
      next: async (scene) => {
        scene.node().unmount("web");
        await scene.report();
        letGo(scene);
      },
      told: [],
    },
  ])("is told of as such once where it $name, and not kept any more", async ({ next, told }) => {
    const scene = await heldScene("enforce");

    await next(scene);
    await scene.pass(60);

    expect(await held(scene)).toEqual([0, 0]);
    expect(warned(scene)).toEqual(told);
  });

  it("is nothing where protection is not enforced, with an override or without", async () => {
    const scene = await heldScene("audit");
    await scene.pass(60);
    letGo(scene);
    await scene.pass(60);
    scene.house.api.delete(CLAIM);
    await scene.pass(1);

    expect([warned(scene), await held(scene)]).toEqual([[], [0, 0]]);
  });

  it("has the age of its deletion where a leader finds it held, else since its last pod went; the oldest counts", async () => {
    const scene = await deletedScene("enforce");
    await scene.pass(100);
    const withPod = await held(scene);
    scene.deletePod("web");
    await scene.pass(20);
    const alone = await held(scene);

    await scene.handOver();
    await scene.report();
    await scene.pass(1);

    expect([withPod, alone]).toEqual([
      [0, 0],
      [1, expect.closeTo(20, 0)],
    ]);
    expect(await scene.leader.metric(OLDEST)).toBeGreaterThan(120);
  });
});
