import * as v from "valibot";
import { MooringError } from "../runtime/errors.ts";

/** A line of a watch, the object itself not yet decoded. */
export interface WatchEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: unknown;
}

const watchEvent = v.object({
  type: v.picklist(["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]),
  object: v.unknown(),
});

/**
 * Splits a watch into its events. Throws `MooringError` "watch-broken" for a line that is none, and for a stream that ends
 * inside a line: whatever it held must be asked for again.
 */
export async function* readWatch(body: AsyncIterable<Uint8Array>): AsyncGenerator<WatchEvent> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") yield parseEvent(line);
  }
  if (rest.trim() !== "") throw new MooringError("watch-broken", "the watch ended inside a line");
}

function parseEvent(line: string): WatchEvent {
  try {
    return v.parse(watchEvent, JSON.parse(line));
  } catch (cause) {
    throw new MooringError("watch-broken", "the watch sent a line that is no event", { cause });
  }
}
