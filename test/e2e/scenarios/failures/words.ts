import { HarnessError } from "../../../rig/process/errors.ts";
import { type Author, conditionsBy } from "../claim-states.ts";
import type { Stage } from "../stage.ts";

type Said = ReturnType<typeof conditionsBy>[number];

/** Waits until an author's last condition of a claim is as wanted; returns it. */
export async function untilSaid(
  stage: Stage,
  claim: string,
  wanted: { readonly by: Author; readonly status: "True" | "False"; readonly reason?: string },
): Promise<Said> {
  const { by, status, reason } = wanted;
  const last = (): Said | undefined => conditionsBy(by, stage.log.states(claim)).at(-1);
  let found: Said | undefined;
  await stage.until(`${by} says ${status} ${reason ?? ""} of ${claim}`, () => {
    const said = last();
    const isIt = said?.status === status && (reason === undefined || said.reason === reason);
    if (!isIt)
      throw new HarnessError(said === undefined ? "no condition is published" : `${said.status} ${said.reason}`);
    found = said;
  });
  if (found === undefined) throw new HarnessError(`${by} publishes no condition of ${claim}`);
  return found;
}

/** Waits until Mooring knows that the claim is mounted. */
export async function untilMounted(stage: Stage, claim: string): Promise<void> {
  await untilSaid(stage, claim, { by: "mooring", status: "False", reason: "Mounted" });
}

/** Throws a HarnessError unless Mooring's last condition says that the claim is mounted. */
export function requireMounted({ log }: Stage, claim: string): void {
  const said = conditionsBy("mooring", log.states(claim)).at(-1);
  if (said?.reason !== "Mounted") throw new HarnessError(`${claim} counts as ${said?.reason ?? "unknown"}`);
}
