import { rolledOut, WORKLOADS } from "../../../image/rollout.ts";
import { HarnessError } from "../../../rig/process/errors.ts";
import { kubectl } from "../../kubectl.ts";
import { makeClaim } from "../claims.ts";
import { endOfUse } from "../last-use.ts";
import { makePod } from "../pods.ts";
import { type Scenario, type Truth, UNMOUNTED_UNSCANNED } from "../scenario.ts";
import type { NodeName, Stage } from "../stage.ts";
import { untilCondition } from "./conditions.ts";
import { setVariables } from "./mooring.ts";

const [, AGENT] = WORKLOADS;
const NODE: NodeName = "node-2";
/** The longest that an agent takes. */
const DEBOUNCE_MS = 5_000;
/** For so much longer than an agent takes, nothing has changed when a use begins. */
const QUIET_MS = 1_000;
/** So often a use may turn out to be too long. */
const MAX_USES = 3;

/** Uses that are over before an agent reads the mount table. */
export const BRIEF_USES: readonly Scenario[] = [
  {
    // Of the mount nothing is known, but of the pod: its end is dated by the first scan that begins after it. Two scans may each wait for a
    // debounce by then: the one that the mount asked for, and the one that the pod's end asks for where that one has begun.
    name: "a pod that mounts and ends within one debounce",
    expected: UNMOUNTED_UNSCANNED,
    play: (stage, first) =>
      withLongDebounce(stage, async () => {
        const { claim, ...truth } = await briefUse(stage, first);
        await untilCondition(stage, claim, { by: "mooring", status: "True", reason: "Unmounted" });
        return { ...truth, claim, waitsMs: 2 * DEBOUNCE_MS };
      }),
  },
];

/**
 * A use so short that no scan lies in it. A kubelet to which something fails while a pod starts or ends comes back to that pod after 10 to
 * 15 s (`backOffPeriod` in its pod_workers.go): that use was long, which is nobody's fault, and another claim has to be used. One that is long
 * only because the machine made everybody wait is as good, but for a scan that may lie in it.
 */
async function briefUse(stage: Stage, first: string): Promise<Truth & { readonly claim: string }> {
  for (let use = 1; ; use += 1) {
    const claim = use === 1 ? first : `use-${use}-of-${first}`;
    const volume = await makeClaim(stage, claim, { kind: "csi", driver: "plain" });
    await untilQuiet(stage);
    const beganMs = stage.owner.clock.wallMs();
    const pod = await makePod(stage, { name: claim, node: NODE, claim, line: "true" });
    const truth = await endOfUse(stage, volume, [pod]);
    const mountedMs = firstMount(stage, beganMs);
    const [tookMs, starvedMs] = [truth.byMs - mountedMs, stage.starvation(mountedMs, truth.byMs)];
    // The read of what changed before may be as late as the machine made everybody wait, and lie in the use.
    const lateMs = stage.starvation(mountedMs - DEBOUNCE_MS - QUIET_MS, truth.byMs);
    const isDrawnOut = tookMs >= DEBOUNCE_MS || lateMs >= QUIET_MS;
    if (tookMs - starvedMs < DEBOUNCE_MS) return { ...truth, claim, isDrawnOut };
    const what = `${tookMs} ms from the first mount of ${claim} to the volume's unmount, ${starvedMs} of them for want of the machine`;
    if (use === MAX_USES) throw new HarnessError(what);
    stage.owner.say(`${what}: not brief, another claim is used`);
  }
}

/** Does something while agents wait as long as they can before they read; they are as before afterwards. */
async function withLongDebounce<T>(stage: Stage, action: () => Promise<T>): Promise<T> {
  await setVariables(stage, AGENT, `MOORING_DEBOUNCE=${DEBOUNCE_MS / 1000}s`);
  try {
    await rolledOut(stage.cluster);
    return await action();
  } finally {
    await kubectl(stage.cluster, "rollout", "undo", `--namespace=${AGENT.namespace}`, AGENT.workload);
    await rolledOut(stage.cluster);
  }
}

/** Waits until the agent has read what the last change of the node's mounts made of them: the next change begins a wait of its own. */
async function untilQuiet({ owner, mounts, until }: Stage): Promise<void> {
  await until(`quiet mounts on ${NODE}`, () => {
    const changes = mounts(NODE).flatMap((line) => ("by" in line ? [line.by.wallMs] : []));
    const quietMs = owner.clock.wallMs() - Math.max(...changes);
    if (quietMs < DEBOUNCE_MS + QUIET_MS) throw new HarnessError(`they have not changed for ${quietMs} ms`);
  });
}

/** The first change of the node's mounts that the kernel told since a moment. */
function firstMount({ mounts }: Stage, beganMs: number): number {
  const changes = mounts(NODE).flatMap((line) =>
    "by" in line && line.by.wallMs >= beganMs ? [line.after.wallMs] : [],
  );
  return Math.min(...changes);
}
