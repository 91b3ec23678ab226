import { MooringError } from "../common/runtime/errors.ts";

/** Beyond any entry, which names 32 of anything at most. Characters. */
const LONGEST_LINE = 4 * 1024 * 1024;

/** The lines of an answer as they come; what stands behind the last line break is none. */
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

/** The JSON of a line; nothing for what is none. */
export function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
