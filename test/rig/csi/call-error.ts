import type { FailureCode } from "./faults.ts";

/** What a call is answered with instead of a success. */
export class CallError extends Error {
  override readonly name = "CallError";
  readonly code: FailureCode;

  constructor(code: FailureCode, message: string) {
    super(message);
    this.code = code;
  }
}
