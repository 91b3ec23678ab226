/** What a line of a step says. */
export type Mark = "ok" | "failed" | "note";

/** Prints a story step by step: in colour on a terminal, plain when piped. */
export interface Printer {
  readonly title: (text: string) => void;
  readonly step: (text: string) => void;
  readonly line: (mark: Mark, text: string) => void;
  readonly table: (rows: readonly (readonly string[])[]) => void;
  readonly text: (text: string) => void;
}

const MARKS: Readonly<Record<Mark, { readonly sign: string; readonly colour: number }>> = {
  ok: { sign: "✓", colour: 32 },
  failed: { sign: "✗", colour: 31 },
  note: { sign: "·", colour: 90 },
};

interface Screen {
  readonly write: (text: string) => void;
  readonly hasColour: boolean;
}

/** The screen of this process. `NO_COLOR` is honoured (no-color.org). */
export function standardScreen(): Screen {
  return {
    write: (text) => void process.stdout.write(text),
    hasColour: process.stdout.isTTY === true && !process.env.NO_COLOR,
  };
}

export function createPrinter({ write, hasColour }: Screen): Printer {
  const paint = (code: number, text: string): string => (hasColour ? `\u001b[${code}m${text}\u001b[0m` : text);
  let steps = 0;
  return {
    title: (text) => write(`${paint(1, text)}\n`),
    text: (text) => write(`${text}\n`),
    step: (text) => {
      steps += 1;
      write(`\n${paint(1, `${String(steps).padStart(2)}  ${text}`)}\n`);
    },
    line: (mark, text) => {
      const { sign, colour } = MARKS[mark];
      write(`    ${paint(colour, sign)} ${mark === "note" ? paint(90, text) : text}\n`);
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
