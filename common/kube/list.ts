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

/** Options of a list request. */
export interface Listing extends Following {
  /** Added to the collection's own query. */
  readonly query: Readonly<Record<string, string>>;
  readonly accept?: string | undefined;
  /** Awaited between two pages. */
  readonly pause?: (() => Promise<void>) | undefined;
}

/**
 * Lists a collection page by page and passes on each page as it arrives; keeps none. Returns the resource version of the whole list. Throws
 * `ApiError` 410 when the server drops the list before its end.
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
    // The first page fixes the resource version of a continued list: the server refuses a request that names one again.
    const { resourceVersion: _, resourceVersionMatch: __, ...rest } = query;
    const page = { ...collection.query, ...(next === "" ? query : { ...rest, continue: next }) };
    const answer = v.safeParse(listed, await client.request({ method: "GET", path, query: page, accept }, signal));
    if (!answer.success) throw new MooringError("list-invalid", `the list of ${path} is no list`);
    const { items, metadata } = answer.output;
    onPage(items ?? []);
    first ??= metadata.resourceVersion;
    // Without this check, a server that returns the same token again and again would be asked forever.
    if (next !== "" && metadata.continue === next)
      throw new MooringError("list-invalid", `the list of ${path} has no end`);
    next = metadata.continue ?? "";
    if (next !== "") await pause?.();
  } while (next !== "");
  return first;
}

/**
 * Verifies that the server knows a resource version. The server does not refuse a watch from a version in its future: it sends nothing
 * until it gets there, and drops all events before (kubernetes#107457). That happens after etcd was restored from a backup. A list shows
 * it: throws `ApiError` 504, see `isLost`, after 3 s.
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
    // An extension server that does not know this parameter: the position cannot be verified.
    if (!(error instanceof ApiError) || (error.status !== 400 && error.status !== 422)) throw error;
  }
}

/**
 * Whether a watch cannot continue from its position after this failure: the server has dropped the resource version (410), or never had it
 * (504 `ResourceVersionTooLarge`). Then the collection is listed again.
 */
export function isLost(error: unknown): boolean {
  return isForgotten(error) || isAhead(error);
}

/** Whether the resource version is in the server's future. */
export function isAhead(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  const isTooLarge = error.details.causes.some(({ reason }) => reason === "ResourceVersionTooLarge");
  return isTooLarge || /too large resource version/i.test(error.message);
}

/** Whether the server has dropped the resource version, or the list that it had begun. */
export function isForgotten(error: unknown): boolean {
  return error instanceof ApiError && error.status === 410;
}
