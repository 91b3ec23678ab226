import { HarnessError } from "../../../rig/process/errors.ts";
import { type Author, saidBy } from "../claim-states.ts";
import type { Stage } from "../stage.ts";

type Said = ReturnType<typeof saidBy>[number];

/** Waits until the last that an author said of a claim is so; answers it. */
export async function untilSaid(
  stage: Stage,
  claim: string,
  wanted: { readonly by: Author; readonly status: "True" | "False"; readonly reason?: string },
): Promise<Said> {
  const { by, status, reason } = wanted;
  const last = (): Said | undefined => saidBy(by, stage.log.states(claim)).at(-1);
  let found: Said | undefined;
  await stage.until(`${by} says ${status} ${reason ?? ""} of ${claim}`, () => {
    const said = last();
    const isIt = said?.status === status && (reason === undefined || said.reason === reason);
    if (!isIt) throw new HarnessError(said === undefined ? "nothing is said" : `${said.status} ${said.reason}`);
    found = said;
  });
  if (found === undefined) throw new HarnessError(`${by} says nothing of ${claim}`);
  return found;
}

/** Waits until Mooring knows that the claim is mounted. */
export async function untilMounted(stage: Stage, claim: string): Promise<void> {
  await untilSaid(stage, claim, { by: "mooring", status: "False", reason: "Mounted" });
}

/** Throws a HarnessError unless the last that Mooring said of a claim is that it is mounted. */
export function requireMounted({ log }: Stage, claim: string): void {
  const said = saidBy("mooring", log.states(claim)).at(-1);
  if (said?.reason !== "Mounted") throw new HarnessError(`${claim} counts as ${said?.reason ?? "unknown"}`);
}
