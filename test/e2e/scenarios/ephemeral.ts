import * as v from "valibot";
import { claimObject, STORAGE_PATHS } from "../../rig/csi/objects.ts";
import { HarnessError } from "../../rig/process/errors.ts";
import { type MadePod, makePod } from "./pods.ts";
import { type NodeName, ON_DEMAND, type Stage } from "./stage.ts";

const bound = v.object({ spec: v.object({ volumeName: v.optional(v.string(), "") }) });

/**
 * Makes a pod with a generic ephemeral claim of this name, which has to end with the name of the pod's volume, and waits for the
 * volume that is made for it.
 */
export async function makeEphemeral(
  stage: Stage,
  claim: string,
  { node, line }: { readonly node: NodeName; readonly line?: string },
): Promise<{ readonly pod: MadePod; readonly volume: string }> {
  const { spec } = claimObject({ name: claim }, { storageClassName: ON_DEMAND });
  const volume = { ephemeral: { volumeClaimTemplate: { spec } } };
  const pod = await makePod(stage, { name: claim.replace(/-data$/, ""), node, volume, ...(line && { line }) });
  let name = "";
  await stage.until(`the volume of ${claim}`, async () => {
    const path = `${STORAGE_PATHS.claims("default")}/${claim}`;
    name = v.parse(bound, await stage.api.get(path)).spec.volumeName;
    if (name === "") throw new HarnessError("it has none");
  });
  return { pod, volume: name };
}
