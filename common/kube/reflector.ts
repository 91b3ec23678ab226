import * as v from "valibot";
import type { Clock } from "../runtime/clock.ts";
import { withDeadline } from "../runtime/deadline.ts";
import { MooringError, messageOf } from "../runtime/errors.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Random } from "../runtime/random.ts";
import { createBackOff } from "./back-off.ts";
import { ApiError, type KubeClient } from "./client.ts";
import { readWatch, type WatchEvent } from "./watch-stream.ts";

/** A collection to follow, such as `/api/v1/pods` with a field selector. */
export interface Collection {
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** `cache`: the first list may be somewhat old and costs the server little; `quorum`: it shows all that was ever stored. */
  readonly firstList: "cache" | "quorum";
}

/** Where a reflector puts what it sees. Calls never overlap and must not throw. */
export interface ReflectorSink {
  /** The whole collection as of a resource version. */
  readonly replace: (objects: readonly unknown[], resourceVersion: string) => void;
  readonly upsert: (object: unknown) => void;
  readonly remove: (object: unknown) => void;
}

/** Follows one collection until it is stopped, whatever the server and the network do. */
export interface Reflector {
  /** Resolves when the signal is aborted; rejects only for a bug. */
  readonly run: (signal: AbortSignal) => Promise<void>;
  /** Everything up to this resource version has been put into the sink; nothing before the first list. */
  readonly resourceVersion: () => string | undefined;
  /**
   * Lists anew unless the sink has reached this resource version. A watch of few objects hears of others' changes only by
   * bookmarks, about once a minute, so it can have seen everything and not know it.
   */
  readonly reach: (resourceVersion: string) => void;
}

interface ReflectorParts {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** The server ends a watch after this time (milliseconds, plus up to as much again); ours ends a while later. */
const WATCH_TIMEOUT_MS = 300_000;
const WATCH_GRACE_MS = 15_000;
/** A watch that ends sooner without an event counts as a failure, or a confused server would be asked without end. */
const SHORT_WATCH_MS = 1_000;

const listed = v.object({
  metadata: v.object({ resourceVersion: v.pipe(v.string(), v.minLength(1)) }),
  items: v.nullish(v.array(v.unknown()), []),
});
const versioned = v.object({ metadata: v.object({ resourceVersion: v.string() }) });
const statusObject = v.object({ code: v.optional(v.number()), message: v.optional(v.string()) });

export function createReflector(parts: ReflectorParts, collection: Collection, sink: ReflectorSink): Reflector {
  const { clock, random } = parts;
  const logger = parts.logger.child({ path: collection.path });
  const backOff = createBackOff(random, { firstMs: 200, maxMs: 30_000 });
  let position: string | undefined;
  let failures = 0;
  let firstList = collection.firstList;
  let interruption = new AbortController();

  const step = async (signal: AbortSignal): Promise<void> => {
    if (position === undefined) {
      position = await list(parts.client, { collection: { ...collection, firstList }, sink, signal });
      firstList = collection.firstList;
      logger.debug({ resourceVersion: position }, "listed");
    }
    for await (const reached of watch(parts, { collection, sink, from: position, signal })) {
      // What was still on its way when a new list was asked for is part of that list.
      if (signal.aborted) return;
      position = reached;
      failures = 0;
      backOff.reset();
    }
  };

  /** Answers how many milliseconds to wait before the next try. */
  const interrupted = (error: unknown): number => {
    if (interruption.signal.aborted) return 0;
    if (isExpired(error)) position = undefined;
    failures += 1;
    const waitMs = backOff.next(error);
    // The first failure of a row is news, the rest only at widening intervals.
    const level = Number.isInteger(Math.log2(failures)) ? "warn" : "debug";
    logger[level]({ err: messageOf(error), failures, waitMs: Math.round(waitMs) }, "watch interrupted");
    return waitMs;
  };

  const run = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      try {
        interruption = new AbortController();
        await step(AbortSignal.any([signal, interruption.signal]));
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof MooringError)) throw error;
        await clock.sleep(interrupted(error), signal);
      }
    }
  };
  const reach = (resourceVersion: string): void => {
    if (position === undefined || BigInt(position) >= BigInt(resourceVersion)) return;
    position = undefined;
    firstList = "quorum";
    interruption.abort();
  };
  return { run, resourceVersion: () => position, reach };
}

interface Following {
  readonly collection: Collection;
  readonly sink: ReflectorSink;
  readonly signal: AbortSignal;
}

async function list(client: KubeClient, { collection, sink, signal }: Following): Promise<string> {
  const query = { ...collection.query, ...(collection.firstList === "cache" ? { resourceVersion: "0" } : {}) };
  const answer = v.safeParse(listed, await client.request({ method: "GET", path: collection.path, query }, signal));
  if (!answer.success) throw new MooringError("list-invalid", `the list of ${collection.path} is no list`);
  const { items, metadata } = answer.output;
  sink.replace(items, metadata.resourceVersion);
  return metadata.resourceVersion;
}

/** Yields each resource version that the sink has reached; returns when the server ends the watch in good order. */
async function* watch(
  { client, clock, random }: ReflectorParts,
  { collection, sink, from, signal }: Following & { readonly from: string },
): AsyncGenerator<string> {
  const timeoutMs = WATCH_TIMEOUT_MS * (1 + random.fraction());
  const seconds = String(Math.round(timeoutMs / 1000));
  const query = {
    ...collection.query,
    watch: "true",
    allowWatchBookmarks: "true",
    resourceVersion: from,
    timeoutSeconds: seconds,
  };
  const stop = new AbortController();
  const begunAt = clock.monotonicMs();
  const overdue = withDeadline({ clock, signal }, timeoutMs + WATCH_GRACE_MS, async (limited) => {
    limited.addEventListener("abort", () => stop.abort(limited.reason), { once: true });
    await new Promise<void>((resolve) => stop.signal.addEventListener("abort", () => resolve(), { once: true }));
  });
  let events = 0;
  try {
    const response = await client.open({ method: "GET", path: collection.path, query }, stop.signal);
    for await (const event of readWatch(response.body)) {
      events += 1;
      yield apply(event, sink);
    }
  } finally {
    stop.abort();
    await overdue;
  }
  if (events === 0 && clock.monotonicMs() - begunAt < SHORT_WATCH_MS) {
    throw new MooringError("watch-broken", "the watch ended at once");
  }
}

/** Puts one event into the sink and says which resource version that reaches. */
function apply(event: WatchEvent, sink: ReflectorSink): string {
  if (event.type === "ERROR") throw watchError(event.object);
  const object = v.safeParse(versioned, event.object);
  if (!object.success) throw new MooringError("watch-broken", "the watch sent an object without a resource version");
  if (event.type === "DELETED") sink.remove(event.object);
  else if (event.type !== "BOOKMARK") sink.upsert(event.object);
  return object.output.metadata.resourceVersion;
}

function watchError(object: unknown): MooringError {
  const status = v.safeParse(statusObject, object);
  const { code = 500, message = "no message" } = status.success ? status.output : {};
  return new ApiError(`the watch ended with ${code}: ${message}`, { status: code, retryAfterMs: undefined });
}

/** 410: the server has forgotten the resource version, so the collection is listed again. */
function isExpired(error: unknown): boolean {
  return (
    (error instanceof ApiError && error.status === 410) ||
    (error instanceof MooringError && error.code === "list-invalid")
  );
}
