/** What went wrong outside the program, in words for the person at the terminal: shown without a stack, exit code 1. */
export class HarnessError extends Error {
  override readonly name = "HarnessError";
}

/** The code of a system call's error (`ENOENT`), or nothing when it is none. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** `error` with its causes, one after the other: network errors keep the reason in the cause. */
export function explain(error: unknown): string {
  const parts: string[] = [];
  for (let at = error; at !== undefined && at !== null && parts.length < 4; at = causeOf(at)) {
    const text = textOf(at);
    if (text !== "" && !parts.some((part) => part.includes(text))) parts.push(text);
  }
  return parts.join(": ");
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message === "" ? (codeOf(error) ?? error.name) : error.message;
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined;
}
