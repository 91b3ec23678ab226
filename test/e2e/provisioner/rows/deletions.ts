import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { filesIn } from "../../../rig/node/pool-disks.ts";
import { freezeKubelet } from "../../scenarios/failures/kubelet.ts";
import { STUBBORN } from "../../scenarios/failures/stubborn.ts";
import { untilVolume } from "../claims.ts";
import { runUse } from "../pods.ts";
import { killContainer } from "../provisioner-pods.ts";
import {
  copyMounts,
  deleteByForce,
  deviceOf,
  endUses,
  outlasted,
  STUBBORN_BLOCK,
  untilWrittenAfter,
} from "../stories.ts";
import { owner, pages, stage } from "./ground.ts";

/** The provisioner asks each second whether a volume is still in use. */
const GONE_LIMIT_MS = 2_000;

/** Rows about deletions while something holds a volume, or a container is killed. */
export function deletionRows(): void {
  describe("a kubelet that hangs while its pods are deleted by force, and their claims", () => {
    it("images stay until the last unmount, also that of a copy of the mounts, and an event names who holds them", async () => {
      const node = "node-2";
      const forced = await runUse(stage, { name: "forced", node, line: STUBBORN });
      const block = await runUse(stage, { name: "forced-block", node, isBlock: true, line: STUBBORN_BLOCK });
      const copied = await runUse(stage, { name: "copied", node });
      const copy = await copyMounts(stage, copied);
      const uses = [forced, block, copied];
      const images = uses.map(({ claim }) => `${claim.volume}.img`);
      const notes: string[] = [];
      {
        using _frozen = freezeKubelet(stage, node);
        notes.push(...(await Promise.all(uses.map((use) => deleteByForce(stage, use)))));
        await untilWrittenAfter(stage, forced, owner.clock.wallMs());
        expect(await filesIn({ node: stage.node(node), pool: "default" })).toEqual(expect.arrayContaining(images));
      }
      const delays = [await outlasted(stage, forced), await outlasted(stage, block)];
      const held = copied.claim.volume;
      await untilCopyAlone(held);
      const shown = await pages.look("MooringLocalVolumeDeleteStuck", { node, volume: held });
      for (const cause of [`VolumeFailedDelete .*${held}`, "^/dev/loop\\d+ ", `/proc/\\d+/mountinfo:.* /mnt `])
        expect(shown).toMatch(new RegExp(cause, "m"));
      expect(await filesIn({ node: stage.node(node), pool: "default" })).toContain(`${copied.claim.volume}.img`);
      const endedMs = owner.clock.wallMs();
      await copy.kill();
      const goneMs = await untilVolume(stage, copied.claim.volume, "gone");
      delays.push(goneMs - endedMs - stage.starvation(endedMs, goneMs));

      owner.say(`volumes outlasted their last mounts by ${delays.map(Math.round).join(", ")} ms`);
      expect(notes[0]).toContain(`held by pod ${forced.pod.uid}`);
      expect(notes[1]).toMatch(/held by (the loop device|pod)/);
      expect(Math.max(...delays)).toBeLessThan(GONE_LIMIT_MS);
    });
  });

  describe("a container of the provisioner that is killed again and again", () => {
    it.concurrent.each([
      { container: "keeper", node: "node-1" },
      { container: "provisioner", node: "node-2" },
    ] as const)("the $container, leaves nothing and makes nothing twice", async ({ container, node }) => {
      const names = Array.from({ length: 6 }, (_, index) => `${container}-${index}`);
      const uses = Promise.all(names.map((name) => runUse(stage, { name, node, size: "16Mi" })));
      // While it is started again there is nothing to kill.
      const kill = () => stage.until(`a ${container} to kill`, () => killContainer(stage, node, container));
      for (let round = 0; round < 2; round += 1) await kill();

      const made = await uses;
      const devices = made.map(deviceOf);
      const ended = endUses(stage, ...made);
      await kill();
      await ended;

      expect(new Set(devices).size).toBe(names.length);
    });
  });
}

/** Waits until the node itself has the volume nowhere mounted any more. */
async function untilCopyAlone(volume: string): Promise<void> {
  await stage.until("a copy that is the last one", () => {
    expect(readFileSync(`/proc/${stage.node("node-2").pid()}/mountinfo`, "utf8")).not.toContain(volume);
  });
}
