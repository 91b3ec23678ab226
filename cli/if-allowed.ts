import { ApiError } from "../common/kube/client.ts";

/** The result; undefined, and noted, where the user has no permission to list it. */
export async function ifAllowed<T>(
  resource: string,
  missing: string[],
  list: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await list();
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 403) throw error;
    missing.push(resource);
    return undefined;
  }
}
