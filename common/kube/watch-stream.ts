import * as v from "valibot";
import { MooringError } from "../runtime/errors.ts";

/** One line of a watch, with its object not yet decoded. */
export interface WatchEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: unknown;
}

const watchEvent = v.object({
  type: v.picklist(["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]),
  object: v.unknown(),
});

/** No object is larger: etcd takes at most 1.5 MiB, and JSON may double that. Characters. */
const LONGEST_LINE = 16 * 1024 * 1024;

/**
 * Splits a watch into its events and keeps at most one line in memory. Throws `MooringError` "watch-broken" for an invalid line, for a line
 * that is longer than any object, and for a stream that ends inside a line: the caller must request its content again.
 */
export async function* readWatch(body: AsyncIterable<Uint8Array>): AsyncGenerator<WatchEvent> {
  const decoder = new TextDecoder();
  const pieces: string[] = [];
  let length = 0;
  for await (const chunk of body) {
    const [end = "", ...lines] = decoder.decode(chunk, { stream: true }).split("\n");
    pieces.push(end);
    length += end.length;
    for (const next of lines) {
      const line = pieces.splice(0).join("");
      if (line !== "") yield parseEvent(line);
      pieces.push(next);
      length = next.length;
    }
    if (length > LONGEST_LINE)
      throw new MooringError("watch-broken", "the watch sent a line that is longer than any object");
  }
  if (pieces.join("").trim() !== "") throw new MooringError("watch-broken", "the watch ended inside a line");
}

function parseEvent(line: string): WatchEvent {
  try {
    return v.parse(watchEvent, JSON.parse(line));
  } catch (cause) {
    throw new MooringError("watch-broken", "the watch sent a line that is no event", { cause });
  }
}

const versioned = v.object({ metadata: v.object({ resourceVersion: v.pipe(v.string(), v.minLength(1)) }) });

/** The resource version of an event's object; throws `MooringError` "watch-broken" for an object without one. */
export function versionOf({ object }: WatchEvent): string {
  const decoded = v.safeParse(versioned, object);
  if (decoded.success) return decoded.output.metadata.resourceVersion;
  throw new MooringError("watch-broken", "the watch sent an object without a resource version");
}
