import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { freeBytes, sizesIn } from "../../../rig/node/pool-disks.ts";
import { NODES } from "../../scenarios/stage.ts";
import { changeClaim, deleteClaim, makeClaim, untilTold } from "../claims.ts";
import { kilobytesIn, MAY_RESIZE_EXT4, sized, sizeFile } from "../growth.ts";
import { deletePod, fileOf, inPod, makePod, runUse, untilRunning } from "../pods.ts";
import { roomFor } from "../provisioner-pods.ts";
import { race, untilUse } from "../race.ts";
import { endPod, endUses } from "../stories.ts";
import { pages, stage } from "./ground.ts";

const MiB = 2 ** 20;
const PODS = "/api/v1/namespaces/default/pods";
const IN_TURN = { concurrent: false };

/** Rows about volumes on nodes that work. */
export function volumeRows(): void {
  describe.concurrent("on nodes that work", () => {
    it("root that writes past the size gets ENOSPC, and neither its neighbour nor the disk of the node is harmed", async () => {
      const place = { node: stage.node("node-1"), pool: "default" };
      const neighbour = await runUse(stage, { name: "neighbour", node: "node-1" });
      await inPod(stage, neighbour.pod, "echo whole > /data/file; sync");
      const use = await runUse(stage, { name: "over", node: "node-1" });

      const writing = inPod(stage, use.pod, "dd if=/dev/zero of=/data/fill bs=1M count=100");

      await expect(writing).rejects.toThrow("No space left on device");
      expect(await freeBytes(place)).toBeGreaterThan(100 * MiB);
      expect(readFileSync(fileOf(stage, neighbour, "file"), "utf8")).toBe("whole\n");
      await inPod(stage, neighbour.pod, "echo more >> /data/file; sync");
      await endUses(stage, use, neighbour);
    });

    it("volumes of ext4 and of XFS grow while they are written to", async () => {
      const ext4 = await runUse(stage, { name: "grow-ext4", size: "32Mi", node: "node-1" });
      const xfs = await runUse(stage, { name: "grow-xfs", storageClass: "xfs", size: "320Mi", node: "node-2" });
      await Promise.all([ext4, xfs].map(({ pod }) => inPod(stage, pod, "echo own > /data/own")));
      const before = await Promise.all([ext4, xfs].map(({ pod }) => kilobytesIn(stage, pod)));

      await changeClaim(stage, ext4.claim, sized("64Mi"));
      await changeClaim(stage, xfs.claim, sized("384Mi"));

      await stage.until("larger filesystems", async () => {
        if (MAY_RESIZE_EXT4) expect(await kilobytesIn(stage, ext4.pod)).toBeGreaterThan((before[0] ?? 0) + 24 * 1024);
        else expect(readFileSync(sizeFile(ext4), "utf8").trim()).toBe(String((64 * MiB) / 512));
        expect(await kilobytesIn(stage, xfs.pod)).toBeGreaterThan((before[1] ?? 0) + 56 * 1024);
      });
      expect(await inPod(stage, xfs.pod, "cat /data/own")).toBe("own");
      await endUses(stage, ext4, xfs);
    });

    it("a block volume is a device of the size that was asked for, keeps what is written to it, and grows", async () => {
      const use = await runUse(stage, { name: "block", isBlock: true, node: "node-1" });
      await inPod(stage, use.pod, "echo own | dd of=/dev/data bs=512 conv=notrunc,fsync");
      expect(await inPod(stage, use.pod, "blockdev --getsize64 /dev/data")).toBe(String(32 * MiB));

      await changeClaim(stage, use.claim, sized("48Mi"));
      await stage.until("a larger device", async () => {
        expect(await inPod(stage, use.pod, "blockdev --getsize64 /dev/data")).toBe(String(48 * MiB));
      });

      expect(await inPod(stage, use.pod, "head -c 3 /dev/data")).toBe("own");
      await endUses(stage, use);
    });

    it("a claim of mode ReadWriteOncePod is one pod's alone", async () => {
      const use = await runUse(stage, { name: "alone", accessMode: "ReadWriteOncePod", node: "node-1" });
      await makePod(stage, { name: "alone-too", claim: "alone" });
      await stage.until("a second pod that waits", async () => {
        expect(JSON.stringify(await stage.api.get(`${PODS}/alone-too`))).toContain("ReadWriteOncePod");
      });

      await endPod(stage, use);

      const pod = await untilRunning(stage, "alone-too");
      await endUses(stage, { claim: use.claim, pod });
    });

    describe("a pool that fills up", () => {
      it("a volume is made where there is room, and a claim that fits nowhere waits and is told", IN_TURN, async () => {
        const free = (await roomFor(stage, "narrow", "node-1")) ?? 0;
        const size = String(free - 16 * MiB);
        const filler = await runUse(stage, { name: "filler", storageClass: "narrow", size, node: "node-1" });

        const placed = await runUse(stage, { name: "placed", storageClass: "narrow", size: "64Mi" });
        const large = await makeClaim(stage, { name: "large", storageClass: "narrow", size: "1Gi" });
        await makePod(stage, { name: "large", claim: "large" });

        expect(placed.pod.node).toBe("node-2");
        const about = { reason: "ProvisioningFailed", words: "no node has room for 1Gi" };
        await untilTold(stage, () => stage.events.on(large.uid), about);
        expect(stage.claims("default/large").at(-1)?.value).toMatchObject({ phase: "Pending" });
        await deletePod(stage, { name: "large" }, true);
        await deleteClaim(stage, large);
        await endUses(stage, filler, placed);
      });

      it(
        "of 20 pods that race for 10 places 10 get one, and the others as soon as these are done",
        IN_TURN,
        async () => {
          const { uses, names, size } = await race(stage, "racer");

          expect(uses).toHaveLength(10);
          for (const name of NODES) {
            const place = { node: stage.node(name), pool: "narrow" };
            const { length, allocated } = await sizesIn(place);
            expect(length).toBe(uses.filter(({ pod }) => pod.node === name).length * size);
            expect(allocated).toBeGreaterThanOrEqual(length);
            expect(await freeBytes(place)).toBeLessThan(size);
          }
          expect(await pages.look("MooringPoolNearlyFull", { node: "node-1", pool: "narrow" })).toMatch(
            /^node-1 +narrow/m,
          );
          await endUses(stage, ...uses);
          const others = await Promise.all(
            names.filter((name) => !uses.some(({ pod }) => pod.name === name)).map((name) => untilUse(stage, name)),
          );
          expect(others).toHaveLength(10);
          await endUses(stage, ...others);
        },
      );
    });
  });
}
