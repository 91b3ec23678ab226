import { writeSync } from "node:fs";
import type { Screen } from "./table.ts";

/** The text for standard output, and for standard error. */
export interface Printout {
  readonly text: string;
  readonly notices: readonly string[];
  /** 130 after Ctrl-C, as in shells. */
  readonly code: 0 | 1 | 130;
}

/** The terminal's abilities; a wide table is never cut. */
export function screenOf(isWide: boolean): Screen {
  const { isTTY, columns } = process.stdout;
  const { NO_COLOR, TERM } = process.env;
  return {
    width: isTTY && !isWide ? columns : undefined,
    hasColour: isTTY && !NO_COLOR && TERM !== "dumb",
  };
}

/** Prints a command's output, and sets the exit code. */
export async function print(command: Promise<Printout>): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", endWithoutOutput);
  const { text, notices, code } = await command;
  // Notes on standard error come after the list, also if one terminal shows both.
  await new Promise<void>((resolve) => {
    process.stdout.write(text, (error) => {
      if (!error) resolve();
    });
  });
  for (const line of notices) process.stderr.write(`${line}\n`);
  process.exitCode = code;
}

/** A closed reader, such as `head`, is no error; a full disk is one. */
function endWithoutOutput({ code, message }: NodeJS.ErrnoException): void {
  if (code === "EPIPE") process.exit(0);
  try {
    writeSync(process.stderr.fd, `error: cannot write the output: ${message}\n`);
  } finally {
    process.exit(1);
  }
}
