import { afterEach, describe, expect, it } from "vitest";
import { FORCE_RELEASE } from "../../../common/storage/claim.ts";
import type { ApiObject } from "../../simulation/engine/api/objects.ts";
import { closeHouses } from "../house.ts";
import { CLAIM, setPhase } from "../objects.ts";
import { leadingScene, type Scene } from "./scene.ts";
import { handleOf } from "./scripted-node.ts";

afterEach(closeHouses);

type Protection = "audit" | "enforce";

const CSI = { driver: "csi.example.org", volumeHandle: "one" };
const REMOVED = "mooring_claims_removed_while_mounted_total";
const KEPT = "mooring_claims_deletion_held";
const OLDEST_KEPT = "mooring_claims_deletion_held_oldest_seconds";

/** A claim that n1 has mounted for the pod `web`, and that a client deletes. */
async function deletedScene(protection: Protection): Promise<Scene> {
  const scene = await leadingScene({ claims: [{ source: { csi: CSI } }], argv: ["--protection", protection] });
  scene.addPod("web");
  scene.node().mount("web");
  await scene.report();
  await scene.pass(10);
  scene.house.api.requestDeletion(CLAIM);
  return scene;
}

/** The same once the pod is gone, too: only protection keeps the claim. */
async function keptScene(protection: Protection): Promise<Scene> {
  const scene = await deletedScene(protection);
  scene.deletePod("web");
  await scene.report();
  await scene.pass(1);
  return scene;
}

function notesOf({ house }: Scene): readonly unknown[] {
  return house.api.list("events").map(({ note }) => note);
}

/** The warnings in the log; events of one kind about a claim are one event. */
function warned({ leader }: Scene): readonly unknown[] {
  const lines = leader.logger.lines.filter(({ message }) => message === "claim needs attention");
  return lines.map(({ fields }) => fields.warning);
}

/** Changes an annotation of the claim, so that it is checked again. */
function annotate({ house }: Scene, name: string, text: string): void {
  house.api.update(CLAIM, (claim) => {
    const { metadata } = claim;
    return { ...claim, metadata: { ...metadata, annotations: { ...metadata.annotations, [name]: text } } };
  });
}

function letGo(scene: Scene): void {
  annotate(scene, FORCE_RELEASE, "uid-of-data lost");
}

async function keptCounts({ leader }: Scene): Promise<readonly unknown[]> {
  return [await leader.metric(KEPT), await leader.metric(OLDEST_KEPT)];
}

