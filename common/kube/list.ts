import * as v from "valibot";
import { MooringError } from "../runtime/errors.ts";
import { ApiError, type KubeClient } from "./client.ts";
import { type Following, listAccept, METADATA_LIST } from "./collection.ts";

const listed = v.object({
  metadata: v.object({
    resourceVersion: v.pipe(v.string(), v.minLength(1)),
    continue: v.nullish(v.string(), ""),
  }),
  items: v.nullish(v.array(v.unknown()), []),
});

/** How a list is asked for. */
export interface Listing extends Following {
  /** Added to the collection's own query. */
  readonly query: Readonly<Record<string, string>>;
  readonly accept?: string | undefined;
  /** Waited for between two pages. */
  readonly pause?: (() => Promise<void>) | undefined;
}

/**
 * Lists a collection page by page, as many as the server makes of it, and hands over each one as it comes; no page is kept.
 * Answers the resource version of the whole. Throws `ApiError` 410 when the server has forgotten the list in the middle of it.
 */
export async function list(
  client: KubeClient,
  { collection, query, accept = listAccept(collection), pause, signal }: Listing,
  onPage: (items: readonly unknown[]) => void,
): Promise<string> {
  const { path } = collection;
  let first: string | undefined;
  let next = "";
  do {
    // A continued list is bound to the version of its first page; to name one again would be refused.
    const { resourceVersion: _, resourceVersionMatch: __, ...rest } = query;
    const page = { ...collection.query, ...(next === "" ? query : { ...rest, continue: next }) };
    const answer = v.safeParse(listed, await client.request({ method: "GET", path, query: page, accept }, signal));
    if (!answer.success) throw new MooringError("list-invalid", `the list of ${path} is no list`);
    const { items, metadata } = answer.output;
    onPage(items ?? []);
    first ??= metadata.resourceVersion;
    // A server that does not get on would be asked without end.
    if (next !== "" && metadata.continue === next)
      throw new MooringError("list-invalid", `the list of ${path} has no end`);
    next = metadata.continue ?? "";
    if (next !== "") await pause?.();
  } while (next !== "");
  return first;
}

/**
 * Makes sure that the server knows a resource version. A watch from one that lies in its future is not refused: it stays silent
 * until the server gets there, and drops all that happens before (kubernetes#107457); that is the case after etcd was restored
 * from a backup. A list tells: throws `ApiError` 504, see `isLost`, after 3 s.
 */
export async function verifyPosition(
  client: KubeClient,
  { collection, signal }: Following,
  resourceVersion: string,
): Promise<void> {
  const query = { ...collection.query, limit: "1", resourceVersion, resourceVersionMatch: "NotOlderThan" };
  try {
    await client.request({ method: "GET", path: collection.path, query, accept: METADATA_LIST }, signal);
  } catch (error) {
    // An extension server that does not know the question: there is no way to be sure.
    if (!(error instanceof ApiError) || (error.status !== 400 && error.status !== 422)) throw error;
  }
}

/**
 * Whether a failure means that there is no way on from where a watch was: the server has forgotten the resource version (410), or
 * never had it (504 `ResourceVersionTooLarge`). Then the collection is listed anew.
 */
export function isLost(error: unknown): boolean {
  return isForgotten(error) || isAhead(error);
}

/** Whether the resource version lies in the future of the server that was asked. */
export function isAhead(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  const isTooLarge = error.details.causes.some(({ reason }) => reason === "ResourceVersionTooLarge");
  return isTooLarge || /too large resource version/i.test(error.message);
}

/** Whether the server has forgotten the resource version, or the list that it had begun. */
export function isForgotten(error: unknown): boolean {
  return error instanceof ApiError && error.status === 410;
}
