/** A body that a test writes while the code under test reads it. */
export interface FakeByteStream extends AsyncIterable<Uint8Array> {
  readonly write: (chunk: string | Uint8Array) => void;
  /** One watch event or other JSON, as a line. */
  readonly writeLine: (value: unknown) => void;
  readonly end: () => void;
  readonly fail: (error: Error) => void;
}

export function createFakeByteStream(): FakeByteStream {
  const chunks: Uint8Array[] = [];
  let over: { readonly error?: Error } | undefined;
  let wake = (): void => {};

  const write = (chunk: string | Uint8Array): void => {
    chunks.push(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
    wake();
  };
  const finish = (end: { readonly error?: Error }): void => {
    over ??= end;
    wake();
  };
  async function* read(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const chunk = chunks.shift();
      if (chunk !== undefined) {
        yield chunk;
        continue;
      }
      if (over?.error !== undefined) throw over.error;
      if (over !== undefined) return;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
  return {
    write,
    writeLine: (value) => write(`${JSON.stringify(value)}\n`),
    end: () => finish({}),
    fail: (error) => finish({ error }),
    [Symbol.asyncIterator]: read,
  };
}
