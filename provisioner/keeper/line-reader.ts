/** The part of a connection that the reader uses. */
interface ByteSource extends AsyncIterable<unknown> {
  readonly destroy: (error: Error) => unknown;
}

/** The lines of a connection, read on request. */
export interface LineReader {
  /**
   * The next line; undefined at the end, where an incomplete line does not count. Rejects when the signal is aborted or the connection
   * fails.
   */
  readonly next: (signal: AbortSignal) => Promise<Buffer | "too-long" | undefined>;
}

/** Keeps at most one line, plus what the connection has read ahead. `longest` includes the line feed. */
export function createLineReader(socket: ByteSource, longest: number): LineReader {
  const chunks: AsyncIterator<unknown> = socket[Symbol.asyncIterator]();
  let rest: Buffer = Buffer.alloc(0);
  return {
    next: async (signal) => {
      signal.throwIfAborted();
      const giveUp = (): void => void socket.destroy(new Error("given up"));
      signal.addEventListener("abort", giveUp);
      try {
        for (;;) {
          const end = rest.indexOf("\n");
          if (end >= longest || (end === -1 && rest.length >= longest)) return "too-long";
          if (end !== -1) {
            const line = rest.subarray(0, end);
            rest = rest.subarray(end + 1);
            return line;
          }
          const { done, value } = await chunks.next();
          if (done === true || !Buffer.isBuffer(value)) return undefined;
          rest = Buffer.concat([rest, value]);
        }
      } finally {
        signal.removeEventListener("abort", giveUp);
      }
    },
  };
}