describe("a deleted claim that a node has mounted", () => {
  it("is reported with node and pod, once, after thirty seconds, and counted", async () => {
    const scene = await keptScene("enforce");

    await scene.pass(28);
    const early = scene.events();
    await scene.passReporting(300);

    expect([early, scene.events()]).toEqual([[], ["DeletionHeld"]]);
    expect(notesOf(scene)).toEqual([expect.stringMatching(/shop\/web.*n1|n1.*shop\/web/)]);
    expect(await scene.leader.metric("mooring_claims_deletion_held")).toBe(1);
  });

  it("is not reported while a finished pod is still there: Kubernetes keeps the claim", async () => {
    const scene = await deletedScene("enforce");
    setPhase(scene.house, "web", "Succeeded");
    await scene.passReporting(60);
    const before = scene.events();

    scene.deletePod("web");
    await scene.passReporting(60);

    expect([before, scene.events()]).toEqual([[], ["DeletionHeld"]]);
  });

  it.each([
    { name: "protection only audits", protection: "audit", override: "", cause: "not-enforced", others: [] },
    { name: "was let go", protection: "enforce", override: "lost", cause: "override", others: ["ForceReleased"] },
    {
      name: "lost its finalizer to another client",
      protection: "enforce",
      override: "",
      cause: "unexpected",
      others: [],
    },
  ] as const)("and that $name is reported once when it is gone, and counted", async (row) => {
    const scene = await keptScene(row.protection);
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
    { name: "its node no longer reports", next: () => {} },
  ])("and that is gone is not reported when $name", async ({ next }) => {
    const scene = await keptScene("audit");

    scene.house.api.delete(CLAIM);
    await scene.pass(1);
    await next(scene);
    await scene.pass(300);

    expect(scene.events()).toEqual([]);
  });

  it("and that is only staged when it is gone is reported, too", async () => {
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

describe("the status of a claim that is being deleted", () => {
  it("is written again where another client removed it while a node has the claim mounted", async () => {
    const scene = await deletedScene("enforce");
    const before = scene.status();
    const remove = (claim: ApiObject): ApiObject => ({ ...claim, status: { phase: "Bound" } });
    scene.house.api.update(CLAIM, remove, { subresource: "status" });
    await scene.pass(1);

    expect(before).toMatchObject({ unused: false, reason: "Mounted" });
    expect(scene.status()).toMatchObject({ unused: false, reason: "Mounted" });
  });
});

describe("a claim that protection alone keeps", () => {
  it("is reported once, however often it is checked, and counts anew when it is unused in between", async () => {
    const scene = await keptScene("enforce");
    await scene.pass(40);
    annotate(scene, "seen", "again");
    await scene.pass(1);
    const before = await scene.leader.metric(KEPT);
    scene.node().unmount("web");
    await scene.report();
    await scene.pass(5);
    const between = await scene.leader.metric(KEPT);

    scene.node().mount("other");
    await scene.report();
    await scene.pass(40);
    const after = await keptCounts(scene);
    scene.house.api.delete(CLAIM);
    await scene.pass(1);

    expect([before, between, after]).toEqual([1, 0, [1, expect.closeTo(43, -1)]]);
    expect(warned(scene)).toEqual(["deletion-held"]);
    expect(await keptCounts(scene)).toEqual([0, 0]);
  });

  it.each<{ readonly name: string; readonly next: (scene: Scene) => unknown; readonly warnings: readonly string[] }>([
    {
      name: "was let go, also when it is checked again",
      next: async (scene) => {
        letGo(scene);
        await scene.pass(60);
        annotate(scene, "seen", "again");
      },
      warnings: ["force-released"],
    },
    {
      name: "was let go and is gone at once",
      next: (scene) => {
        letGo(scene);
        scene.house.api.delete(CLAIM);
      },
      warnings: ["force-released"],
    },
    {
      name: "is let go although it is unused",
      next: async (scene) => {
        scene.node().unmount("web");
        await scene.report();
        letGo(scene);
      },
      warnings: [],
    },
  ])("is reported as let go once where it $name, and no longer kept", async ({ next, warnings }) => {
    const scene = await keptScene("enforce");

    await next(scene);
    await scene.pass(60);

    expect(await keptCounts(scene)).toEqual([0, 0]);
    expect(warned(scene)).toEqual(warnings);
  });

  it("is nothing where protection is not enforced, with an override or without", async () => {
    const scene = await keptScene("audit");
    await scene.pass(60);
    letGo(scene);
    await scene.pass(60);
    scene.house.api.delete(CLAIM);
    await scene.pass(1);

    expect([warned(scene), await keptCounts(scene)]).toEqual([[], [0, 0]]);
  });

  it("is as old as its deletion for a new leader, else as the end of its last pod; the metric shows the oldest", async () => {
    const scene = await deletedScene("enforce");
    await scene.pass(100);
    const withPod = await keptCounts(scene);
    scene.deletePod("web");
    await scene.pass(20);
    const alone = await keptCounts(scene);

    await scene.handOver();
    await scene.report();
    await scene.pass(1);

    expect([withPod, alone]).toEqual([
      [0, 0],
      [1, expect.closeTo(20, 0)],
    ]);
    expect(await scene.leader.metric(OLDEST_KEPT)).toBeGreaterThan(120);
  });
});
