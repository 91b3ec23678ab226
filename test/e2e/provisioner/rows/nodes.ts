import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { filesIn, linksOn, makeDisk, mountDisk, unmountDisk } from "../../../rig/node/pool-disks.ts";
import { HarnessError } from "../../../rig/process/errors.ts";
import type { NodeName } from "../../scenarios/stage.ts";
import { changeClaim, toldOfVolume, untilTold } from "../claims.ts";
import { askInVain, comeBackEmpty, forget, giveUp, isUsed } from "../empty-nodes.ts";
import { MAY_RESIZE_EXT4, sized } from "../growth.ts";
import { setPolicy } from "../meanwhile.ts";
import { inPod, lastOf, makePod, runUse, type Use, untilRunning } from "../pods.ts";
import { metricOf, roomFor, untilReadiness } from "../provisioner-pods.ts";
import { untilUse } from "../race.ts";
import { cutPower, restartKubelet, startWith } from "../reboots.ts";
import { attachByHand, leaveImage, readByHand, rescue, restoreByHand, setProvisionerOn } from "../recovery.ts";
import { deviceOf, endUses } from "../stories.ts";
import { owner, pages, stage } from "./ground.ts";

const startedPod = v.object({
  status: v.object({
    containerStatuses: v.optional(v.array(v.object({ ready: v.boolean(), restartCount: v.number() })), []),
  }),
});
const PODS = "/api/v1/namespaces/default/pods";

