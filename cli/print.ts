import { writeSync } from "node:fs";
import type { Screen } from "./table.ts";

/** What goes to standard output, and what beside it to standard error. */
export interface Printout {
  readonly text: string;
  readonly notices: readonly string[];
  /** 130 where Ctrl-C ended it, as shells have it. */
  readonly code: 0 | 1 | 130;
}

/** What the terminal can show; a wide table is never cut. */
export function screenOf(isWide: boolean): Screen {
  const { isTTY, columns } = process.stdout;
  const { NO_COLOR, TERM } = process.env;
  return {
    width: isTTY && !isWide ? columns : undefined,
    hasColour: isTTY && !NO_COLOR && TERM !== "dumb",
  };
}

/** Prints what a command comes to, and sets the exit code. */
export async function print(command: Promise<Printout>): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", endWithoutOutput);
  const { text, notices, code } = await command;
  // What is said beside the list comes after it, also where both go to one terminal.
  await new Promise<void>((resolve) => {
    process.stdout.write(text, (error) => {
      if (!error) resolve();
    });
  });
  for (const line of notices) process.stderr.write(`${line}\n`);
  process.exitCode = code;
}

/** A reader that has gone, as `head` does, wants no more: not an error. A full disk is one. */
function endWithoutOutput({ code, message }: NodeJS.ErrnoException): void {
  if (code === "EPIPE") process.exit(0);
  try {
    writeSync(process.stderr.fd, `error: cannot write the output: ${message}\n`);
  } finally {
    process.exit(1);
  }
}
