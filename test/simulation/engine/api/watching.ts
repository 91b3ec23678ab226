import type { Random } from "../../../../common/runtime/random.ts";
import type { Sink } from "../network.ts";
import type { Cancel, Scheduler } from "../scheduler.ts";
import type { StoreEvent } from "./api.ts";
import type { ApiObject } from "./objects.ts";
import { expired, statusOf } from "./refusals.ts";
import type { Resource } from "./resources.ts";
import type { Selector } from "./selectors.ts";
import { type Store, textOf } from "./store.ts";
import type { WatchCache } from "./watch-cache.ts";

/** A watch request. */
export interface WatchRequest {
  readonly resource: Resource;
  readonly selector: Selector;
  /** Start after this revision; undefined: start now. */
  readonly from: number | undefined;
  /** Send the present collection first, and then a bookmark that marks its end. */
  readonly isWithList: boolean;
  readonly hasBookmarks: boolean;
  readonly timeoutS: number | undefined;
}

interface WatchParts {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly store: Store;
  readonly cache: WatchCache;
}

/** k8s.io/apiserver: bookmarks about once a minute, watches of 30 to 60 minutes unless the client asks for less. */
const BOOKMARK_MS = 60_000;
const LONGEST_S = 1_800;

/** Serves a watch until the client cancels it or its timeout is over. */
export function serveWatch(parts: WatchParts, order: WatchRequest, sink: Sink): Cancel {
  const { scheduler, random, store, cache } = parts;
  const { selector, resource } = order;
  let after = order.from ?? store.revision;
  const cancels: Cancel[] = [];
  const stop = (): void => {
    for (const cancel of cancels.splice(0)) cancel();
  };
  const send = (event: StoreEvent): void => {
    if (event.revision <= after) return;
    const line = lineOf(event, selector);
    if (line !== undefined) sink.write(line);
  };
  if (order.isWithList) {
    after = store.revision;
    // All at once: the lines arrive as if written without a pause.
    const selected = [...store.objects[resource.name].values()].filter(selector);
    if (selected.length > 0) sink.write(selected.map((object) => line("ADDED", textOf(object))).join(""));
    sink.write(bookmark(resource, after, true));
  } else {
    const missed = cache.since(after);
    if (missed === undefined) {
      sink.write(line("ERROR", JSON.stringify(statusOf(expired(`too old resource version: ${after}`)))));
      sink.end();
      return stop;
    }
    for (const event of missed) send(event);
  }
  cancels.push(cache.listen(send));
  const mark = (): void => {
    if (cache.position > after) sink.write(bookmark(resource, cache.position, false));
    cancels[1] = scheduler.after(BOOKMARK_MS * (0.9 + 0.2 * random.fraction()), mark);
  };
  cancels[1] = scheduler.after(order.hasBookmarks ? BOOKMARK_MS * random.fraction() : Number.MAX_SAFE_INTEGER, mark);
  const timeoutMs = (order.timeoutS ?? LONGEST_S * (1 + random.fraction())) * 1000;
  cancels[2] = scheduler.after(timeoutMs, () => {
    stop();
    sink.end();
  });
  return stop;
}

/** The event as a client with this selector sees it; undefined when it does not concern the selection. */
function lineOf({ type, object, previous, revision }: StoreEvent, selector: Selector): string | undefined {
  const was = previous !== undefined && selector(previous);
  const is = type !== "DELETED" && selector(object);
  if (is) return line(was ? "MODIFIED" : "ADDED", textOf(object));
  if (!was) return undefined;
  // The last state that the client saw, with the version of the deletion.
  const last: ApiObject =
    type === "DELETED"
      ? object
      : { ...previous, metadata: { ...previous.metadata, resourceVersion: String(revision) } };
  return line("DELETED", textOf(last));
}

function line(type: string, object: string): string {
  return `{"type":"${type}","object":${object}}\n`;
}

function bookmark({ kind, apiVersion }: Resource, revision: number, isEnd: boolean): string {
  const annotations = isEnd ? { annotations: { "k8s.io/initial-events-end": "true" } } : {};
  const metadata = { resourceVersion: String(revision), creationTimestamp: null, ...annotations };
  return line("BOOKMARK", JSON.stringify({ kind, apiVersion, metadata }));
}
