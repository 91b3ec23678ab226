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

/** Receives what a reflector sees. Calls never overlap and must not throw. */
export interface ReflectorSink<T> {
  /**
   * Returns what to keep of a listed object; undefined for what cannot be kept. Called as each object arrives: the raw object is dropped.
   */
  readonly project: (object: unknown) => T | undefined;
  /** Replaces the whole collection as of a resource version. No other call follows before its promise has resolved. */
  readonly replace: (objects: readonly T[], resourceVersion: string) => Promise<void>;
  /** Called after `replace`, when `resourceVersion` returns the new version. */
  readonly replaced: (resourceVersion: string) => void;
  readonly upsert: (object: unknown) => void;
  readonly remove: (object: unknown) => void;
}

/** Follows one collection until it is stopped, whatever failures the server and the network have. */
export interface Reflector {
  /** Resolves when the signal is aborted; rejects only for a bug. */
  readonly run: (signal: AbortSignal) => Promise<void>;
  /** Everything up to this resource version is in the sink. Undefined before the first list, and while a list is due. */
  readonly resourceVersion: () => string | undefined;
  /** The sink lacks nothing but changes still in transit: the collection was listed just now, or its watch has been open for a second. */
  readonly isCurrent: () => boolean;
  /**
   * Lists again unless the sink has reached this resource version. A watch of few objects learns of changes to other objects only from
   * bookmarks, about once a minute: it may have seen everything without knowing it.
   */
  readonly ensureAtLeast: (resourceVersion: string) => void;
  /** Lists again. */
  readonly relist: () => void;
  /** How often the watch was restarted. */
  readonly restarts: Restarts["counts"];
  /**
   * Rises with each received object and each attempt. A value that stays the same for longer than a watch lasts shows that the reflector is
   * stuck.
   */
  readonly progress: () => number;
}

/**
 * A watch that ends sooner and delivers nothing new is useless. After so many in a row the collection is listed again: some servers
 * silently end a watch from a version that they have dropped (kubernetes#137307).
 */
