import * as v from "valibot";
import { HarnessError } from "../../rig/process/errors.ts";
import { REASON } from "../affinity/verdict.ts";
import { placeFirst, removeReplicaSet } from "../affinity/workloads.ts";
import { endOfUse } from "../scenarios/last-use.ts";
import { UNMOUNTED } from "../scenarios/scenario.ts";
import type { NodeName } from "../scenarios/stage.ts";
import { judge, PUBLISHED_LIMIT_MS } from "../scenarios/verdict.ts";
import { deleteClaim, type MadeClaim, makeClaim, untilClaim, untilClaimGone } from "./claims.ts";
import type { Use } from "./pods.ts";
import type { ProvisionerStage } from "./stage.ts";
import { endPod } from "./stories.ts";

const PODS = "/api/v1/namespaces/default/pods";

const pods = v.object({
  items: v.array(
    v.object({
      metadata: v.object({ name: v.string(), uid: v.string() }),
      spec: v.object({ nodeName: v.optional(v.string()) }),
      status: v.object({ phase: v.string(), reason: v.optional(v.string()) }),
    }),
  ),
});
type SeenPod = v.InferOutput<typeof pods>["items"][number];

/** Waits until Mooring says that a claim is mounted. */
export async function untilMounted(stage: ProvisionerStage, claim: MadeClaim): Promise<void> {
  await untilClaim(stage, claim, { what: "mounted", holds: ({ unused }) => unused === "Mounted" });
}

/** Ends the pod of a use; answers what Mooring says wrongly of that, by the kernel's record. */
export async function faultsOfEnd(stage: ProvisionerStage, use: Use): Promise<readonly string[]> {
  const { name, volume } = use.claim;
  await endPod(stage, use);
  const truth = await endOfUse(stage, volume, [use.pod]);
  const faults = (): readonly string[] =>
    judge({ expected: UNMOUNTED, truth, states: stage.log.states(name), starvation: stage.starvation }).faults;
  const check = (): void => {
    if (faults().length > 0) throw new HarnessError(faults().join("; "));
  };
  // What is still wrong then is the answer.
  await stage.until(`what is expected of ${name}`, check, PUBLISHED_LIMIT_MS).catch(() => {});
  return faults();
}

/** Waits until Kubernetes has let go of a claim that is deleted now: those whose deletion was asked for before had their turn. */
export async function untilLaterClaimGone(stage: ProvisionerStage, name: string): Promise<void> {
  const later = await makeClaim(stage, { name });
  await deleteClaim(stage, later);
  await untilClaimGone(stage, later);
}

/** Puts the first pod of a ReplicaSet on a node by its name; answers that pod once the agent has failed it, and the one that replaces it once that runs. */
export async function misplace(
  stage: ProvisionerStage,
  { claim }: Pick<Use, "claim">,
  on: NodeName,
): Promise<{ readonly failed: SeenPod; readonly next: SeenPod }> {
  const { name } = claim;
  const uid = await placeFirst(stage, { name, claim: name }, on);
  const find = async (what: string, holds: (pod: SeenPod) => boolean): Promise<SeenPod> => {
    let found: SeenPod | undefined;
    await stage.until(what, async () => {
      const { items } = v.parse(pods, await stage.api.get(`${PODS}?labelSelector=app%3D${name}`));
      found = items.find(holds);
      if (found === undefined) throw new HarnessError(JSON.stringify(items));
    });
    if (found === undefined) throw new HarnessError(`there is no pod of ${name}`);
    return found;
  };
  const failed = await find(`a ${name} that is failed`, ({ metadata, status }) => {
    return metadata.uid === uid && status.phase === "Failed" && status.reason === REASON;
  });
  return { failed, next: await find(`a ${name} that runs`, ({ status }) => status.phase === "Running") };
}

/** Ends the pods that were made for a claim. */
export async function endMisplaced(stage: ProvisionerStage, { claim: { name } }: Pick<Use, "claim">): Promise<void> {
  await removeReplicaSet(stage, name);
  await stage.until(`the end of the pods of ${name}`, async () => {
    const { items } = v.parse(pods, await stage.api.get(`${PODS}?labelSelector=app%3D${name}`));
    if (items.length > 0) throw new HarnessError(`there are ${items.length}`);
  });
}
