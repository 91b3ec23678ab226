import { ApiError } from "../common/kube/client.ts";

/** Nothing where the user may not list it, which is noted. */
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
