import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createLineSplitter } from "../../../faults/lines.ts";

/** What comes out when the bytes arrive in these pieces. */
function split(pieces: readonly Uint8Array[]): { readonly lines: readonly string[]; readonly rest: string } {
  const splitter = createLineSplitter();
  const lines = pieces.flatMap((piece) => splitter.push(piece).map(String));
  return { lines, rest: String(splitter.rest()) };
}

describe("a line splitter", () => {
  it.each([
    { name: "keeps the line feed of each line", pieces: ["a\nb\n"], lines: ["a\n", "b\n"], rest: "" },
    { name: "keeps back what has no line feed yet", pieces: ["a\nb"], lines: ["a\n"], rest: "b" },
    { name: "puts a line together from many pieces", pieces: ["a", "b", "c\n"], lines: ["abc\n"], rest: "" },
    { name: "takes a line feed that comes alone", pieces: ["ab", "\n", "c"], lines: ["ab\n"], rest: "c" },
    { name: "keeps empty lines", pieces: ["\n\na\n"], lines: ["\n", "\n", "a\n"], rest: "" },
    { name: "takes an empty piece", pieces: ["a", "", "\n"], lines: ["a\n"], rest: "" },
    { name: "has nothing before the first piece", pieces: [], lines: [], rest: "" },
  ])("$name", ({ pieces, lines, rest }) => {
    const found = split(pieces.map((piece) => Buffer.from(piece)));

    expect(found).toEqual({ lines, rest });
  });

  it("gives the same lines however the bytes are cut, also inside a character", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom("a", "é", "€", "😀", "\n")),
        fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
        (characters, lengths) => {
          const whole = Buffer.from(characters.join(""));
          const pieces: Uint8Array[] = [];
          for (let at = 0; at < whole.length; at += pieces.at(-1)?.length ?? 1) {
            pieces.push(whole.subarray(at, at + (lengths[pieces.length % lengths.length] ?? 1)));
          }

          expect(split(pieces)).toEqual(split([whole]));
        },
      ),
    );
  });

  it("loses no byte", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array()), (pieces) => {
        const splitter = createLineSplitter();

        const lines = pieces.flatMap((piece) => splitter.push(piece));

        expect(Buffer.concat([...lines, splitter.rest()])).toEqual(Buffer.concat(pieces));
      }),
    );
  });
});
