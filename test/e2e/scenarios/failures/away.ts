import * as v from "valibot";
import { rolledOut, WORKLOADS } from "../../../image/rollout.ts";
import { HarnessError } from "../../../rig/process/errors.ts";
import { kubectl } from "../../kubectl.ts";
import { makeClaim } from "../claims.ts";
import { endOfUse } from "../last-use.ts";
import { deletePod, runPod } from "../pods.ts";
import { type Scenario, UNMOUNTED, UNMOUNTED_UNSCANNED } from "../scenario.ts";
import { NODES, type NodeName, type Stage } from "../stage.ts";
import { requireMounted, untilCondition, untilMounted } from "./conditions.ts";
import { agentOn, untilReporting, untilSighted } from "./mooring.ts";
import { boot, cutPowerOf, runMounted } from "./power.ts";

const [AGGREGATOR, AGENT] = WORKLOADS;
const REPLICAS = 2;
const DAEMON_SET = `/apis/apps/v1/namespaces/${AGENT.namespace}/daemonsets/mooring-agent`;
/** A node that bears it keeps its agent, as long as agents ask for it. */
const LABEL = "mooring.test/agent";
/** Longer than a node without a report counts as one that reports (`--node-stale-after`), and than Kubernetes waits for a kubelet. */
const AWAY_MS = 100_000;

/**
 * An unobserved time a node: neither a replica nor its agent, before its boot. Whatever could have been used there counts as used
 * until the boot, so this moves the times of all claims that were idle before: it is to be played first.
 */
export const UNWATCHED_BOOT: readonly Scenario[] = [
  {
    // Nobody who has seen the mount is left, but for what the claim itself and the node's disk say: it was in a boot that is over.
    // Whose it was gets lost: until the agent's first scan it may have been anybody's.
    name: "a node that boots anew, with another boot ID, while there is no aggregator",
    expected: { ...UNMOUNTED, isScanned: undefined },
    play: async (stage, claim) => {
      const node = "node-2";
      const bootId = stage.node(node).bootId();
      const pod = await runMounted(stage, claim, node);
      const truth = await withoutAggregators(stage, async () => {
        const end = await cutPowerOf(stage, pod);
        await boot(stage, node);
        return end;
      });
      if (stage.node(node).bootId() === bootId) throw new HarnessError("the boot ID is the one before");
      return { ...truth, outageUntilMs: await untilReporting(stage, () => agentOn(stage, node)) };
    },
  },
];

/**
 * Parts of Mooring that are away for long, and what goes on without them. Of hours only a simulation can tell: the wall clock is the whole
 * machine's, and nobody may turn it.
 */
export const ABSENCES: readonly Scenario[] = [
  {
    // No read ever showed the mount. The pod was seen, so the first complete scan after its end is what is known.
    name: "an agent that is away for the whole of a use",
    expected: UNMOUNTED_UNSCANNED,
    play: async (stage, claim) => {
      const node = "node-1";
      const volume = await makeClaim(stage, claim, { kind: "csi", driver: "plain" });
      const truth = await withoutAgent(stage, node, async () => {
        const pod = await runPod(stage, { name: claim, node, claim });
        await untilCondition(stage, claim, { by: "mooring", status: "False", reason: "Referenced" });
        await deletePod(stage, pod);
        return await endOfUse(stage, volume, [pod]);
      });
      return { ...truth, outageUntilMs: await untilSighted(stage, () => agentOn(stage, node)) };
    },
  },
  {
    // Agents tell how long ago it was: published late, the time is no later than ever.
    name: "no aggregator for longer than anything waits, and a use that ends at the begin of that",
    expected: UNMOUNTED,
    play: async (stage, claim) => {
      const volume = await makeClaim(stage, claim, { kind: "csi", driver: "attached" });
      const pod = await runPod(stage, { name: claim, node: "node-2", claim });
      await untilMounted(stage, claim);
      return await withoutAggregators(stage, async () => {
        const goneMs = stage.owner.clock.wallMs();
        await deletePod(stage, pod);
        const truth = await endOfUse(stage, volume, [pod]);
        await stage.owner.clock.sleep(goneMs + AWAY_MS - stage.owner.clock.wallMs(), stage.owner.signal);
        requireMounted(stage, claim);
        return truth;
      });
    },
  },
];

/** Does something while a node has no agent; it is on its way back afterwards. The other agents are left alone. */
export async function withoutAgent<T>(stage: Stage, node: NodeName, action: () => Promise<T>): Promise<T> {
  const { api } = stage;
  const label = (name: NodeName, value: string | null): Promise<void> =>
    api.patch(`/api/v1/nodes/${name}`, { metadata: { labels: { [LABEL]: value } } });
  const others = NODES.filter((name) => name !== node);
  for (const name of others) await label(name, "stays");
  const { updateStrategy: usual } = v.parse(strategy, await api.get(DAEMON_SET)).spec;
  // With OnDelete a changed template replaces nobody; it only decides where agents belong.
  const choose = (value: string | null, updateStrategy: object): Promise<void> =>
    api.patch(DAEMON_SET, { spec: { updateStrategy, template: { spec: { nodeSelector: { [LABEL]: value } } } } });
  await choose("stays", { type: "OnDelete", rollingUpdate: null });
  try {
    await stage.until(`the agent's leave of ${node}`, async () => {
      const there = await kubectl(
        stage.cluster,
        ...LIST,
        `--namespace=${AGENT.namespace}`,
        `--field-selector=spec.nodeName=${node}`,
      );
      if (there !== "") throw new HarnessError(`there is ${there}`);
    });
    return await action();
  } finally {
    await choose(null, usual);
    for (const name of others) await label(name, null);
  }
}

const strategy = v.object({ spec: v.object({ updateStrategy: v.looseObject({}) }) });
const LIST = ["get", "pods", "--output=name"] as const;

/** Does something while there is no aggregator; they are back afterwards. */
export async function withoutAggregators<T>(stage: Stage, action: () => Promise<T>): Promise<T> {
  await scaleAggregators(stage, 0);
  try {
    return await action();
  } finally {
    await scaleAggregators(stage, REPLICAS);
  }
}

/** Waits until there are so many aggregators. */
async function scaleAggregators(stage: Stage, replicas: number): Promise<void> {
  const { namespace, workload } = AGGREGATOR;
  await kubectl(stage.cluster, "scale", `--namespace=${namespace}`, workload, `--replicas=${replicas}`);
  if (replicas > 0) return await rolledOut(stage.cluster);
  await stage.until("the end of all aggregators", async () => {
    const there = await kubectl(stage.cluster, ...LIST, `--namespace=${namespace}`);
    if (there !== "") throw new HarnessError(`there is ${there}`);
  });
}
