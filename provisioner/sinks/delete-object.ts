import { outcomeOf, type WriteOutcome, type WriteTarget } from "../../common/kube/apply.ts";
import { ApiError, type KubeClient } from "../../common/kube/client.ts";

/** The client and the field manager of the writes. */
export const FIELD_MANAGER = "mooring-provisioner";

/** Deletes only the exact object, in the exact state, that was decided on. */
export function deleteObject(
  client: KubeClient,
  { path, name, uid, resourceVersion }: Pick<WriteTarget, "path" | "name" | "uid" | "resourceVersion">,
  signal: AbortSignal,
): Promise<WriteOutcome> {
  const body = { kind: "DeleteOptions", apiVersion: "v1", preconditions: { uid, resourceVersion } };
  return written(name, () => client.request({ method: "DELETE", path, body }, signal));
}

/** Creates an object. An existing object of that name is a conflict, and stays as it is. */
export function postObject(
  client: KubeClient,
  { path, name, object }: { readonly path: string; readonly name: string; readonly object: object },
  signal: AbortSignal,
): Promise<WriteOutcome> {
  const query = { fieldManager: FIELD_MANAGER };
  return written(name, () => client.request({ method: "POST", path, query, body: object }, signal));
}

async function written(name: string, ask: () => Promise<unknown>): Promise<WriteOutcome> {
  try {
    return { kind: "applied", object: await ask() };
  } catch (error) {
    const outcome = error instanceof ApiError ? outcomeOf(error, { name }) : undefined;
    if (outcome === undefined) throw error;
    return outcome;
  }
}
