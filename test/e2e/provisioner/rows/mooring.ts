import { describe, expect, it } from "vitest";
import { linksOn } from "../../../rig/node/pool-disks.ts";
import { freezeKubelet } from "../../scenarios/failures/kubelet.ts";
import { STUBBORN } from "../../scenarios/failures/stubborn.ts";
import { NODES } from "../../scenarios/stage.ts";
import { endMisplaced, faultsOfEnd, misplace, untilLaterClaimGone, untilMounted } from "../beside-mooring.ts";
import { deleteClaim, untilVolume } from "../claims.ts";
import { deletePod, runUse } from "../pods.ts";
import { untilUse } from "../race.ts";
import { rollOutProvisioner } from "../rollout.ts";
import { POOLS } from "../stage.ts";
import { endPod, endUses, outlasted, untilWrittenAfter } from "../stories.ts";
import { changeWhileAway, countOf, groundOf, runCounters } from "../updates.ts";
import { owner, stage } from "./ground.ts";

/** The provisioner asks each second whether a volume is still in use. */
const GONE_LIMIT_MS = 2_000;
/** The claim is let go within as long after the unmount, and the volume goes after it. */
const HELD_LIMIT_MS = 2 * GONE_LIMIT_MS;

/** Rows about an update, and about agents and an aggregator beside the provisioner. */
export function mooringRows(): void {
  describe("an update that brings agents and an aggregator, too", () => {
    it("running pods write on, what is claimed meanwhile is served, and what is deleted meanwhile goes", async () => {
      const counters = await runCounters(stage);
      const ending = await Promise.all(NODES.map((node) => runUse(stage, { name: `ends-${node}`, node })));
      const ground = await Promise.all(counters.map((use) => groundOf(stage, use)));

      const update = rollOutProvisioner(owner, stage.cluster, { pools: POOLS, hasMooring: true });
      const changes = ending.map((use) => changeWhileAway(stage, use, `begins-${use.pod.node}`));
      await Promise.all([update, ...changes]);
      const counts = await Promise.all(counters.map((use) => countOf(stage, use)));
      const begun = await Promise.all(NODES.map((node) => untilUse(stage, `begins-${node}`)));
      await Promise.all(ending.map(({ claim }) => untilVolume(stage, claim.volume, "gone")));

      expect(await Promise.all(counters.map((use) => groundOf(stage, use)))).toEqual(ground);
      for (const [index, use] of counters.entries())
        expect(await countOf(stage, use)).toBeGreaterThan(counts[index] ?? Number.NaN);
      await endUses(stage, ...counters, ...begun);
    });
  });

  describe.concurrent("beside agents and an aggregator", () => {
    it.each([
      { name: "seen", what: "folder", node: "node-1", isBlock: false },
      { name: "seen-raw", what: "raw device", node: "node-2", isBlock: true },
    ] as const)(
      "the claim of a volume that a pod has as a $what is Mounted, and then Unmounted since its last unmount",
      async ({ name, node, isBlock }) => {
        const use = await runUse(stage, { name, node, isBlock });

        await untilMounted(stage, use.claim);

        expect(await faultsOfEnd(stage, use)).toEqual([]);
        await deleteClaim(stage, use.claim);
        await untilVolume(stage, use.claim.volume, "gone");
      },
    );

    it("a claim that is deleted while a kubelet hangs stays, bound to its volume, until the unmount", async () => {
      const node = "node-2";
      const use = await runUse(stage, { name: "held", node, line: STUBBORN });
      const { volume } = use.claim;
      await untilMounted(stage, use.claim);
      {
        using _frozen = freezeKubelet(stage, node);
        await deletePod(stage, use.pod, true);
        await deleteClaim(stage, use.claim);
        await untilLaterClaimGone(stage, "after-held");
        await untilWrittenAfter(stage, use, owner.clock.wallMs());
        expect(stage.claims("default/held").at(-1)?.value).toMatchObject({ phase: "Bound", isDeleting: true });
        expect(stage.volumes(volume).at(-1)?.value).toBe("Bound");
      }
      expect(await outlasted(stage, use)).toBeLessThan(HELD_LIMIT_MS);
    });

    it("a pod that somebody put on a node without its volume is failed there, and the next one has the volume", async () => {
      const use = await runUse(stage, { name: "astray", node: "node-1" });
      await endPod(stage, use);

      const { failed, next } = await misplace(stage, use, "node-2");

      expect([failed.spec.nodeName, next.spec.nodeName]).toEqual(["node-2", "node-1"]);
      expect((await linksOn(stage.node("node-2"))).has(use.claim.volume)).toBe(false);
      await endMisplaced(stage, use);
      await deleteClaim(stage, use.claim);
      await untilVolume(stage, use.claim.volume, "gone");
    });
  });
}
