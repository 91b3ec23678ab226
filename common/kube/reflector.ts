import * as v from "valibot";
import { withDeadline } from "../runtime/deadline.ts";
import { MooringError, messageOf } from "../runtime/errors.ts";
import { type BackOff, createBackOff } from "./back-off.ts";
import { ApiError, type KubeClient, type KubeParts } from "./client.ts";
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

/** The server ends a watch after this time (milliseconds, plus up to as much again); ours ends a while later. */
const WATCH_TIMEOUT_MS = 300_000;
const WATCH_GRACE_MS = 15_000;
/** A watch that ends sooner and brings nothing new counts as a failure, or a confused server would be asked without end. */
const SHORT_WATCH_MS = 1_000;
/** What stood for so long and broke is no sign of trouble: something on the way cuts idle connections. */
const STEADY_MS = 30_000;

const listed = v.object({
  metadata: v.object({ resourceVersion: v.pipe(v.string(), v.minLength(1)) }),
  items: v.nullish(v.array(v.unknown()), []),
});
const versioned = v.object({ metadata: v.object({ resourceVersion: v.pipe(v.string(), v.minLength(1)) }) });
const statusObject = v.object({ code: v.optional(v.number()), message: v.optional(v.string()) });

export function createReflector(parts: KubeParts, collection: Collection, sink: ReflectorSink): Reflector {
  const reflection = new Reflection(parts, collection, sink);
  return {
    run: (signal) => reflection.run(signal),
    resourceVersion: () => reflection.position,
    reach: (resourceVersion) => reflection.reach(resourceVersion),
  };
}

class Reflection {
  position: string | undefined;
  readonly #parts: KubeParts;
  readonly #collection: Collection;
  readonly #sink: ReflectorSink;
  readonly #backOff: BackOff;
  /** Ends the present list or watch, for the collection to be listed anew. */
  #interruption = new AbortController();
  #firstList: Collection["firstList"];
  #failures = 0;
  #begunAt = 0;

  constructor(parts: KubeParts, collection: Collection, sink: ReflectorSink) {
    this.#parts = { ...parts, logger: parts.logger.child({ path: collection.path }) };
    this.#collection = collection;
    this.#firstList = collection.firstList;
    this.#sink = sink;
    this.#backOff = createBackOff(parts.random, { firstMs: 200, maxMs: 30_000 });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    while (!signal.aborted) {
      this.#interruption = new AbortController();
      this.#begunAt = clock.monotonicMs();
      try {
        await this.#step(AbortSignal.any([signal, this.#interruption.signal]));
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof MooringError)) throw error;
        await clock.sleep(this.#interrupted(error), signal);
      }
    }
  }

  reach(resourceVersion: string): void {
    if (this.position === undefined || !isBehind(this.position, resourceVersion)) return;
    this.position = undefined;
    this.#interruption.abort();
  }

  async #step(signal: AbortSignal): Promise<void> {
    const { client, logger } = this.#parts;
    if (this.position === undefined) {
      const collection = { ...this.#collection, firstList: this.#firstList };
      this.position = await list(client, { collection, signal }, this.#sink);
      // Any later list from the cache of a server that lags could go back behind what was seen.
      this.#firstList = "quorum";
      logger.debug({ resourceVersion: this.position }, "listed");
    }
    const from = this.position;
    await watch(this.#parts, { collection: this.#collection, from, signal }, (event) => {
      // What was still on its way when a new list was asked for is part of that list.
      if (!signal.aborted) this.#apply(event);
    });
    if (this.position === from && this.#elapsedMs() < SHORT_WATCH_MS)
      throw new MooringError("watch-broken", "the watch ended at once");
  }

  #apply(event: WatchEvent): void {
    const reached = apply(event, this.#sink);
    if (reached === this.position) return;
    this.position = reached;
    this.#calm();
  }

  /** Answers how many milliseconds to wait before the next try. */
  #interrupted(error: unknown): number {
    if (this.#interruption.signal.aborted) return 0;
    if (isExpired(error)) this.position = undefined;
    if (this.#elapsedMs() >= STEADY_MS) this.#calm();
    this.#failures += 1;
    const waitMs = this.#backOff.next(error);
    // The first failure of a row is news, the rest only at widening intervals.
    const level = Number.isInteger(Math.log2(this.#failures)) ? "warn" : "debug";
    const fields = { err: messageOf(error), failures: this.#failures, waitMs: Math.round(waitMs) };
    this.#parts.logger[level](fields, "watch interrupted");
    return waitMs;
  }

  #calm(): void {
    this.#failures = 0;
    this.#backOff.reset();
  }

  #elapsedMs(): number {
    return this.#parts.clock.monotonicMs() - this.#begunAt;
  }
}

/** Resource versions are decimal numbers since Kubernetes 1.35, and were in practice before; of others nothing is known. */
function isBehind(position: string, resourceVersion: string): boolean {
  const areDecimal = [position, resourceVersion].every((version) => /^\d+$/.test(version));
  return areDecimal && BigInt(position) < BigInt(resourceVersion);
}

interface Following {
  readonly collection: Collection;
  readonly signal: AbortSignal;
}

async function list(client: KubeClient, { collection, signal }: Following, sink: ReflectorSink): Promise<string> {
  const query = { ...collection.query, ...(collection.firstList === "cache" ? { resourceVersion: "0" } : {}) };
  const answer = v.safeParse(listed, await client.request({ method: "GET", path: collection.path, query }, signal));
  if (!answer.success) throw new MooringError("list-invalid", `the list of ${collection.path} is no list`);
  const { items, metadata } = answer.output;
  sink.replace(items ?? [], metadata.resourceVersion);
  return metadata.resourceVersion;
}

/** Hands over each event; returns when the server ends the watch in good order. */
async function watch(
  { client, clock, random }: KubeParts,
  { collection, from, signal }: Following & { readonly from: string },
  onEvent: (event: WatchEvent) => void,
): Promise<void> {
  const timeoutMs = WATCH_TIMEOUT_MS * (1 + random.fraction());
  const query = {
    ...collection.query,
    watch: "true",
    allowWatchBookmarks: "true",
    resourceVersion: from,
    timeoutSeconds: String(Math.round(timeoutMs / 1000)),
  };
  await withDeadline({ clock, signal }, timeoutMs + WATCH_GRACE_MS, async (limited) => {
    const response = await client.open({ method: "GET", path: collection.path, query }, limited);
    for await (const event of readWatch(response.body)) onEvent(event);
  });
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
