import { rolledOut, WORKLOADS } from "../../../image/rollout.ts";
import { HarnessError } from "../../../process/errors.ts";
import { kubectl } from "../../kubectl.ts";
import { makeClaim } from "../claims.ts";
import { endOfUse } from "../last-use.ts";
import { makePod } from "../pods.ts";
import { type Scenario, type Truth, UNMOUNTED_UNSEEN } from "../scenario.ts";
import type { NodeName, Stage } from "../stage.ts";
import { setVariables } from "./mooring.ts";
import { untilSaid } from "./words.ts";

const [, AGENT] = WORKLOADS;
const NODE: NodeName = "node-2";
/** The longest that an agent takes. */
const DEBOUNCE_MS = 5_000;

/** Uses that are over before an agent reads the mount table. */
export const BRIEF_USES: readonly Scenario[] = [
  {
    // Of the mount nothing is known, but of the pod: its end is dated by the first read that begins after it. Two reads may each wait for a
    // debounce by then: the one that the mount asked for, and the one that the pod's end asks for while that one is under way. Where reads are
    // slow, as on a machine that has too much to do, an agent rests for ten times as long as they take: a third one makes room for that.
    name: "a pod that mounts and ends within one debounce",
    expected: UNMOUNTED_UNSEEN,
    play: (stage, claim) =>
      withLongDebounce(stage, async () => {
        const volume = await makeClaim(stage, claim, { kind: "csi", driver: "plain" });
        await untilQuiet(stage);
        const beganMs = stage.owner.clock.wallMs();
        const pod = await makePod(stage, { name: claim, node: NODE, claim, line: "true" });
        const truth = await endOfUse(stage, volume, [pod]);
        requireBrief(stage, beganMs, truth);
        await untilSaid(stage, claim, { by: "mooring", status: "True", reason: "Unmounted" });
        return { ...truth, outageUntilMs: truth.byMs + 3 * DEBOUNCE_MS };
      }),
  },
];

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
    if (quietMs < DEBOUNCE_MS + 1_000) throw new HarnessError(`they have not changed for ${quietMs} ms`);
  });
}

/** Throws a HarnessError unless the end came so soon after the first that the kernel told since a moment that no read lies between. */
function requireBrief({ mounts }: Stage, beganMs: number, { byMs }: Truth): void {
  const changes = mounts(NODE).flatMap((line) =>
    "by" in line && line.by.wallMs >= beganMs ? [line.after.wallMs] : [],
  );
  const tookMs = byMs - Math.min(...changes);
  if (tookMs >= DEBOUNCE_MS)
    throw new HarnessError(`it took ${tookMs} ms from the pod's first mount to the volume's unmount`);
}
