import { follow } from "../runtime/deadline.ts";
import { MooringError, messageOf } from "../runtime/errors.ts";
import { ApiError, type KubeParts } from "./client.ts";
import type { Collection } from "./collection.ts";
import { isAhead, isForgotten, isLost, list, verifyPosition } from "./list.ts";
import { OpenWatch } from "./open-watch.ts";
import { isOlder } from "./resource-version.ts";
import { createRestarts, type Restarts } from "./restarts.ts";
import { createRetryLog, type RetryLog } from "./retry-log.ts";
import { isEndOfList, type OnWatchEvent, type WatchEnd, type Watching, watch, watchError } from "./watch.ts";
import { versionOf, type WatchEvent } from "./watch-stream.ts";

/** Where a reflector puts what it sees. Calls never overlap and must not throw. */
export interface ReflectorSink<T> {
  /** What is kept of an object of a list; nothing for what cannot be kept. Called as each object arrives: the raw one is dropped. */
  readonly project: (object: unknown) => T | undefined;
  /** The whole collection as of a resource version. Nothing else comes before what it answers has resolved. */
  readonly replace: (objects: readonly T[], resourceVersion: string) => Promise<void>;
  /** The same is over, and `resourceVersion` tells of it. */
  readonly replaced: (resourceVersion: string) => void;
  readonly upsert: (object: unknown) => void;
  readonly remove: (object: unknown) => void;
}

/** Follows one collection until it is stopped, whatever the server and the network do. */
export interface Reflector {
  /** Resolves when the signal is aborted; rejects only for a bug. */
  readonly run: (signal: AbortSignal) => Promise<void>;
  /** Everything up to this resource version has been put into the sink; nothing before the first list, and while one is due. */
  readonly resourceVersion: () => string | undefined;
  /** Nothing is missing but what is on its way: the collection was listed just now, or its watch has been open for a second since. */
  readonly isCurrent: () => boolean;
  /**
   * Lists anew unless the sink has reached this resource version. A watch of few objects hears of others' changes only by
   * bookmarks, about once a minute, so it can have seen everything and not know it.
   */
  readonly ensureAtLeast: (resourceVersion: string) => void;
  /** Lists anew. */
  readonly relist: () => void;
  /** How often the watch began anew. */
  readonly restarts: Restarts["counts"];
  /** Rises with everything that comes and with every try: one that stands still for longer than a watch lasts is stuck. */
  readonly progress: () => number;
}

/**
 * Watches that end sooner and bring nothing new are worth nothing. After so many in a row the collection is listed anew: some
 * servers end the watch of a version that they have forgotten without a word (kubernetes#137307).
 */
const SHORT_WATCH_MS = 1_000;
const SHORT_WATCHES = 5;
/** What stood for so long and broke is no sign of trouble: something on the way cuts idle connections. */
const STEADY_MS = 30_000;
/** A list that streams says something all the time. After so many that came to a halt, the server may not know such lists. */
const LIST_SILENCE_MS = 20_000;
const HALTED_STREAMS = 2;
/** A server that sends bookmarks at all sends one each minute (k8s.io/apiserver: cacher.go, bookmarkFrequency). */
const WATCH_SILENCE_MS = 180_000;
/** A server's cache may lag behind another server's. One that is behind for so many lists was restored from a backup. */
const AHEAD_LISTS = 5;
/** Objects of a page, at first. A list that expires in the middle is tried again with pages twice as large. */
const PAGE_SIZE = 500;
const LARGEST_PAGE = 8_000;

export function createReflector<T extends { readonly key: string }>(
  parts: KubeParts,
  collection: Collection,
  sink: ReflectorSink<T>,
): Reflector {
  const reflection = new Reflection(parts, collection, sink);
  return {
    run: (signal) => reflection.run(signal),
    resourceVersion: () => reflection.position,
    isCurrent: () => reflection.position !== undefined && reflection.open.isCurrent,
    ensureAtLeast: (resourceVersion) => reflection.reach(resourceVersion),
    relist: () => reflection.relist(),
    restarts: reflection.restarts.counts,
    progress: () => reflection.progress,
  };
}

