import { rolledOut, WORKLOADS } from "../../../image/rollout.ts";
import { endOfUse } from "../last-use.ts";
import { deletePod } from "../pods.ts";
import { type Scenario, UNMOUNTED, UNMOUNTED_UNSCANNED } from "../scenario.ts";
import type { NodeName, Stage } from "../stage.ts";
import { requireMounted, untilCondition } from "./conditions.ts";
import { freezeKubelet } from "./kubelet.ts";
import { agentOn, nodeWithoutLeader, setVariables, untilSighted } from "./mooring.ts";
import { boot, cutPower } from "./power.ts";
import { runStubborn, untilWrittenAfter } from "./stubborn.ts";

/** Beyond the longest pause between two heartbeats, which is 36 s. */
const NODE_STALE_AFTER_MS = 40_000;
const NODE_GONE_AFTER_MS = 5_000;

/** A Node object is deleted while its kubelet is away. */
export const DELETED_NODE_FAILURES: readonly Scenario[] = [
  {
    // That a Node object is gone says nothing of the node: its agent reports on.
    name: "a Node object deleted while its kubelet is frozen and the container writes on",
    expected: UNMOUNTED,
    play: async (stage, claim) => {
      await giveUpSoon(stage);
      const node = await nodeWithoutLeader(stage);
      const pod = await runStubborn(stage, claim, { node, driver: "plain" });
      {
        using _frozen = freezeKubelet(stage, node);
        const deletedMs = await deleteNode(stage, node);
        await deletePod(stage, pod, 0);
        await untilCondition(stage, claim, { by: "kubernetes", status: "True" });
        await untilWrittenAfter(stage, pod, deletedMs + NODE_GONE_AFTER_MS + 2_000);
        requireMounted(stage, claim);
      }
      // A kubelet makes its Node object at its start only.
      await stage.node(node).kubelet.restart();
      return await endOfUse(stage, pod.volume, [pod]);
    },
  },
  {
    // Assumed as soon as the settings allow; when the node is back, what it then tells replaces the reason, and the time stays.
    name: "a Node object deleted after a power cut, and the node back again",
    expected: UNMOUNTED_UNSCANNED,
    play: async (stage, claim) => {
      await giveUpSoon(stage);
      const { node, truth } = await cutPower(stage, claim, await nodeWithoutLeader(stage));
      const deletedMs = await deleteNode(stage, node);
      await untilCondition(stage, claim, { by: "mooring", status: "True", reason: "NodeGone" });
      await boot(stage, node);
      await untilSighted(stage, () => agentOn(stage, node));
      return { ...truth, waitsMs: Math.max(NODE_STALE_AFTER_MS, deletedMs + NODE_GONE_AFTER_MS - truth.byMs) };
    },
  },
];

/** Tells the aggregators to take nodes for gone after seconds instead of minutes; done again it changes nothing. */
async function giveUpSoon(stage: Stage): Promise<void> {
  const [aggregator] = WORKLOADS;
  await setVariables(
    stage,
    aggregator,
    `MOORING_NODE_STALE_AFTER=${NODE_STALE_AFTER_MS / 1000}s`,
    `MOORING_NODE_GONE_AFTER=${NODE_GONE_AFTER_MS / 1000}s`,
  );
  await rolledOut(stage.cluster);
}

/** Answers when it was deleted at the latest, wall clock. */
export async function deleteNode({ api, owner }: Stage, node: NodeName): Promise<number> {
  await api.remove(`/api/v1/nodes/${node}`);
  return owner.clock.wallMs();
}
