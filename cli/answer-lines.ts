import { MooringError } from "../common/runtime/errors.ts";

/** Longer than any entry, which names at most 32 items of each kind. Characters. */
const LONGEST_LINE = 4 * 1024 * 1024;

/** The lines of an answer as they arrive; text after the last line break is dropped. */
export async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let pieces: string[] = [];
  let length = 0;
  for await (const chunk of body) {
    const [end = "", ...next] = decoder.decode(chunk, { stream: true }).split("\n");
    pieces.push(end);
    length += end.length;
    for (const begin of next) {
      yield pieces.join("");
      pieces = [begin];
      length = begin.length;
    }
    if (length > LONGEST_LINE) throw new MooringError("transport-failed", "its answer has a line that never ends");
  }
}

/** The JSON of a line; undefined if it is invalid. */
export function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
