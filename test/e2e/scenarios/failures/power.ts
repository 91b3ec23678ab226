import { HarnessError } from "../../../rig/process/errors.ts";
import { makeClaim } from "../claims.ts";
import { userEnd } from "../last-use.ts";
import { deletePod, type MadePod, runPod } from "../pods.ts";
import { type Scenario, type Truth, UNMOUNTED, UNMOUNTED_UNSCANNED } from "../scenario.ts";
import type { DriverName, NodeName, Stage } from "../stage.ts";
import { untilMounted } from "./conditions.ts";
import {
  agentOn,
  leadingAggregator,
  leaseHolder,
  metricOf,
  nodeWithoutLeader,
  untilLedByAnother,
  untilReporting,
  untilSighted,
} from "./mooring.ts";

/** The longest pause between two heartbeats is 36 s. */
const ACKNOWLEDGED_MS = 40_000;
/**
 * A node is without power for so long at least. Whether a pod ended before a boot or in it is known to a second or two, as the API server
 * tells its time in whole seconds; of one that may have run in it no earlier boot tells the end, but the first scan of that one.
 */
const POWERLESS_MS = 5_000;
const DRIVER_NAMES = ["attached", "plain"] as const satisfies readonly DriverName[];

/** The power of a node is cut while a pod uses its claim there, and the pod is deleted by force. */
export const POWER_FAILURES: readonly Scenario[] = [
  {
    // A reboot unmounts everything, but the kubelet starts the pods of a node again: the first complete scan of the new boot tells.
    name: "a power cut of a node",
    expected: UNMOUNTED_UNSCANNED,
    play: async (stage, claim) => {
      const { node, truth } = await cutPower(stage, claim, await nodeWithoutLeader(stage));
      await boot(stage, node);
      return { ...truth, outageUntilMs: await untilSighted(stage, () => agentOn(stage, node)) };
    },
  },
  {
    // The next leader knows from the claim on which node it was mounted, and neither in which boot nor by whom. So the read counts that
    // the agent there reports first, which is done by the time at which it is told.
    name: "a power cut of the node on which the leading aggregator runs",
    expected: { ...UNMOUNTED, isScanned: undefined },
    play: async (stage, claim) => {
      const holder = await leaseHolder(stage);
      const { node, truth } = await cutPower(stage, claim, (await leadingAggregator(stage)).node);
      await boot(stage, node);
      await untilLedByAnother(stage, holder);
      return { ...truth, outageUntilMs: await untilReporting(stage, () => agentOn(stage, node)) };
    },
  },
];

/** A pod that lost its node. */
export interface CutPod {
  readonly pod: MadePod;
  readonly node: NodeName;
  readonly truth: Truth;
}

/** Runs a pod on a claim of its own, cuts the node's power and deletes the pod by force. */
export async function cutPower(stage: Stage, claim: string, node: NodeName): Promise<CutPod> {
  const pod = await runMounted(stage, claim, node);
  return { pod, node, truth: await cutPowerOf(stage, pod) };
}

/** A pod that had its claim mounted by a moment, wall clock. */
export interface MountedPod extends MadePod {
  readonly mountedMs: number;
}

/** Runs a pod on a claim of its own; Mooring knows that it is mounted. */
export async function runMounted(stage: Stage, claim: string, node: NodeName): Promise<MountedPod> {
  await untilAcknowledged(stage, node);
  await makeClaim(stage, claim, { kind: "csi", driver: "plain" });
  const pod = await runPod(stage, { name: claim, node, claim });
  const mountedMs = stage.owner.clock.wallMs();
  await untilMounted(stage, claim);
  return { ...pod, mountedMs };
}

/**
 * Waits until the node's journal has nothing of earlier scenarios to tell: after a power cut it would be told anew and dated by the next
 * boot, later than it was. Answers to heartbeats acknowledge; what is not by then is judged by the end of all scenarios.
 */
async function untilAcknowledged(stage: Stage, node: NodeName): Promise<void> {
  const check = async (): Promise<void> => {
    const count = await metricOf(stage, await agentOn(stage, node), "mooring_unmount_records_unacknowledged");
    if (count !== 0) throw new HarnessError(`${count} releases are not acknowledged`);
  };
  await stage.until(`the acknowledgements of ${node}`, check, ACKNOWLEDGED_MS).catch(() => {});
}

/** Cuts the power of a pod's node and deletes the pod by force; answers when its use ended. */
export async function cutPowerOf(stage: Stage, pod: MountedPod): Promise<Truth> {
  const { clock } = stage.owner;
  const afterMs = clock.wallMs();
  await stage.node(pod.node).kill();
  const end = { afterMs, byMs: clock.wallMs() };
  await deletePod(stage, pod, 0);
  return { ...end, users: [userEnd(pod, { ...end, beganMs: pod.mountedMs })] };
}

/** Boots a node that has lost its power, with its drivers and oracle. */
export async function boot(stage: Stage, name: NodeName): Promise<void> {
  await stage.owner.clock.sleep(POWERLESS_MS, stage.owner.signal);
  await stage.node(name).start();
  await stage.watchMounts(name);
  for (const driver of DRIVER_NAMES.map((one) => stage.driver(one, name))) {
    await driver.start();
    await driver.registered();
  }
}
