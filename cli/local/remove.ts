import { outcomeOf, type WriteOutcome } from "../../common/kube/apply.ts";
import { ApiError, type KubeClient } from "../../common/kube/client.ts";

export const FIELD_MANAGER = "mooring-cli";

interface Removed {
  readonly path: string;
  readonly name: string;
  /** Which object of the name, and which state of it. */
  readonly preconditions: object;
  /** Ask whether it may be deleted, and delete nothing. */
  readonly isTrial?: boolean;
}

/** Deletes one object. Throws what may get better by itself, and what is not allowed. */
export async function remove(
  client: KubeClient,
  { path, name, preconditions, isTrial = false }: Removed,
  signal: AbortSignal,
): Promise<WriteOutcome> {
  const body = { apiVersion: "v1", kind: "DeleteOptions", preconditions, ...(isTrial ? { dryRun: ["All"] } : {}) };
  try {
    return { kind: "applied", object: await client.request({ method: "DELETE", path, body }, signal) };
  } catch (error) {
    const outcome = error instanceof ApiError ? outcomeOf(error, { name }) : undefined;
    if (outcome === undefined) throw error;
    return outcome;
  }
}
