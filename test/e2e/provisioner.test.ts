import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Owner, openOwner } from "../process/owner.ts";
import { closeOnSignals } from "../process/run-owned.ts";
import { deleteClaim, untilVolume } from "./provisioner/claims.ts";
import { filesIn, freeBytes } from "./provisioner/disks.ts";
import { deletePod, fileOf, inPod, runUse } from "./provisioner/pods.ts";
import { openProvisionerStage, type ProvisionerStage } from "./provisioner/stage.ts";

let owner: Owner;
let signals: Disposable;
let stage: ProvisionerStage;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  stage = await openProvisionerStage(owner);
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

describe.concurrent("on nodes that work", () => {
  it("root that writes past the size gets ENOSPC, and neither its neighbour nor the disk of the node is harmed", async () => {
    const place = { node: stage.node("node-1"), pool: "default" };
    const neighbour = await runUse(stage, { name: "neighbour", node: "node-1" });
    await inPod(stage, neighbour.pod, "echo whole > /data/file; sync");
    const use = await runUse(stage, { name: "over", node: "node-1" });
    const before = await freeBytes(place);

    const writing = inPod(stage, use.pod, "id -u; dd if=/dev/zero of=/data/fill bs=1M count=100");

    await expect(writing).rejects.toThrow("No space left on device");
    expect(Math.abs((await freeBytes(place)) - before)).toBeLessThan(2 ** 20);
    expect(readFileSync(fileOf(stage, neighbour, "file"), "utf8")).toBe("whole\n");
    await inPod(stage, neighbour.pod, "echo more >> /data/file; sync");
    for (const { claim, pod } of [use, neighbour]) {
      await deletePod(stage, pod);
      await deleteClaim(stage, claim);
      await untilVolume(stage, claim.volume, "gone");
      expect(await filesIn(place)).not.toContain(`${claim.volume}.img`);
    }
  });
});
