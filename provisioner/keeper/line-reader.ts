/** A connection, as far as it is read here. */
interface ByteSource extends AsyncIterable<unknown> {
  readonly destroy: (error: Error) => unknown;
}

/** The lines of a connection, one after the other, each asked for. */
export interface LineReader {
  /** The next line; nothing at the end, where half a line counts as none. Rejects when the signal is aborted or the connection fails. */
  readonly next: (signal: AbortSignal) => Promise<Buffer | "too-long" | undefined>;
}

/** Keeps no more than one line, and what the connection has read ahead. `longest` counts the line feed. */
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
