import { describe, expect, it } from "vitest";
import { createPrinter, type Printer, type Screen, wrap } from "../../demo/print.ts";

function printed(print: (printer: Printer) => void, screen: Partial<Screen> = {}): string {
  let text = "";
  const write = (part: string): void => {
    text += part;
  };
  print(createPrinter({ write, hasColour: false, width: undefined, ...screen }));
  return text;
}

describe("wrap", () => {
  it.each([
    {
      name: "a text that fits stays on one line, with its spaces",
      text: "Mooring:    in use",
      width: 20,
      lines: ["Mooring:    in use"],
    },
    { name: "a line may be as wide as the screen", text: "one two", width: 7, lines: ["one two"] },
    { name: "a longer line breaks between words", text: "one two three", width: 8, lines: ["one two", "three"] },
    {
      name: "a long word has a line of its own",
      text: "a verylongword b",
      width: 4,
      lines: ["a", "verylongword", "b"],
    },
    { name: "an empty text is one empty line", text: "", width: 4, lines: [""] },
  ])("$name", ({ text, width, lines }) => {
    expect(wrap(text, width)).toEqual(lines);
  });
});

describe("a printer", () => {
  it("counts steps and marks lines", () => {
    const text = printed((printer) => {
      printer.step("First");
      printer.line("ok", "good");
      printer.step("Second");
      printer.line("failed", "bad");
      printer.line("note", "so");
    });

    expect(text).toBe("\n 1  First\n    ✓ good\n\n 2  Second\n    ✗ bad\n    · so\n");
  });

  it("indents wrapped lines on a terminal, and does not wrap in a file", () => {
    const print = (printer: Printer): void => printer.line("ok", "one two three");

    expect(printed(print, { width: 14 })).toBe("    ✓ one two\n      three\n");
    expect(printed(print)).toBe("    ✓ one two three\n");
  });

  it("aligns the columns of a table", () => {
    const text = printed((printer) =>
      printer.table([
        ["STEP", "LATE"],
        ["power cut", "1 ms"],
      ]),
    );

    expect(text).toBe("  STEP       LATE\n  power cut  1 ms\n");
  });
});
