/** The kind of a line. */
export type LineKind = "ok" | "failed" | "note";

/** Prints a story step by step: in colour on a terminal, plain when piped. */
export interface Printer {
  readonly title: (text: string) => void;
  readonly step: (text: string) => void;
  readonly line: (kind: LineKind, text: string) => void;
  readonly table: (rows: readonly (readonly string[])[]) => void;
  readonly text: (text: string) => void;
}

const MARKS: Readonly<Record<LineKind, { readonly sign: string; readonly colour: number }>> = {
  ok: { sign: "✓", colour: 32 },
  failed: { sign: "✗", colour: 31 },
  note: { sign: "·", colour: 90 },
};

/** The output. */
export interface Screen {
  readonly write: (text: string) => void;
  readonly hasColour: boolean;
  /** Columns; undefined for unlimited lines. */
  readonly width: number | undefined;
}

/** The text of a line follows four spaces, a sign and a space. */
const INDENT = 6;

/** The screen of this process. It honours `NO_COLOR` (no-color.org). */
export function standardScreen(): Screen {
  const { isTTY, columns } = process.stdout;
  return {
    write: (text) => void process.stdout.write(text),
    hasColour: isTTY === true && !process.env.NO_COLOR,
    width: isTTY === true ? columns : undefined,
  };
}

/** Wraps a text into lines of at most `width` columns; a longer word has a line of its own. */
export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  // Spaces between two words may be several: they are the layout of text that fits.
  for (const [part, word = ""] of text.matchAll(/\s*(\S+)/g)) {
    if (line !== "" && line.length + part.length > width) {
      lines.push(line);
      line = word;
    } else line += part;
  }
  return [...lines, line];
}

export function createPrinter({ write, hasColour, width }: Screen): Printer {
  const paint = (code: number, text: string): string => (hasColour ? `\u001b[${code}m${text}\u001b[0m` : text);
  let steps = 0;
  return {
    title: (text) => write(`${paint(1, text)}\n`),
    text: (text) => write(`${text}\n`),
    step: (text) => {
      steps += 1;
      write(`\n${paint(1, `${String(steps).padStart(2)}  ${text}`)}\n`);
    },
    line: (kind, text) => {
      const { sign, colour } = MARKS[kind];
      const [first = "", ...more] = width === undefined ? [text] : wrap(text, width - INDENT);
      const words = (line: string): string => (kind === "note" ? paint(90, line) : line);
      write(`    ${paint(colour, sign)} ${words(first)}\n`);
      for (const line of more) write(`${" ".repeat(INDENT)}${words(line)}\n`);
    },
    table: (rows) => {
      const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
      rows.forEach((row, index) => {
        const line = row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join("  ")
          .trimEnd();
        write(`  ${index === 0 ? paint(1, line) : line}\n`);
      });
    },
  };
}