class Reflection<T extends { readonly key: string }> {
  position: string | undefined;
  progress = 0;
  readonly restarts = createRestarts();
  readonly open: OpenWatch;
  readonly #parts: KubeParts;
  readonly #collection: Collection;
  readonly #sink: ReflectorSink<T>;
  readonly #interruptions: RetryLog;
  /** Ends the present list or watch, for the collection to be listed anew. */
  #interruption = new AbortController();
  /** What a list from a cache has to show; nothing before the first one. */
  #leastVersion: string | undefined;
  #aheadLists = 0;
  #pageSize = PAGE_SIZE;
  #canStream = true;
  #haltedStreams = 0;
  /** After an interruption the server is asked whether it still knows the position. */
  #isDoubtful = false;
  /** The server has forgotten a position, and nothing has come from it since. */
  #isForgotten = false;
  #hasBookmarks = false;
  #shortWatches = 0;

  constructor(parts: KubeParts, collection: Collection, sink: ReflectorSink<T>) {
    this.#parts = { ...parts, logger: parts.logger.child({ path: collection.path }) };
    this.#interruptions = createRetryLog(this.#parts);
    this.#collection = collection;
    this.#sink = sink;
    this.open = new OpenWatch(parts.clock);
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const waitMs = await this.#followOnce(signal);
      this.open.close();
      if (waitMs !== undefined) await this.#parts.clock.sleep(waitMs, signal);
    }
  }

  /** Answers how many milliseconds to wait before the next try; nothing where there is no need. */
  async #followOnce(signal: AbortSignal): Promise<number | undefined> {
    this.#interruption = new AbortController();
    this.progress += 1;
    try {
      const end = await this.#followUntil(signal);
      this.restarts.note("ended");
      return end === "early" ? this.#endedEarly() : undefined;
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!(error instanceof MooringError)) throw error;
      this.restarts.note(this.#interruption.signal.aborted ? "relist" : "failed");
      return this.#interrupted(error);
    }
  }

  async #followUntil(signal: AbortSignal): Promise<WatchEnd> {
    const unfollow = follow(this.#interruption, signal);
    try {
      return await this.#follow(this.#interruption.signal);
    } finally {
      unfollow();
    }
  }

  reach(resourceVersion: string): void {
    if (this.position === undefined || !isOlder(this.position, resourceVersion)) return;
    this.relist();
    this.#leastVersion = resourceVersion;
  }

  relist(): void {
    this.position = undefined;
    this.#interruption.abort("relist");
  }

  async #follow(signal: AbortSignal): Promise<WatchEnd> {
    const { client } = this.#parts;
    const collection = this.#collection;
    const isQuorum = collection.listsFrom === "quorum";
    if (this.position === undefined && isQuorum && this.#canStream) {
      const end = await this.#stream(signal);
      if (end !== "refused") return end;
    }
    // Only etcd answers the question that verifies a position. A small list is as good.
    const from = (this.#isDoubtful && !isQuorum ? undefined : this.position) ?? (await this.#list(signal));
    if (this.#isDoubtful) await verifyPosition(client, { collection, signal }, from);
    this.#isDoubtful = false;
    return await this.#watch({ resourceVersion: from }, signal, (event) => {
      this.#apply(event);
      return undefined;
    });
  }

  /** List and watch in one request. */
  async #stream(signal: AbortSignal): Promise<WatchEnd | "refused"> {
    const gathered = new Map<string, T>();
    try {
      const end = await this.#watch("whole-collection", signal, (event) => {
        if (this.position === undefined && isEndOfList(event)) return this.#replace(gathered, versionOf(event));
        if (this.position === undefined) this.#gather(gathered, event);
        else this.#apply(event);
        return undefined;
      });
      if (this.position === undefined) throw new MooringError("list-invalid", "the list ended before it was whole");
      return end;
    } catch (error) {
      if (this.position !== undefined || signal.aborted) throw error;
      const isRefused = error instanceof ApiError && (error.status === 400 || error.status === 422);
      this.#haltedStreams = this.open.stoodMs >= LIST_SILENCE_MS ? this.#haltedStreams + 1 : 0;
      if (isRefused || this.#haltedStreams >= HALTED_STREAMS) this.#listByPages(messageOf(error));
      if (isRefused) return "refused";
      throw error;
    }
  }

  #gather(gathered: Map<string, T>, { type, object }: WatchEvent): void {
    this.progress += 1;
    if (type === "ERROR") throw watchError(object);
    if (type === "BOOKMARK") {
      this.#listByPages("the server does not mark the end of the list");
      throw new MooringError("list-invalid", "the server does not mark the end of the list");
    }
    const kept = this.#sink.project(object);
    if (kept === undefined) return;
    if (type === "DELETED") gathered.delete(kept.key);
    else gathered.set(kept.key, kept);
  }

  #listByPages(why: string): void {
    this.#canStream = false;
    this.#parts.logger.info({ why }, "the server does not stream lists, listing by pages");
  }

  async #list(signal: AbortSignal): Promise<string> {
    const gathered = new Map<string, T>();
    const query = this.#collection.listsFrom === "cache" ? this.#fromCache() : { limit: String(this.#pageSize) };
    const onPage = (items: readonly unknown[]): void => {
      for (const item of items) this.#gather(gathered, { type: "ADDED", object: item });
    };
    try {
      const version = await list(this.#parts.client, { collection: this.#collection, query, signal }, onPage);
      await this.#replace(gathered, version);
      this.#pageSize = PAGE_SIZE;
      return version;
    } catch (error) {
      if (isForgotten(error)) this.#pageSize = Math.min(2 * this.#pageSize, LARGEST_PAGE);
      throw error;
    }
  }

  #fromCache(): Readonly<Record<string, string>> {
    if (this.#leastVersion === undefined) return { resourceVersion: "0" };
    return { resourceVersion: this.#leastVersion, resourceVersionMatch: "NotOlderThan" };
  }

  async #replace(gathered: Map<string, T>, resourceVersion: string): Promise<void> {
    const objects = [...gathered.values()];
    // It lives as long as the watch does.
    gathered.clear();
    await this.#sink.replace(objects, resourceVersion);
    this.position = resourceVersion;
    this.#leastVersion = resourceVersion;
    this.open.listed();
    this.#aheadLists = 0;
    this.#isDoubtful = false;
    this.#haltedStreams = 0;
    this.#parts.logger.debug({ resourceVersion, objects: objects.length }, "listed");
    this.#sink.replaced(resourceVersion);
  }

  #watch(from: Watching["from"], signal: AbortSignal, onEvent: OnWatchEvent): Promise<WatchEnd> {
    const silenceOfWatchMs = (): number => (this.#hasBookmarks ? WATCH_SILENCE_MS : Number.POSITIVE_INFINITY);
    const longestSilenceMs = (): number => (this.position === undefined ? LIST_SILENCE_MS : silenceOfWatchMs());
    const watching = { collection: this.#collection, from, longestSilenceMs, onOpen: () => this.open.open(), signal };
    // What was still on its way when a new list was asked for is part of that list.
    return watch(this.#parts, watching, (event) => (signal.aborted ? undefined : onEvent(event)));
  }

  #apply(event: WatchEvent): void {
    this.progress += 1;
    const { type, object } = event;
    if (type === "ERROR") throw watchError(object);
    const reached = versionOf(event);
    if (type === "BOOKMARK") this.#hasBookmarks = true;
    else this.#sink[type === "DELETED" ? "remove" : "upsert"](object);
    if (this.position === undefined || reached === this.position || isOlder(reached, this.position)) return;
    this.position = reached;
    this.#leastVersion = reached;
    this.#shortWatches = 0;
    this.#works();
  }

  #works(): void {
    this.#isForgotten = false;
    this.#interruptions.end();
  }

  /** Answers how many milliseconds to wait before the next try. */
  #endedEarly(): number {
    this.#shortWatches = this.open.stoodMs < SHORT_WATCH_MS ? this.#shortWatches + 1 : 0;
    if (this.#shortWatches >= SHORT_WATCHES) {
      this.position = undefined;
      this.#shortWatches = 0;
    }
    return this.#interrupted(new MooringError("watch-broken", "the watch ended early"));
  }

  /** Answers how many milliseconds to wait before the next try. */
  #interrupted(error: unknown): number {
    if (this.#interruption.signal.aborted) return 0;
    if (this.position !== undefined && this.open.stoodMs >= STEADY_MS) this.#works();
    // It answers again: what it was waited for is over. One that forgets what it has just told is waited for like any that fails.
    if (isForgotten(error) && !this.#isForgotten) this.#interruptions.end();
    this.#isForgotten ||= isForgotten(error);
    if (isLost(error)) this.position = undefined;
    if (isAhead(error)) this.#noteAhead();
    this.#isDoubtful = true;
    return this.#interruptions.waitAfter(error);
  }

  #noteAhead(): void {
    this.#aheadLists += 1;
    if (this.#aheadLists < AHEAD_LISTS) return;
    if (this.#leastVersion !== undefined)
      this.#parts.logger.warn({ resourceVersion: this.#leastVersion }, "server has gone back in time, listing anew");
    this.#leastVersion = undefined;
  }
}
