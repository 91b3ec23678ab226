import { rolledOut, WORKLOADS } from "../../../image/rollout.ts";
import { HarnessError } from "../../../rig/process/errors.ts";
import { kubectl } from "../../kubectl.ts";
import { makeClaim } from "../claims.ts";
import { endOfUse } from "../last-use.ts";
import { deletePod, type MadePod, runPod } from "../pods.ts";
import { type Scenario, UNMOUNTED } from "../scenario.ts";
import { NODES, type Stage } from "../stage.ts";
import { requireMounted, untilCondition, untilMounted } from "./conditions.ts";
import { agentOn, type MooringPod, metricOf, readinessOf, setVariables, untilSighted } from "./mooring.ts";

const [, AGENT] = WORKLOADS;
const MISSING = "own pod's token mount is not in the table";

/** An agent that is shown another mount table than the kubelet's. */
export const BLIND_AGENT_FAILURES: readonly Scenario[] = [
  {
    // The update stops at the first agent that is not ready; that is so with the manifests' update strategy.
    name: "an agent that reads the mount table of its own container",
    expected: UNMOUNTED,
    play: async (stage, claim) => {
      const volume = await makeClaim(stage, claim, { kind: "csi", driver: "plain", accessModes: ["ReadWriteMany"] });
      const pods: MadePod[] = [];
      for (const node of NODES) pods.push(await runPod(stage, { name: `${claim}-${node}`, node, claim }));
      await untilMounted(stage, claim);
      const healthy = await Promise.all(NODES.map((node) => agentOn(stage, node)));
      await setVariables(stage, AGENT, "MOORING_MOUNTINFO=/proc/1/mountinfo");
      const blind = await untilBlind(stage, healthy);
      await Promise.all(pods.map((pod) => deletePod(stage, pod)));
      const truth = await endOfUse(stage, volume, pods);
      await untilCondition(stage, claim, { by: "kubernetes", status: "True" });
      requireMounted(stage, claim);
      await requireSilence(
        stage,
        blind,
        healthy.filter(({ node }) => node !== blind.node),
      );
      await kubectl(stage.cluster, "rollout", "undo", `--namespace=${AGENT.namespace}`, AGENT.workload);
      const sighted = await untilSighted(stage, () => agentOn(stage, blind.node));
      await rolledOut(stage.cluster);
      return { ...truth, outageUntilMs: sighted };
    },
  },
];

/** Waits until one of the agents has been replaced by one that says that it is blind, and why. */
async function untilBlind(stage: Stage, before: readonly MooringPod[]): Promise<MooringPod> {
  let blind: MooringPod | undefined;
  await stage.until("an agent that is blind", async () => {
    const agents = await Promise.all(NODES.map((node) => agentOn(stage, node)));
    const replaced = agents.find(({ uid }) => before.every((one) => one.uid !== uid));
    if (replaced === undefined) throw new HarnessError("no agent has been replaced");
    const { isReady, text } = await readinessOf(stage, replaced);
    if (isReady || !text.includes(MISSING)) throw new HarnessError(text);
    stage.owner.say(text.split("\n")[0] ?? "");
    blind = replaced;
  });
  if (blind === undefined) throw new HarnessError("no agent is blind");
  return blind;
}

/** Throws a HarnessError unless the agent has had no report accepted, and each of the others some. */
async function requireSilence(stage: Stage, blind: MooringPod, others: readonly MooringPod[]): Promise<void> {
  const metric = 'mooring_reports_sent_total{outcome="accepted"}';
  const [none, ...some] = await Promise.all([blind, ...others].map((agent) => metricOf(stage, agent, metric)));
  const isRight = (none ?? 0) === 0 && some.length > 0 && !some.includes(undefined);
  if (!isRight) throw new HarnessError(`${blind.name} had ${none ?? 0} reports accepted, the others ${some.join()}`);
}
