import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type SpawnedDemo, spawnDemo } from "../demo/spawned.ts";
import { buildImage } from "../image/image.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { firewallOfClusters, footprintOf, NO_FOOTPRINT } from "./footprint.ts";

let owner: Owner;
let signals: Disposable;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  // Once for all: else it would count as the demo's time.
  await buildImage(owner);
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

/** The run folder of a demo that has begun. */
async function runFolder(demo: SpawnedDemo): Promise<string> {
  await demo.printed("real nodes");
  const [name = expect.fail("it has no run folder"), ...more] = demo.left();
  expect(more).toEqual([]);
  return join(demo.parent, name);
}

describe("npm run demo -- --node", () => {
  it("runs from its first step to its last, those of --provisioner included, and leaves nothing behind", async () => {
    const before = await firewallOfClusters();
    using demo = spawnDemo(["--node", "--provisioner"]);
    const folder = await runFolder(demo);

    const code = await demo.ended;

    expect(demo.stderr()).toBe("");
    expect(demo.stdout()).toContain("All steps hold");
    expect(demo.stdout()).toContain("STILL MOUNTED");
    expect(demo.stdout()).toContain("No space left on device");
    expect(code).toBe(0);
    expect(demo.left()).toEqual([]);
    expect(await footprintOf(folder)).toEqual(NO_FOOTPRINT);
    expect(await firewallOfClusters()).toEqual(before);
  });

  it("leaves nothing when Ctrl-C ends it while a container does not want to end", async () => {
    const before = await firewallOfClusters();
    using demo = spawnDemo(["--node"]);
    const folder = await runFolder(demo);
    await demo.printed("npm run claims");
    expect(await footprintOf(folder)).not.toEqual(NO_FOOTPRINT);

    demo.child.kill("SIGINT");

    expect(await demo.ended).toBe(130);
    expect(demo.left()).toEqual([]);
    expect(await footprintOf(folder)).toEqual(NO_FOOTPRINT);
    expect(await firewallOfClusters()).toEqual(before);
  });
});
