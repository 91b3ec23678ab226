import * as v from "valibot";
import { withDeadline } from "../runtime/deadline.ts";
import { ApiError, type KubeParts } from "./client.ts";
import { type Following, watchAccept } from "./collection.ts";
import { withIdleTimeout } from "./idle-timeout.ts";
import { LONGEST_RETRY_AFTER_MS } from "./retry-after.ts";
import { readStatus } from "./status.ts";
import { readWatch, type WatchEvent } from "./watch-stream.ts";

/** The server ends a watch after this time (milliseconds, plus up to as much again); this client ends it a while later. */
const WATCH_TIMEOUT_MS = 300_000;
const WATCH_GRACE_MS = 15_000;
/** A server may end its watches somewhat early. */
const EARLY_MS = 10_000;

/** The position where a watch begins, and how long it may be silent. */
export interface Watching extends Following {
  /**
   * After this resource version; or with the whole present collection (KEP-3157): additions, then a bookmark for which `isEndOfList` holds,
   * then changes.
   */
  readonly from: { readonly resourceVersion: string } | "whole-collection";
  /** Read repeatedly while the watch runs, at least each minute, once the server has begun to answer. Milliseconds. */
  readonly idleTimeoutMs: () => number;
  /** Called when the server begins to answer. */
  readonly onOpen: () => void;
}

/** Handles an event; the next one comes when its promise, if any, has resolved. */
export type OnWatchEvent = (event: WatchEvent) => Promise<void> | undefined;

/** How a server ended a watch without a failure. */
export type WatchEnd = "at its time" | "early";

const WHOLE_COLLECTION = { sendInitialEvents: "true", resourceVersionMatch: "NotOlderThan" };

/**
 * Passes on each event. Resolves when the server ends the watch without a failure: at the agreed time, or before. Rejects with
 * `MooringError` for everything else, eventually also for a silent server or connection.
 */
export async function watch(
  { client, clock, random }: KubeParts,
  { collection, from, idleTimeoutMs, onOpen, signal }: Watching,
  onEvent: OnWatchEvent,
): Promise<WatchEnd> {
  const timeoutMs = WATCH_TIMEOUT_MS * (1 + random.fraction());
  const query = {
    ...collection.query,
    watch: "true",
    allowWatchBookmarks: "true",
    ...(from === "whole-collection" ? WHOLE_COLLECTION : from),
    timeoutSeconds: String(Math.round(timeoutMs / 1000)),
  };
  const begin = clock.monotonicMs();
  await withDeadline({ clock, signal }, timeoutMs + WATCH_GRACE_MS, (limited) =>
    withIdleTimeout({ clock, signal: limited }, idleTimeoutMs, async (limitedSignal, onActivity) => {
      const request = { method: "GET", path: collection.path, query, accept: watchAccept(collection) } as const;
      const response = await client.open(request, limitedSignal);
      onActivity();
      onOpen();
      for await (const event of readWatch(withActivity(response.body, onActivity))) {
        const pending = onEvent(event);
        // Most events are handled synchronously, and a promise for each would cost time.
        if (pending !== undefined) await pending;
      }
    }),
  );
  return clock.monotonicMs() - begin < timeoutMs - EARLY_MS ? "early" : "at its time";
}

async function* withActivity(body: AsyncIterable<Uint8Array>, onActivity: () => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    onActivity();
    yield chunk;
  }
}

const endOfList = v.object({
  metadata: v.object({ annotations: v.object({ "k8s.io/initial-events-end": v.literal("true") }) }),
});

/** Whether the event marks the end of the collection that the watch began with. */
export function isEndOfList({ type, object }: WatchEvent): boolean {
  return type === "BOOKMARK" && v.is(endOfList, object);
}

/** Converts an ERROR event to an error. */
export function watchError(object: unknown): ApiError {
  const { code = 500, reason, message = "no message", details } = readStatus(object) ?? {};
  const seconds = details?.retryAfterSeconds ?? 0;
  return new ApiError(`the watch ended with ${code}: ${message}`, {
    status: code,
    retryAfterMs: seconds > 0 ? Math.min(seconds * 1000, LONGEST_RETRY_AFTER_MS) : undefined,
    ...(reason !== undefined && { reason }),
    ...(details !== undefined && { details }),
  });
}
