import * as v from "valibot";
import { HarnessError } from "../../../rig/process/errors.ts";
import { makeClaim } from "../claims.ts";
import { endOfUse } from "../last-use.ts";
import { deletePod, runPod, untilPhase } from "../pods.ts";
import { type Scenario, UNMOUNTED } from "../scenario.ts";
import type { NodeName, Stage } from "../stage.ts";
import { requireMounted, untilCondition, untilMounted } from "./conditions.ts";
import { listOf, nodeWithoutLeader } from "./mooring.ts";
import { runStubborn, untilWrittenAfter } from "./stubborn.ts";

const HANG_MS = 30_000;

/** The kubelet is late, away, or misled by its driver. */
export const KUBELET_FAILURES: readonly Scenario[] = [
  {
    name: "a pod deleted by force whose container ignores SIGTERM",
    expected: UNMOUNTED,
    play: async (stage, claim) => {
      const pod = await runStubborn(stage, claim, { node: "node-1", grace: 8 });
      await deletePod(stage, pod, 0);
      const { seenMs } = await untilCondition(stage, claim, { by: "kubernetes", status: "True" });
      await untilWrittenAfter(stage, pod, seenMs + 500);
      return await endOfUse(stage, pod.volume, [pod]);
    },
  },
  {
    name: "a frozen kubelet while the pod is deleted by force",
    expected: UNMOUNTED,
    play: async (stage, claim) => {
      // Through a frozen kubelet nobody reaches the leader's lists.
      const node = await nodeWithoutLeader(stage);
      const pod = await runStubborn(stage, claim, { node });
      {
        using _frozen = freezeKubelet(stage, node);
        await deletePod(stage, pod, 0);
        const { seenMs } = await untilCondition(stage, claim, { by: "kubernetes", status: "True" });
        await untilWrittenAfter(stage, pod, seenMs + 3_000);
        requireMounted(stage, claim);
        await requireUnusedWhileMounted(stage, claim);
      }
      return await endOfUse(stage, pod.volume, [pod]);
    },
  },
  {
    name: "a driver that hangs for 30 s when it is to unmount the volume of a pod that is done",
    expected: UNMOUNTED,
    play: async (stage, claim) => {
      const volume = await makeClaim(stage, claim, { kind: "csi", driver: "attached" });
      const hang = { kind: "hang", forMs: HANG_MS } as const;
      stage.driver("attached", "node-1").misbehave({ call: "NodeUnpublishVolume", volume, effect: hang });
      const pod = await runPod(stage, { name: claim, node: "node-1", claim, line: "sleep 2" });
      await untilPhase(stage, pod, "Succeeded");
      await stage.until("the warning of it", () => requireWarning(stage, claim));
      return await endOfUse(stage, volume, [pod]);
    },
  },
  {
    name: "a kubelet that is started anew while the pod runs",
    expected: UNMOUNTED,
    play: async (stage, claim) => {
      const volume = await makeClaim(stage, claim, { kind: "csi", driver: "attached" });
      const pod = await runPod(stage, { name: claim, node: "node-2", claim });
      await untilMounted(stage, claim);
      const beganMs = stage.owner.clock.wallMs();
      await stage.node("node-2").kubelet.restart();
      // The kubelet finds the mounts of its earlier run and has them made once more.
      await stage
        .driver("attached", "node-2")
        .until(
          `a further mount of ${claim}`,
          (line) =>
            line.kind === "call-ended" &&
            line.call === "NodePublishVolume" &&
            line.volume === volume &&
            line.at.wallMs > beganMs,
        );
      requireMounted(stage, claim);
      await deletePod(stage, pod);
      return await endOfUse(stage, volume, [pod]);
    },
  },
];

/** Until it is disposed of. */
export function freezeKubelet(stage: Stage, node: NodeName): Disposable {
  const { kubelet } = stage.node(node);
  kubelet.freeze();
  return { [Symbol.dispose]: () => kubelet.thaw() };
}

const claims = v.array(v.object({ name: v.string(), unusedWhileMounted: v.boolean() }));

/** Throws a HarnessError unless Mooring lists the claim as one that Kubernetes is wrong about. */
async function requireUnusedWhileMounted(stage: Stage, claim: string): Promise<void> {
  const listed = v.parse(claims, await listOf(stage, `/v1/claims?name=${claim}`));
  if (!listed.some(({ unusedWhileMounted }) => unusedWhileMounted))
    throw new HarnessError(`${claim} is not listed as unused while mounted`);
}

const warnings = v.object({
  items: v.array(v.object({ reason: v.string(), regarding: v.object({ name: v.optional(v.string()) }) })),
});

/** Throws a HarnessError unless an event on the claim says that Kubernetes calls it unused while it is mounted. */
async function requireWarning({ api }: Stage, claim: string): Promise<void> {
  const { items } = v.parse(warnings, await api.get("/apis/events.k8s.io/v1/namespaces/default/events"));
  const isTold = items.some(({ reason, regarding }) => reason === "UnusedWhileMounted" && regarding.name === claim);
  if (!isTold) throw new HarnessError("there is no such event");
}
