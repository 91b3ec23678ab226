import { describe, expect, it } from "vitest";
import { STORAGE_PATHS } from "../../../rig/csi/objects.ts";
import { filesIn } from "../../../rig/node/pool-disks.ts";
import { deleteClaim, toldOfVolume, untilTold, untilVolume } from "../claims.ts";
import { deleteAt, setPolicy, untilLetGo } from "../meanwhile.ts";
import { inPod, runUse } from "../pods.ts";
import { copyMounts, endPod, endUses } from "../stories.ts";
import { stage } from "./ground.ts";

/** Rows about what is done to claims and volumes while the provisioner works on them. */
export function meanwhileRows(): void {
  describe.concurrent("what somebody does to claims and volumes meanwhile", () => {
    const terms = { node: "node-1", storageClass: "narrow" } as const;

    it("a PersistentVolume that is deleted before its claim serves on, and goes with its image after the claim", async () => {
      const use = await runUse(stage, { ...terms, name: "volume-first" });
      const path = `${STORAGE_PATHS.volumes}/${use.claim.volume}`;

      await stage.api.remove(path);

      await inPod(stage, use.pod, "echo on > /data/own; sync");
      await endUses(stage, use);
      expect(await filesIn({ node: stage.node("node-1"), pool: "narrow" })).not.toContain(`${use.claim.volume}.img`);
    });

    it("a volume whose policy becomes Retain while its deletion waits stays, and goes when it becomes Delete again", async () => {
      const use = await runUse(stage, { ...terms, name: "retained" });
      const { volume } = use.claim;
      const copy = await copyMounts(stage, use);
      await endPod(stage, use);
      await deleteClaim(stage, use.claim);
      await untilTold(stage, () => toldOfVolume(stage, volume), { reason: "VolumeFailedDelete" });

      await setPolicy(stage, volume, "Retain");
      await untilLetGo(stage, volume);
      await copy.kill();

      // What the provisioner would do now, it has done by then.
      await endUses(stage, await runUse(stage, { ...terms, name: "after-retained" }));
      expect(stage.volumes(volume).at(-1)?.value).toBe("Released");
      expect(await filesIn({ node: stage.node("node-1"), pool: "narrow" })).toContain(`${volume}.img`);
      await setPolicy(stage, volume, "Delete");
      await untilVolume(stage, volume, "gone");
    });

    it("claims that are deleted while their volumes are made leave nothing", async () => {
      const moments = ["asked for", "an image", "a PersistentVolume"] as const;

      const ends = [...moments, ...moments].map((moment, index) => deleteAt(stage, `never-${index}`, moment));

      expect(await Promise.all(ends)).toHaveLength(6);
    });
  });
}
