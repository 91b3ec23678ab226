/** The kind of an operational failure; the code is stable and appears in logs and metrics. */
export type ErrorCode =
  | "config-invalid"
  | "kubeconfig-invalid"
  | "transport-failed"
  | "api-rejected"
  | "watch-broken"
  | "list-invalid"
  | "mount-table-unreadable"
  | "report-invalid"
  | "report-refused"
  | "journal-unusable"
  | "listen-failed"
  | "certificate-invalid"
  | "file-unreadable"
  | "not-leading"
  | "traces-left"
  | "kernel-unusable"
  | "keeper-failed";

/** An operational failure: expected to happen, not a bug. The work queue and the loops decide by `retriable` how to go on. */
export class MooringError extends Error {
  override readonly name = "MooringError";
  readonly code: ErrorCode;
  readonly retriable: boolean;

  constructor(
    code: ErrorCode,
    message: string,
    options: { readonly cause?: unknown; readonly retriable?: boolean } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.retriable = options.retriable ?? true;
  }
}

/** The message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