/** Rows about nodes that lose their power, their disks or their Node objects, and about recovery by hand. */
export function nodeRows(): void {
  describe("a node that is rebooted, whose loop numbers others have taken", () => {
    it("gives each volume its own data, and none while the disk of its pool is missing or another one", async () => {
      const terms = { node: "node-1", isKept: true } as const;
      const stays = await runUse(stage, { ...terms, name: "stays" });
      const byHand = await runUse(stage, { ...terms, name: "by-hand" });
      const away = await runUse(stage, { ...terms, name: "away", storageClass: "loose" });
      for (const { pod } of [stays, byHand, away]) await inPod(stage, pod, `echo ${pod.name} > /data/own; sync`);
      const place = { node: stage.node("node-1"), pool: "loose" };
      await setProvisionerOn(stage, "node-1", false);

      const taken = await cutPower(stage, [stays, byHand, away]);
      await startWith(stage, "node-1", ["default", "narrow"]);

      await attachByHand(pages, "node-1", byHand);
      await untilOwn(byHand);
      await setProvisionerOn(stage, "node-1", true);
      await untilAttached(stays);
      await restartKubelet(stage, "node-1");
      await untilOwn(stays);
      expect(deviceOf(stays)).not.toBe(taken);
      const unavailable = { reason: "VolumeUnavailable", words: 'pool "loose"' };
      await untilTold(stage, () => toldOfVolume(stage, away.claim.volume), unavailable);
      await stage.until("no room in a pool that is missing", async () => {
        expect(await roomFor(stage, "loose", "node-1")).toBe(0);
      });
      expect([await filesIn(place), await runsAgain(away)]).toEqual([[], false]);
      await lookAtLost(away);
      const rescued = await rescue(stage, pages, { lost: away, pool: "loose", node: "node-2" });
      expect(await inPod(stage, rescued.pod, "cat /data/own")).toBe("away");

      const swapped = await makeDisk(owner, { node: place.node, name: "swapped" }, { filesystem: "xfs", size: "400M" });
      await mountDisk(place, swapped);
      await untilReadiness(stage, "node-1", "loose is");
      expect([await filesIn(place), await runsAgain(away)]).toEqual([[], false]);

      await unmountDisk(place);
      await mountDisk(place, stage.disk("node-1", "loose"));
      await untilAttached(away);
      await restartKubelet(stage, "node-1");
      await untilOwn(away);
      await endUses(stage, stays, byHand, away, rescued);
    });
  });

  describe.concurrent("a node whose Node object is deleted, and that comes back with an empty disk", () => {
    it("has the volumes of its other disk, makes nothing anew for those that exist, and begins anew when it is forgotten", async () => {
      const node = "node-2";
      const whole = await runUse(stage, { node, isKept: true, name: "whole" });
      const lost = await runUse(stage, { node, isKept: true, name: "lost", storageClass: "loose" });
      const givenUp = await runUse(stage, { node, isKept: true, name: "given-up", storageClass: "loose" });
      for (const { pod } of [whole, lost]) await inPod(stage, pod, `echo ${pod.name} > /data/own; sync`);
      const place = { node: stage.node(node), pool: "loose" };

      await comeBackEmpty(stage, node, [whole, lost, givenUp]);

      await untilOwn(whole);
      const unavailable = { reason: "VolumeUnavailable", words: 'pool "loose"' };
      await untilTold(stage, () => toldOfVolume(stage, lost.claim.volume), unavailable);
      await stage.until("a volume without data in the runbook", async () => {
        const shown = await pages.look("MooringLocalVolumesUnavailable", { node, pool: "loose" });
        expect(shown).toMatch(new RegExp(`^volume without data .*${lost.claim.volume}`, "m"));
      });
      await untilUnavailable(node, 2);
      await giveUp(stage, pages, givenUp);
      await untilUnavailable(node, 1);
      await askInVain(stage, { name: "fresh", storageClass: "loose", node });
      expect([await runsAgain(lost), isUsed(place)]).toEqual([false, false]);

      await expect(pages.follow("npm run -s local -- forget NODE --yes", { node })).rejects.toThrow("exists");
      await endUses(stage, whole);
      await forget(stage, pages, node);
      expect(stage.volumes(lost.claim.volume).at(-1)?.value).toBe("gone");
      expect(isUsed(place)).toBe(false);
      // A kubelet makes its Node object at its start only.
      await place.node.kubelet.restart();

      const fresh = await untilUse(stage, "fresh");
      expect([fresh.pod.node, await filesIn(place)]).toEqual([node, [`${fresh.claim.volume}.img`]]);
      await endUses(stage, fresh);
    });
  });

  describe.concurrent("an image whose PersistentVolume is gone", () => {
    it("is reported and kept, can be read by hand, and gets a PersistentVolume again", async () => {
      const node = "node-1";
      const kept = await runUse(stage, { name: "kept", node });
      const { volume } = kept.claim;
      await inPod(stage, kept.pod, "echo kept > /data/own; sync");
      await leaveImage(stage, kept);

      await stage.until("the orphan in the runbook", async () => {
        const shown = await pages.look("MooringImagesOrphaned", { node, volume });
        expect(shown).toMatch(new RegExp(`^image without volume .*${volume}`, "m"));
      });
      expect(await readByHand(stage, pages, { node, volume, file: "own" })).toBe("kept");
      const claim = await restoreByHand(stage, pages, { node, volume, storageClass: "ext4" });
      await makePod(stage, { name: "restored", claim: claim.name });
      const pod = await untilRunning(stage, "restored");

      expect(await inPod(stage, pod, "cat /data/own")).toBe("kept");
      await changeClaim(stage, claim, sized("48Mi"));
      await stage.until("a claim that is told of its growth", async () => {
        expect(
          JSON.stringify(await stage.api.get("/api/v1/namespaces/default/persistentvolumeclaims/restored")),
        ).toMatch(MAY_RESIZE_EXT4 ? /"capacity":\{"storage":"48Mi"/ : /FileSystemResizePending/);
      });
      await setPolicy(stage, volume, "Delete");
      await endUses(stage, { claim, pod });
      expect(await filesIn({ node: stage.node(node), pool: "default" })).not.toContain(`${volume}.img`);
    });
  });
}

/** What runbooks show of a pool that is missing, as soon as the provisioner that has just started has told of it. */
async function lookAtLost({ claim }: Use): Promise<void> {
  const meant = { node: "node-1", pool: "loose" } as const;
  const shown = {
    MooringPoolLost: /^node-1 +loose +missing +0 .*loose is lost: its folder/ms,
    MooringLocalVolumesUnavailable: new RegExp(`^volume without data .*${claim.volume}`, "m"),
    MooringProvisionerNotReady: /loose is lost: its folder/,
  };
  for (const [runbook, cause] of Object.entries(shown))
    await stage.until(runbook, async () => expect(await pages.look(runbook, meant)).toMatch(cause));
}

/** Waits until the kubelet of the node could mount the volume. */
async function untilAttached({ claim: { volume }, pod }: Use): Promise<void> {
  await stage.until(`the link of ${volume}`, async () => {
    expect([...(await linksOn(stage.node(pod.node))).keys()]).toContain(volume);
  });
}

/** Waits until a provisioner counts so many volumes without their data. */
async function untilUnavailable(node: NodeName, count: number): Promise<void> {
  await stage.until(`${count} unavailable volumes`, async () => {
    expect(await metricOf(stage, node, "mooring_unavailable_volumes")).toBe(count);
  });
}

/** Whether the container of a pod runs after the boot. */
async function runsAgain({ pod }: Use): Promise<boolean> {
  const { status } = v.parse(startedPod, await stage.api.get(`${PODS}/${pod.name}`));
  return status.containerStatuses.some(({ ready, restartCount }) => ready && restartCount > 0);
}

/** Waits until a pod runs again, and reads in it what it wrote before. */
async function untilOwn(use: Use): Promise<void> {
  await stage.until(`${use.pod.name} runs again`, async () => {
    if (!(await runsAgain(use))) throw new HarnessError(`it does not: ${lastOf(stage, use.pod.uid)}`);
  });
  expect(await inPod(stage, use.pod, "cat /data/own")).toBe(use.pod.name);
}