const SHORT_WATCH_MS = 1_000;
const SHORT_WATCHES = 5;
/** A watch that was open for this long and then breaks is no fault: network devices cut idle connections. */
const STEADY_MS = 30_000;
/** A list that streams delivers something all the time. After so many stalled ones, the server may not support such lists. */
const LIST_IDLE_MS = 20_000;
const STALLED_STREAMS = 2;
/** A server that sends bookmarks at all sends one each minute (k8s.io/apiserver: cacher.go, bookmarkFrequency). */
const WATCH_IDLE_MS = 180_000;
/** A server's cache may lag behind another server's. A server that is behind for this many lists was restored from a backup. */
const AHEAD_LISTS = 5;
/** Initial page size. After a list that expires before its end, pages are twice as large. */
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
  /** Ends the present list or watch, to list the collection again. */
  #interruption = new AbortController();
  /** The version that a list from a cache must have reached; undefined before the first list. */
  #leastVersion: string | undefined;
  #aheadLists = 0;
  #pageSize = PAGE_SIZE;
  #canStream = true;
  #stalledStreams = 0;
  /** After an interruption, check first whether the server still knows the position. */
  #mustVerifyPosition = false;
  /** The server has dropped a position, and has delivered nothing since. */
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

  /** Returns how many milliseconds to wait before the next attempt; undefined for no wait. */
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
    // Only etcd can verify a position; listing a small collection again costs no more.
    const from = (this.#mustVerifyPosition && !isQuorum ? undefined : this.position) ?? (await this.#list(signal));
    if (this.#mustVerifyPosition) await verifyPosition(client, { collection, signal }, from);
    this.#mustVerifyPosition = false;
    return await this.#watch({ resourceVersion: from }, signal, (event) => {
      this.#apply(event);
      return undefined;
    });
  }

  /** List and watch in one request. */
  async #stream(signal: AbortSignal): Promise<WatchEnd | "refused"> {
    const collected = new Map<string, T>();
    try {
      const end = await this.#watch("whole-collection", signal, (event) => {
        if (this.position === undefined && isEndOfList(event)) return this.#replace(collected, versionOf(event));
        if (this.position === undefined) this.#collect(collected, event);
        else this.#apply(event);
        return undefined;
      });
      if (this.position === undefined) throw new MooringError("list-invalid", "the list ended before it was whole");
      return end;
    } catch (error) {
      if (this.position !== undefined || signal.aborted) throw error;
      const isRefused = error instanceof ApiError && (error.status === 400 || error.status === 422);
      this.#stalledStreams = this.open.openMs >= LIST_IDLE_MS ? this.#stalledStreams + 1 : 0;
      if (isRefused || this.#stalledStreams >= STALLED_STREAMS) this.#listByPages(messageOf(error));
      if (isRefused) return "refused";
      throw error;
    }
  }

  #collect(collected: Map<string, T>, { type, object }: WatchEvent): void {
    this.progress += 1;
    if (type === "ERROR") throw watchError(object);
    if (type === "BOOKMARK") {
      this.#listByPages("the server does not mark the end of the list");
      throw new MooringError("list-invalid", "the server does not mark the end of the list");
    }
    const kept = this.#sink.project(object);
    if (kept === undefined) return;
    if (type === "DELETED") collected.delete(kept.key);
    else collected.set(kept.key, kept);
  }

  #listByPages(why: string): void {
    this.#canStream = false;
    this.#parts.logger.info({ why }, "the server does not stream lists, listing by pages");
  }

  async #list(signal: AbortSignal): Promise<string> {
    const collected = new Map<string, T>();
    const query = this.#collection.listsFrom === "cache" ? this.#fromCache() : { limit: String(this.#pageSize) };
    const onPage = (items: readonly unknown[]): void => {
      for (const item of items) this.#collect(collected, { type: "ADDED", object: item });
    };
    try {
      const version = await list(this.#parts.client, { collection: this.#collection, query, signal }, onPage);
      await this.#replace(collected, version);
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

  async #replace(collected: Map<string, T>, resourceVersion: string): Promise<void> {
    const objects = [...collected.values()];
    // Emptied because this map lives as long as the watch does.
    collected.clear();
    await this.#sink.replace(objects, resourceVersion);
    this.position = resourceVersion;
    this.#leastVersion = resourceVersion;
    this.open.listed();
    this.#aheadLists = 0;
    this.#mustVerifyPosition = false;
    this.#stalledStreams = 0;
    this.#parts.logger.debug({ resourceVersion, objects: objects.length }, "listed");
    this.#sink.replaced(resourceVersion);
  }

  #watch(from: Watching["from"], signal: AbortSignal, onEvent: OnWatchEvent): Promise<WatchEnd> {
    const watchIdleMs = (): number => (this.#hasBookmarks ? WATCH_IDLE_MS : Number.POSITIVE_INFINITY);
    const idleTimeoutMs = (): number => (this.position === undefined ? LIST_IDLE_MS : watchIdleMs());
    const watching = { collection: this.#collection, from, idleTimeoutMs, onOpen: () => this.open.open(), signal };
    // Events still in transit when a new list was requested are part of that list.
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
    this.#noteProgress();
  }

  #noteProgress(): void {
    this.#isForgotten = false;
    this.#interruptions.end();
  }

  /** Returns how many milliseconds to wait before the next attempt. */
  #endedEarly(): number {
    this.#shortWatches = this.open.openMs < SHORT_WATCH_MS ? this.#shortWatches + 1 : 0;
    if (this.#shortWatches >= SHORT_WATCHES) {
      this.position = undefined;
      this.#shortWatches = 0;
    }
    return this.#interrupted(new MooringError("watch-broken", "the watch ended early"));
  }

  /** Returns how many milliseconds to wait before the next attempt. */
  #interrupted(error: unknown): number {
    if (this.#interruption.signal.aborted) return 0;
    if (this.position !== undefined && this.open.openMs >= STEADY_MS) this.#noteProgress();
    // A server that has dropped the position answers again, so the back-off ends. If it drops one again before it delivers anything, the
    // back-off grows as for any failure.
    if (isForgotten(error) && !this.#isForgotten) this.#interruptions.end();
    this.#isForgotten ||= isForgotten(error);
    if (isLost(error)) this.position = undefined;
    if (isAhead(error)) this.#noteAhead();
    this.#mustVerifyPosition = true;
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
