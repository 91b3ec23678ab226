import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readWatch, type WatchEvent } from "../../../../common/kube/watch-stream.ts";

async function* chunksOf(...chunks: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield typeof chunk === "string" ? Buffer.from(chunk) : chunk;
}

async function read(...chunks: readonly (string | Uint8Array)[]): Promise<readonly WatchEvent[]> {
  const events: WatchEvent[] = [];
  for await (const event of readWatch(chunksOf(...chunks))) events.push(event);
  return events;
}

const ADDED = { type: "ADDED", object: { metadata: { name: "größe-🚀" } } };
const LINE = `${JSON.stringify(ADDED)}\n`;

describe("readWatch", () => {
  it.each([
    { name: "no event of an empty stream", chunks: [], expected: [] },
    { name: "one event of one chunk", chunks: [LINE], expected: [ADDED] },
    { name: "several events of one chunk", chunks: [LINE + LINE], expected: [ADDED, ADDED] },
    { name: "an event that comes in pieces", chunks: [LINE.slice(0, 9), LINE.slice(9)], expected: [ADDED] },
    { name: "a line end that comes alone", chunks: [LINE.slice(0, -1), "\n"], expected: [ADDED] },
    { name: "empty lines as nothing", chunks: ["\n", LINE, "\n\n"], expected: [ADDED] },
    { name: "lines that end the way of Windows", chunks: [LINE.replace("\n", "\r\n")], expected: [ADDED] },
    { name: "white space behind the last line as nothing", chunks: [LINE, "  "], expected: [ADDED] },
  ])("reads $name", async ({ chunks, expected }) => {
    expect(await read(...chunks)).toEqual(expected);
  });

  it.each([
    { name: "a line that is no JSON", chunks: ["<html>\n"] },
    { name: "a line that is no event", chunks: ['{"kind":"Status"}\n'] },
    { name: "a type that it does not know", chunks: ['{"type":"GONE","object":{}}\n'] },
    { name: "a stream that ends inside a line", chunks: [LINE, LINE.slice(0, 20)] },
    { name: "a last line without its end, which may be cut", chunks: [LINE.slice(0, -1)] },
    {
      name: "a stream that ends inside a character",
      chunks: [Buffer.from(LINE).subarray(0, Buffer.from(LINE).indexOf(0xc3) + 1)],
    },
  ])("breaks at $name", async ({ chunks }) => {
    await expect(read(...chunks)).rejects.toMatchObject({ code: "watch-broken", retriable: true });
  });

  it("breaks at a line that is longer than any object, before it is whole", async () => {
    const piece = "x".repeat(1_048_576);
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) yield Buffer.from(piece);
    }
    const events = readWatch(endless());

    await expect(events.next()).rejects.toMatchObject({ code: "watch-broken" });
  });

  it("hands over what was whole before it breaks", async () => {
    const seen: WatchEvent[] = [];
    const reading = (async () => {
      for await (const event of readWatch(chunksOf(LINE, "garbage\n"))) seen.push(event);
    })();

    await expect(reading).rejects.toThrow();

    expect(seen).toEqual([ADDED]);
  });

  it("reads the same events however the bytes are cut into chunks", async () => {
    const event = fc.record({
      type: fc.constantFrom("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"),
      object: fc.dictionary(
        fc.constantFrom("name", "größe"),
        fc.array(fc.constantFrom("a", "ß", "→", "🚀", "\n", '"', "\u2028")).map((characters) => characters.join("")),
      ),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(event, { maxLength: 5 }),
        fc.array(fc.nat(20), { maxLength: 50 }),
        async (events, sizes) => {
          const bytes = Buffer.from(events.map((one) => `${JSON.stringify(one)}\n`).join(""));
          const chunks: Uint8Array[] = [];
          let at = 0;
          for (const size of sizes) {
            chunks.push(bytes.subarray(at, at + size));
            at += size;
          }

          const seen = await read(...chunks, bytes.subarray(at));

          expect(seen).toEqual(JSON.parse(JSON.stringify(events)));
        },
      ),
      { numRuns: 50 },
    );
  });
});
