import { afterEach, describe, expect, it } from "vitest";
import type { ClaimStatus } from "../../../common/storage/claim-status.ts";
import { secondsText } from "../../simulation/world/time.ts";
import { closeHouses, House } from "../house.ts";
import { addClaim, addPod, CLAIM, setPhase, touchPod } from "../objects.ts";
import { houseWithNodes } from "./mounted-claim.ts";
import { startLeader, statusIn } from "./replica.ts";
import { leadingScene, type Scene } from "./scene.ts";
import { handleOf, ScriptedNode } from "./scripted-node.ts";

afterEach(closeHouses);

const WRITE = "apply persistentvolumeclaims/status";
const LEASE = { resource: "leases", namespace: "mooring", name: "mooring-aggregator" } as const;

function reasonsOf(statuses: readonly ClaimStatus[]): readonly string[] {
  return statuses.map(({ reason }) => reason);
}

/** A claim that no pod uses, as its node has reported. */
async function idleScene(...options: ConstructorParameters<typeof Scene>): Promise<Scene> {
  const scene = await leadingScene(...options);
  await scene.report();
  await scene.pass(1);
  return scene;
}

describe("a status", () => {
  it.each<{ readonly name: string; readonly begin: (scene: Scene) => void }>([
    {
      name: "whose answer was lost is not written again once the watch shows it",
      begin: ({ house }) =>
        house.setFaults(({ site }) => (site === WRITE ? { lost: "answer", brokenAfterMs: 1_000 } : {})),
    },
    {
      name: "is not written again while the watch does not show it, whatever happens",
      begin: (scene) => scene.lag("persistentvolumeclaims", 30),
    },
  ])("$name", async ({ begin }) => {
    const scene = await idleScene();
    scene.addPod("web");
    await scene.pass(10);
    scene.node().mount("web");
    begin(scene);
    const statuses = scene.watchStatuses();

    await scene.report();
    for (let second = 0; second < 60; second += 10) {
      await scene.pass(10);
      touchPod(scene.house, "web");
    }

    expect(reasonsOf(statuses)).toEqual(["Mounted"]);
  });

  it("is written again where a backup was put back", async () => {
    const scene = await idleScene();
    const backup = scene.house.api.snapshot();
    scene.node().mount("web");
    await scene.report();
    await scene.pass(5);
    const before = scene.status();

    scene.house.api.restore(backup);
    await scene.pass(60);

    expect(before).toMatchObject({ unused: false, reason: "Mounted" });
    expect(scene.status()).toMatchObject({ unused: false, reason: "Mounted" });
  });

  it("of another reason alone is written after a delay", async () => {
    const scene = await idleScene();
    scene.addPod("web");
    scene.node().mount("web");
    await scene.report();
    await scene.pass(10);
    const statuses = scene.watchStatuses();

    scene.node().unmount("web");
    await scene.report();
    await scene.pass(4.9);
    const early = statuses.length;
    await scene.pass(0.2);

    expect(early).toBe(0);
    expect(reasonsOf(statuses)).toEqual(["Referenced"]);
  });

  it("is written twice for a short run of a cron job", async () => {
    const scene = await idleScene();
    const statuses = scene.watchStatuses();
    await scene.until(5);
    scene.addPod("web", { phase: "Pending" });
    await scene.pass(1);
    scene.node().mount("web");
    await scene.report();
    setPhase(scene.house, "web", "Running");
    await scene.pass(2);
    setPhase(scene.house, "web", "Succeeded");
    await scene.until(10);

    scene.node().unmount("web");
    await scene.report();
    await scene.pass(60);

    expect(reasonsOf(statuses)).toEqual(["Referenced", "Unmounted"]);
    expect(scene.since()).toBe(10);
  });

  it("says that the volume is staged without use until that is over, where that keeps the claim", async () => {
    const staged = await stagings("enforce");
    const unsaid = await stagings("off");

    expect(staged).toEqual(["Mounted", expect.stringMatching(/^Unmounted, Staged on node n1:/), "Unmounted"]);
    expect(unsaid).toEqual(["Mounted", "Unmounted"]);
  });

  /** What is written of a claim that is mounted, then staged alone, then neither. */
  async function stagings(protection: string): Promise<readonly string[]> {
    const csi = { driver: "csi.example.org", volumeHandle: "one" };
    const scene = await idleScene({ claims: [{ source: { csi } }], argv: ["--protection", protection] });
    const statuses = scene.watchStatuses();
    const node = scene.node();
    node.mount("web");
    node.stage(handleOf(csi.driver, csi.volumeHandle));
    await scene.report();
    await scene.pass(1);
    node.unmount("web");
    await scene.report();
    await scene.pass(1);
    node.lose();
    await scene.report();
    await scene.pass(1);
    return statuses.map(({ reason, staged }) => reason + (staged === undefined ? "" : `, ${staged}`));
  }

  it("stays staged for the next leader until the node has reported that it is not", async () => {
    const scene = await idleScene({ argv: ["--protection", "enforce"] });
    scene.node().stage();
    await scene.report();
    await scene.pass(1);
    const statuses = scene.watchStatuses();
    await scene.handOver();
    await scene.pass(20);
    const before = [...statuses];

    scene.node().lose();
    await scene.report();
    await scene.pass(1);

    expect(before).toEqual([]);
    expect(statuses.map(({ staged }) => staged)).toEqual([undefined]);
  });

  it("is decided and left to a successor while the API server answers no write", async () => {
    const house = houseWithNodes();
    const others = Array.from({ length: 20 }, (_, index) => `other-${index}`);
    for (const name of [...others, "data"]) addClaim(house, { name });
    const leader = await startLeader(house);
    const [n1, n2] = [new ScriptedNode(house, "n1"), new ScriptedNode(house, "n2")];
    for (let times = 0; times < 2; times += 1) {
      for (const node of [n1, n2]) await leader.send(node.report());
      await house.pass(5_000);
    }
    house.setFaults(({ site }) => (site === WRITE ? { requestMs: 60_000 } : {}));
    for (const name of others) n1.mount(`of-${name}`, name);
    await leader.send(n1.report());
    await house.pass(1_000);

    n1.mount("web");
    await leader.send(n1.report());
    await house.pass(10_000);

    const { annotations } = house.api.get(LEASE)?.metadata ?? {};
    expect(JSON.stringify(annotations)).toContain("uid-of-data");
    house.setFaults(() => ({}));
    await house.pass(120_000);
    expect(statusIn(house)).toMatchObject({ unused: false, reason: "Mounted" });
  });
});

