/** The content of one cell. */
export interface Cell {
  readonly text: string;
  /** Something that the reader must not miss: coloured where the output has colour. */
  readonly isAlarm?: boolean;
}

export interface Column {
  readonly title: string;
  /** Shortens a text where the terminal is too narrow; a column without this is never shortened. */
  readonly shorten?: ((text: string, room: number) => string) | undefined;
}

export interface Table {
  readonly columns: readonly Column[];
  /** Each row has as many cells as there are columns. */
  readonly rows: readonly (readonly Cell[])[];
}

/** The output's abilities. */
export interface Screen {
  /** Width of the terminal; undefined when the output is no terminal, and then nothing is cut. */
  readonly width: number | undefined;
  readonly hasColour: boolean;
}

const GAP = 2;
/** No column is narrower than this, nor than its title. */
const LEAST = 12;
const ALARM = { on: "\u001b[1;31m", off: "\u001b[0m" } as const;

/** The table as text: a line for the titles, and one per row. */
export function layOut({ columns, rows }: Table, { width, hasColour }: Screen): string {
  const texts = rows.map((row) => row.map(({ text }) => printable(text) || "-"));
  const natural = columns.map(({ title }, index) =>
    texts.reduce((most, row) => Math.max(most, row[index]?.length ?? 0), title.length),
  );
  const widths = width === undefined ? natural : shrink(columns, natural, width);
  const place = (text: string, index: number): string => {
    const room = widths[index] ?? text.length;
    const shown = text.length > room ? (columns[index]?.shorten?.(text, room) ?? text) : text;
    return shown.padEnd(index === columns.length - 1 ? 0 : room + GAP);
  };
  const paint = (text: string, isAlarm: boolean): string => {
    if (!hasColour || !isAlarm) return text;
    const shown = text.trimEnd();
    return `${ALARM.on}${shown}${ALARM.off}${text.slice(shown.length)}`;
  };
  const lines = [
    columns.map(({ title }, index) => place(title, index)).join(""),
    ...texts.map((row, line) =>
      row.map((text, index) => paint(place(text, index), rows[line]?.[index]?.isAlarm ?? false)).join(""),
    ),
  ];
  return lines.map((line) => `${line.trimEnd()}\n`).join("");
}

/** All columns that can be shortened share one limit: the largest with which the table fits, or the smallest possible. */
function shrink(columns: readonly Column[], natural: readonly number[], width: number): readonly number[] {
  const room = width - GAP * (natural.length - 1);
  for (let most = Math.max(LEAST, ...natural); ; most -= 1) {
    const widths = natural.map((own, index) =>
      columns[index]?.shorten ? Math.min(own, Math.max(most, columns[index].title.length)) : own,
    );
    if (most <= LEAST || widths.reduce((sum, one) => sum + one, 0) <= room) return widths;
  }
}

/** Drops the middle: generated names start alike and differ at their end. */
export function cutMiddle(text: string, room: number): string {
  if (text.length <= room) return text;
  const tail = Math.floor(room / 2);
  return `${text.slice(0, room - 1 - tail)}…${text.slice(text.length - tail)}`;
}

/** Annotations and server messages come from outside: control characters are shown as `?`. */
export function printable(text: string): string {
  return text.replaceAll(/\p{C}/gu, "?");
}
