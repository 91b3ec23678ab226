import { outcomeOf, type WriteOutcome } from "../../common/kube/apply.ts";
import { ApiError, type KubeClient } from "../../common/kube/client.ts";

export const FIELD_MANAGER = "mooring-cli";

interface Removed {
  readonly path: string;
  readonly name: string;
  /** UID and resource version of the object to delete. */
  readonly preconditions: object;
  /** Only check whether it may be deleted, and delete nothing. */
  readonly isDryRun?: boolean;
}

/** Deletes one object. Throws for a failure that may pass by itself, and for a missing permission. */
export async function remove(
  client: KubeClient,
  { path, name, preconditions, isDryRun = false }: Removed,
  signal: AbortSignal,
): Promise<WriteOutcome> {
  const body = { apiVersion: "v1", kind: "DeleteOptions", preconditions, ...(isDryRun ? { dryRun: ["All"] } : {}) };
  try {
    return { kind: "applied", object: await client.request({ method: "DELETE", path, body }, signal) };
  } catch (error) {
    const outcome = error instanceof ApiError ? outcomeOf(error, { name }) : undefined;
    if (outcome === undefined) throw error;
    return outcome;
  }
}
