import * as v from "valibot";
import { ApiError, type KubeClient } from "../common/kube/client.ts";

/** Objects per answer: the API server then never builds a large one. */
const PAGE = "500";

const page = v.object({
  metadata: v.optional(v.object({ continue: v.optional(v.string(), "") }), {}),
  items: v.nullish(v.array(v.unknown()), []),
});

/** The collection to list, and the projection to keep. */
interface Pages<T> {
  readonly path: string;
  /** A label selector; all objects by default. */
  readonly selector?: string;
  readonly project: (object: unknown) => T;
}

/** All objects of a collection, projected as they arrive. Throws what the client throws. */
export async function listPages<T>(
  client: KubeClient,
  { path, selector, project }: Pages<T>,
  signal: AbortSignal,
): Promise<readonly T[]> {
  const list = async (): Promise<readonly T[]> => {
    const found: T[] = [];
    let token = "";
    do {
      const query = {
        limit: PAGE,
        ...(selector === undefined ? {} : { labelSelector: selector }),
        ...(token === "" ? {} : { continue: token }),
      };
      const { metadata, items } = v.parse(page, await client.request({ method: "GET", path, query }, signal));
      for (const item of items ?? []) found.push(project(item));
      token = metadata.continue;
    } while (token !== "");
    return found;
  };
  try {
    return await list();
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 410) throw error;
    // The API server has compacted the version of the earlier pages. A second time would mean that it cannot keep up.
    return await list();
  }
}
