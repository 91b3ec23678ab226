import { getSystemErrorMap, getSystemErrorName } from "node:util";
import { lastErrno } from "../../common/runtime/libc.ts";

/** A system call that Node.js does not offer has failed; it looks like those of Node.js. */
export class SystemError extends Error {
  override readonly name = "SystemError";
  readonly code: string;

  constructor(call: string, errno: number = lastErrno()) {
    const [code, text] = getSystemErrorMap().get(-errno) ?? [getSystemErrorName(-errno), `error ${errno}`];
    super(`${code}: ${text}, ${call}`);
    this.code = code;
  }
}

/** The code of a failed system call, such as `ENOENT`; nothing for anything else that was thrown. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return undefined;
  return /^E[A-Z0-9]+$/.test(error.code) ? error.code : undefined;
}

/** What `work` gives, or nothing where it fails with this code. */
export async function unlessCode<T>(code: string, work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (systemCode(error) === code) return undefined;
    throw error;
  }
}
