/** Cuts a stream of bytes into lines, wherever its chunks end. */
export interface LineSplitter {
  /** The lines that this chunk completes, each with its line feed. */
  readonly push: (chunk: Uint8Array) => readonly Buffer[];
  /** What came after the last line feed. */
  readonly rest: () => Buffer;
}

const LINE_FEED = 0x0a;

/** Works on bytes: a character of several bytes may be cut by a chunk, a line feed never is. */
export function createLineSplitter(): LineSplitter {
  let rest: Buffer = Buffer.alloc(0);
  return {
    push: (chunk) => {
      const lines: Buffer[] = [];
      let bytes = Buffer.concat([rest, chunk]);
      // What was left over has no line feed: the search goes on behind it.
      for (let at = bytes.indexOf(LINE_FEED, rest.length); at >= 0; at = bytes.indexOf(LINE_FEED)) {
        lines.push(bytes.subarray(0, at + 1));
        bytes = bytes.subarray(at + 1);
      }
      rest = bytes;
      return lines;
    },
    rest: () => rest,
  };
}
