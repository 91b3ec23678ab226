import { rolledOut, WORKLOADS } from "../../../image/rollout.ts";
import { makeClaim } from "../claims.ts";
import { endOfUse } from "../last-use.ts";
import { deletePod, runPod } from "../pods.ts";
import { type Scenario, type Truth, UNMOUNTED } from "../scenario.ts";
import { NODES, type Stage } from "../stage.ts";
import { untilMounted } from "./conditions.ts";
import { agentOn, setVariables, untilSighted } from "./mooring.ts";

/** All of Mooring is replaced at once, as by an upgrade. What is told of claims whose use was over before must not move by it. */
export const UPGRADES: readonly Scenario[] = [
  {
    name: "a pod that ends in the middle of an upgrade of all agents and aggregators",
    expected: UNMOUNTED,
    play: async (stage, claim) => {
      const volume = await makeClaim(stage, claim, { kind: "csi", driver: "attached" });
      const pod = await runPod(stage, { name: claim, node: "node-1", claim });
      await untilMounted(stage, claim);
      const end = async (): Promise<Truth> => {
        await deletePod(stage, pod);
        return await endOfUse(stage, volume, [pod]);
      };
      const [outageUntilMs, truth] = await Promise.all([upgrade(stage, "middle"), end()]);
      return { ...truth, outageUntilMs };
    },
  },
  {
    // Nothing of it was missed: the time is as exact as on any day.
    name: "a pod that runs through an upgrade and ends after it",
    expected: UNMOUNTED,
    play: async (stage, claim): Promise<Truth> => {
      const volume = await makeClaim(stage, claim, { kind: "csi", driver: "attached" });
      const pod = await runPod(stage, { name: claim, node: "node-2", claim });
      await untilMounted(stage, claim);
      await upgrade(stage, "through");
      await deletePod(stage, pod);
      return await endOfUse(stage, volume, [pod]);
    },
  },
];

/** Replaces every pod of Mooring's; answers when every new agent had read its node's mount table, wall clock. */
async function upgrade(stage: Stage, version: string): Promise<number> {
  // A variable that nobody reads makes another template.
  for (const workload of WORKLOADS) await setVariables(stage, workload, `UPGRADED_TO=${version}`);
  await rolledOut(stage.cluster);
  const sighted = await Promise.all(NODES.map((node) => untilSighted(stage, () => agentOn(stage, node))));
  return Math.max(...sighted);
}
