import { afterEach, describe, expect, it } from "vitest";
import type { ApiObject } from "../../simulation/engine/api/objects.ts";
import { secondsText } from "../../simulation/engine/times.ts";
import { closeHouses } from "../house.ts";
import { CLAIM } from "../objects.ts";
import { leadingScene, type Scene } from "./scene.ts";

afterEach(closeHouses);

/** Kubernetes' own condition of a claim. */
function upstream(status: "True" | "False") {
  return [{ type: "Unused", status, lastTransitionTime: secondsText(1_789_000_000_000) }] as const;
}

/** A claim that has this condition from Kubernetes before the leader starts. */
async function sceneWith(status: "True" | "False"): Promise<Scene> {
  return await leadingScene({ claims: [{ status: { conditions: upstream(status) } }] });
}

async function mount(scene: Scene): Promise<void> {
  scene.node().mount("web");
  await scene.report();
}

async function unmount(scene: Scene): Promise<void> {
  scene.node().unmount("web");
  await scene.report();
}

/** How many such warnings are in the log, where an event would be one for all; and how many such claims are counted. */
async function warningCounts({ leader }: Scene): Promise<readonly unknown[]> {
  const warnings = leader.logger.lines.filter(({ fields }) => fields.warning === "unused-while-mounted");
  return [warnings.length, await leader.metric("mooring_claims_unused_while_mounted")];
}

describe("a claim that Kubernetes calls unused while it is mounted", () => {
  it("is reported by an event and counted, though nothing is written, as long as it is there", async () => {
    const scene = await sceneWith("True");
    await mount(scene);
    await scene.pass(9);
    const early = scene.events();
    await scene.pass(2);
    const lasting = await warningCounts(scene);

    scene.house.api.delete(CLAIM);
    await scene.pass(1);

    expect([early, scene.events()]).toEqual([[], ["UnusedWhileMounted"]]);
    expect([lasting, await warningCounts(scene)]).toEqual([
      [1, 1],
      [1, 0],
    ]);
  });

  it("is reported while the API server refuses its status, which still says unused", async () => {
    const scene = await sceneWith("True");
    scene.house.refuse((site) => site.startsWith("apply "));
    await mount(scene);
    await scene.pass(60);

    expect(await warningCounts(scene)).toEqual([1, 1]);
  });

  it("is not reported at once where Kubernetes' clock is behind: the unmount is about to be reported", async () => {
    const scene = await sceneWith("False");
    await mount(scene);
    await scene.pass(60);
    const agree = (claim: ApiObject): ApiObject => {
      const status = Object(claim.status);
      const others = status.conditions.filter(({ type }: { readonly type: string }) => type !== "Unused");
      return { ...claim, status: { ...status, conditions: [...others, ...upstream("True")] } };
    };
    scene.house.api.update(CLAIM, agree, { subresource: "status" });
    await scene.pass(5);
    await unmount(scene);
    await scene.pass(60);

    expect(await warningCounts(scene)).toEqual([0, 0]);
  });

  it("is reported again after both agreed, and not where that passes by itself, as at the end of each job", async () => {
    const scene = await sceneWith("True");
    const seen: unknown[] = [];
    for (const seconds of [9, 9, 20, 60]) {
      await mount(scene);
      await scene.pass(seconds);
      seen.push(await warningCounts(scene));
      await unmount(scene);
      await scene.pass(60);
    }

    expect(seen).toEqual([
      [0, 0],
      [0, 0],
      [1, 1],
      [2, 1],
    ]);
    expect(await warningCounts(scene)).toEqual([2, 0]);
  });

  it.each<{ readonly name: string; readonly begin: () => Promise<Scene> }>([
    {
      name: "Kubernetes calls it used",
      begin: async () => {
        const scene = await sceneWith("False");
        await mount(scene);
        return scene;
      },
    },
    {
      name: "only a pod names it",
      begin: async () => {
        const scene = await sceneWith("True");
        scene.addPod("web");
        return scene;
      },
    },
    {
      name: "it is about to be unused",
      begin: async () => {
        const scene = await sceneWith("True");
        await mount(scene);
        await scene.pass(1);
        scene.house.refuse((site) => site.startsWith("apply "));
        await unmount(scene);
        return scene;
      },
    },
    {
      name: "its volume is lost",
      begin: async () => {
        const scene = await sceneWith("True");
        await mount(scene);
        const lose = (claim: ApiObject): ApiObject => ({
          ...claim,
          status: { ...Object(claim.status), phase: "Lost" },
        });
        scene.house.api.update(CLAIM, lose, { subresource: "status" });
        return scene;
      },
    },
  ])("is nothing where $name", async ({ begin }) => {
    const scene = await begin();

    await scene.pass(60);

    expect(await warningCounts(scene)).toEqual([0, 0]);
  });
});