describe("the end of a pod", () => {
  it.each([
    { name: "from before a claim was made was an earlier claim's", afterS: 1.5, uses: [] },
    { name: "in the second in which a claim was made may be its own", afterS: 0.5, uses: ["shop/web"] },
  ])("$name", async ({ afterS, uses }) => {
    const scene = await idleScene({ claims: [] });
    scene.addPod("web");
    await scene.until(10.1);
    scene.deletePod("web");
    await scene.pass(afterS);
    addClaim(scene.house);
    const statuses = scene.watchStatuses();

    await scene.pass(10);
    await scene.report();
    await scene.pass(1);

    expect(statuses.at(-1)).toMatchObject({ unused: true });
    expect(statuses.flatMap(({ lastUse }) => lastUse?.pod ?? [])).toEqual(uses);
  });

  it("moves no time of mounts that were gone before", async () => {
    const scene = await idleScene();
    for (const pod of ["web", "other"]) {
      scene.addPod(pod);
      scene.node().mount(pod);
    }
    await scene.report();
    await scene.until(10);
    scene.node().unmount("web");
    await scene.report();
    await scene.until(20);
    const id = scene.node().unmount("other");
    await scene.report();
    await scene.until(30);
    for (const pod of ["web", "other"]) scene.deletePod(pod);

    await scene.pass(10);
    await scene.report();
    await scene.pass(1);

    expect(scene.status()).toMatchObject({ unused: true, reason: "Unmounted", lastUse: { id } });
    expect(scene.since()).toBe(20);
  });
});

describe("a claim that is being deleted", () => {
  it("is decided on first", async () => {
    const house = new House();
    for (let index = 0; index < 40; index += 1) addClaim(house, { name: `other-${index}` });
    const condition = { type: "mooring.dev/Unused", status: "True", reason: "NeverObservedInUse", message: "" };
    addClaim(house, { status: { conditions: [{ ...condition, lastTransitionTime: secondsText(house.nowMs) }] } });
    addPod(house, "web");
    house.api.requestDeletion(CLAIM);
    const paths: string[] = [];
    house.setFaults(({ site, request }) => {
      if (site !== WRITE) return {};
      paths.push(request.path);
      return { requestMs: 1_000 };
    });

    await startLeader(house);
    await house.pass(100_000);

    expect(paths.slice(0, 16).filter((path) => path.includes("/data/"))).toHaveLength(1);
    expect(paths).toHaveLength(41);
  });

  it("has no time moved by the end of a pod that was never scheduled", async () => {
    const scene = await idleScene();
    scene.house.api.requestDeletion(CLAIM);
    const statuses = scene.watchStatuses();
    addPod(scene.house, "web", { node: "", phase: "Pending" });
    await scene.pass(1);

    scene.deletePod("web");
    await scene.pass(1);
    await scene.report();
    await scene.pass(10);

    expect(statuses).toEqual([]);
  });

  it("stays in use when its pod was deleted by force, until the pod's node has reported", async () => {
    const scene = await idleScene({ nodes: ["n1", "n2"] });
    scene.house.api.requestDeletion(CLAIM);
    scene.addPod("web", { phase: "Pending" });
    scene.deletePod("web");
    const unused: (boolean | undefined)[] = [];
    for (const names of [[], ["n2"], ["n1"]]) {
      if (names.length > 0) await scene.report(...names);
      await scene.pass(10);
      unused.push(scene.status()?.unused);
    }

    expect(unused).toEqual([false, false, true]);
  });
});
