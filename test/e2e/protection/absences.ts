import { withoutAgent, withoutAggregators } from "../scenarios/failures/away.ts";
import { deleteNode } from "../scenarios/failures/deleted-nodes.ts";
import { freezeKubelet } from "../scenarios/failures/kubelet.ts";
import { deletePod } from "../scenarios/pods.ts";
import type { NodeName } from "../scenarios/stage.ts";
import {
  deleteClaim,
  endingOf,
  endOfMounts,
  pathOf,
  requireHeld,
  untilGone,
  untilKept,
  untilWrittenAfter,
} from "./claims.ts";
import type { ProtectionStage } from "./stage.ts";
import { forceDelete, hangUnmount, runHolder, runKeptWriter, type Use } from "./stories.ts";
import type { Ending } from "./verdict.ts";

/** A claim that was deleted while something was away, and when that was back, wall clock. */
export interface Absence {
  readonly use: Use;
  readonly ending: Ending;
  readonly backMs: number;
}

/** A kubelet hangs until a check does not throw any more, while its pod is deleted by force and the claim, too. */
export async function whileKubeletHangs(
  stage: ProtectionStage,
  { name, node }: { readonly name: string; readonly node: NodeName },
  check: (use: Use) => void,
): Promise<Absence> {
  const use = await runKeptWriter(stage, { name, node });
  {
    using _frozen = freezeKubelet(stage, node);
    await deleteBoth(stage, use);
    await stage.until(`what is expected of ${name}`, () => check(use));
    await requireHeld(stage, use.claim);
    await untilWrittenAfter(stage, use.claim, stage.owner.clock.wallMs());
  }
  return await ended(stage, use);
}

/** The same, and its Node object is deleted. */
export async function whileNodeIsDeleted(
  stage: ProtectionStage,
  { name, node }: { readonly name: string; readonly node: NodeName },
): Promise<Absence> {
  const use = await runKeptWriter(stage, { name, node });
  {
    using _frozen = freezeKubelet(stage, node);
    await deleteNode(stage, node);
    await deleteBoth(stage, use);
    await untilWrittenAfter(stage, use.claim, stage.owner.clock.wallMs());
  }
  // A kubelet makes its Node object at its start only.
  await stage.node(node).kubelet.restart();
  return await ended(stage, use);
}

/** A pod ends, and its claim is deleted, while the node has no agent. */
export async function whileAgentIsAway(
  stage: ProtectionStage,
  { name, node }: { readonly name: string; readonly node: NodeName },
): Promise<Absence> {
  const use = await runHolder(stage, { name, node });
  await untilKept(stage, use.claim);
  const backMs = await withoutAgent(stage, node, async () => {
    await deletePod(stage, use.pod);
    await deleteClaim(stage, use.claim);
    await endOfMounts(stage, use.claim);
    await requireHeld(stage, use.claim);
    return stage.owner.clock.wallMs();
  });
  return { ...(await ended(stage, use)), backMs };
}

/**
 * There is no aggregator while one claim is unmounted, and another one goes by its override although it is mounted on the other node: so both
 * nodes have something to tell the next leader, and it need not wait for a heartbeat.
 */
export async function whileAggregatorsAreAway(
  stage: ProtectionStage,
  { name, node, other: elsewhere }: { readonly name: string; readonly node: NodeName; readonly other: NodeName },
): Promise<Absence & { readonly overridden: Pick<Ending, "goneMs" | "unmounted"> }> {
  const use = await runKeptWriter(stage, { name, node });
  const other = await runKeptWriter(stage, { name: `${name}-overridden`, node: elsewhere });
  const release = hangUnmount(stage, other);
  const goneMs = await withoutAggregators(stage, async () => {
    await deleteBoth(stage, use);
    await deleteBoth(stage, other);
    await endOfMounts(stage, use.claim);
    await requireHeld(stage, use.claim);
    await override(stage, other);
    const overriddenMs = await untilGone(stage, other.claim);
    await requireHeld(stage, use.claim);
    return overriddenMs;
  });
  const backMs = stage.owner.clock.wallMs();
  release();
  const unmounted = await endOfMounts(stage, other.claim);
  return { ...(await ended(stage, use)), backMs, overridden: { goneMs, unmounted } };
}

/** Deletes a pod by force and its claim, and waits until Kubernetes was told no. */
async function deleteBoth(stage: ProtectionStage, use: Use): Promise<void> {
  await forceDelete(stage, use);
  await deleteClaim(stage, use.claim);
  await requireHeld(stage, use.claim);
}

async function override({ api }: ProtectionStage, { claim }: Use): Promise<void> {
  const annotations = { "mooring.dev/force-release": `${claim.uid.slice(0, 8)} it is a test` };
  await api.patch(pathOf(claim), { metadata: { annotations } });
}

async function ended(stage: ProtectionStage, use: Use): Promise<Absence> {
  const backMs = stage.owner.clock.wallMs();
  return { use, backMs, ending: await endingOf(stage, use.claim) };
}
