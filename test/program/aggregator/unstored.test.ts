import { afterEach, describe, expect, it } from "vitest";
import { COVERAGE_ANNOTATION, readCoverage } from "../../../aggregator/sources/watch-history-annotation.ts";
import { formatSecondsUp } from "../../../common/storage/timestamp.ts";
import { closeHouses } from "../house.ts";
import { CLAIM } from "../objects.ts";
import { leadingScene, type Scene } from "./scene.ts";

afterEach(closeHouses);

const LEASE = { resource: "leases", namespace: "mooring", name: "mooring-aggregator" } as const;
const HOST_PATH = { source: { hostPath: { path: "/data" } } };

/** A claim that is unused, and whose status the API server no longer takes. */
async function refusingScene(status: 403 | 422 | 500): Promise<Scene> {
  const scene = await leadingScene({ claims: [HOST_PATH] });
  await scene.report();
  await scene.pass(5);
  scene.house.setFaults(({ site }) => (site.startsWith("apply ") ? { refusal: { status } } : {}));
  return scene;
}

/** A pod uses the volume until a minute after the begin. */
async function use(scene: Scene): Promise<void> {
  scene.addPod("web");
  await scene.until(60);
  scene.deletePod("web");
  await scene.report();
  await scene.pass(5);
}

/** What the replica that leads leaves to the next one: claims, and since when they are unused at the earliest. */
async function left(scene: Scene): Promise<readonly unknown[]> {
  await scene.leader.stop();
  const { annotations } = scene.house.api.get(LEASE)?.metadata ?? {};
  const { unstored = [] } = readCoverage(String(annotations?.[COVERAGE_ANNOTATION]), scene.house.nowMs) ?? {};
  return unstored.map(({ uid, sinceMs }) => [uid, sinceMs === undefined ? undefined : scene.secondsAt(sinceMs)]);
}

/** Another client writes the condition of an unused claim with a time so many seconds after the begin. */
function writeTime(scene: Scene, seconds: number): void {
  const lastTransitionTime = formatSecondsUp(scene.house.nowMs + (seconds - scene.seconds) * 1_000);
  const condition = {
    type: "mooring.dev/Unused",
    status: "True",
    reason: "NoPodUsing",
    message: "",
    lastTransitionTime,
  };
  const status = { phase: "Bound", conditions: [condition] };
  scene.house.api.update(CLAIM, (claim) => ({ ...claim, status }), { subresource: "status" });
}

describe("a stored time", () => {
  it.each([
    { name: "an earlier one", times: [20] },
    { name: "one in the future, and then by an earlier one", times: [3_600, 20] },
  ])("comes back where another client replaces it by $name, while no status can be written", async ({ times }) => {
    const scene = await refusingScene(500);
    scene.house.setFaults(() => ({}));
    await use(scene);
    scene.house.setFaults(({ site }) => (site.startsWith("apply ") ? { refusal: { status: 500 } } : {}));
    for (const time of times) {
      writeTime(scene, time);
      await scene.pass(1);
    }
    const between = scene.since();
    scene.house.setFaults(() => ({}));
    await scene.pass(120);

    expect([between, scene.since()]).toEqual([20, 60]);
  });
});

describe("decisions that are not stored", () => {
  it.each([
    { name: "refused by a webhook", status: 422 },
    { name: "forbidden by a missing role", status: 403 },
    { name: "delayed by an API server that fails", status: 500 },
  ] as const)("are left to the next leader with their time while their write is $name", async ({ status }) => {
    const scene = await refusingScene(status);
    await use(scene);

    expect(await left(scene)).toEqual([["uid-of-data", 60]]);
  });

  it("include claims in use whose stored status says unused", async () => {
    const scene = await refusingScene(422);
    scene.addPod("web");
    await scene.pass(10);

    expect(await left(scene)).toEqual([["uid-of-data", undefined]]);
  });

  it("do not include a deleted claim", async () => {
    const scene = await refusingScene(422);
    await use(scene);

    scene.house.api.delete(CLAIM);
    await scene.pass(1);

    expect(await left(scene)).toEqual([]);
  });
});
