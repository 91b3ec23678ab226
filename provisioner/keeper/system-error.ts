import { getSystemErrorMap, getSystemErrorName } from "node:util";
import { lastErrno } from "../../common/runtime/libc.ts";

/** Failure of a system call that Node.js lacks; it has the form of Node.js's own errors. */
export class SystemError extends Error {
  override readonly name = "SystemError";
  readonly code: string;

  constructor(call: string, errno: number = lastErrno()) {
    const [code, text] = getSystemErrorMap().get(-errno) ?? [getSystemErrorName(-errno), `error ${errno}`];
    super(`${code}: ${text}, ${call}`);
    this.code = code;
  }
}

/** The code of a failed system call, such as `ENOENT`; undefined for any other thrown value. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return undefined;
  return /^E[A-Z0-9]+$/.test(error.code) ? error.code : undefined;
}

/** The result of `work`; undefined where it fails with this code. */
export async function unlessCode<T>(code: string, work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (systemCode(error) === code) return undefined;
    throw error;
  }
}
