import { HarnessError } from "../../../rig/process/errors.ts";
import { type Author, conditionsBy } from "../claim-states.ts";
import type { Stage } from "../stage.ts";

type Published = ReturnType<typeof conditionsBy>[number];

/** Waits until an author's last condition of a claim is as wanted; returns it. */
export async function untilCondition(
  stage: Stage,
  claim: string,
  wanted: { readonly by: Author; readonly status: "True" | "False"; readonly reason?: string },
): Promise<Published> {
  const { by, status, reason } = wanted;
  const last = (): Published | undefined => conditionsBy(by, stage.log.states(claim)).at(-1);
  let found: Published | undefined;
  await stage.until(`${by} to publish ${status} ${reason ?? ""} of ${claim}`, () => {
    const condition = last();
    const isWanted = condition?.status === status && (reason === undefined || condition.reason === reason);
    if (!isWanted)
      throw new HarnessError(
        condition === undefined ? "no condition is published" : `${condition.status} ${condition.reason}`,
      );
    found = condition;
  });
  if (found === undefined) throw new HarnessError(`${by} publishes no condition of ${claim}`);
  return found;
}

/** Waits until Mooring knows that the claim is mounted. */
export async function untilMounted(stage: Stage, claim: string): Promise<void> {
  await untilCondition(stage, claim, { by: "mooring", status: "False", reason: "Mounted" });
}

/** Throws a HarnessError unless Mooring's last condition says that the claim is mounted. */
export function requireMounted({ log }: Stage, claim: string): void {
  const condition = conditionsBy("mooring", log.states(claim)).at(-1);
  if (condition?.reason !== "Mounted") throw new HarnessError(`${claim} counts as ${condition?.reason ?? "unknown"}`);
}
