import { BodyBudgetExceeded } from "./body-budget.ts";
import { messageOf } from "./errors.ts";
import { BodyEncoded, BodyTooLarge, CallerGone } from "./http-body.ts";
import type { Logger } from "./logger.ts";

/** The part of a route's answer that a failure sets. */
interface FailureAnswer {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly isLast?: boolean;
}

/** The answer when a route threw: a body that cannot be accepted is the caller's fault, anything else a bug of the server. */
export function failure(error: unknown, logger: Logger): FailureAnswer {
  if (error instanceof BodyTooLarge) return { status: 413, body: `${error.message}\n` };
  if (error instanceof BodyBudgetExceeded)
    return { status: 503, body: `${error.message}\n`, headers: { "retry-after": "1" }, isLast: true };
  if (error instanceof BodyEncoded) return { status: 415, body: `${error.message}\n` };
  if (error instanceof CallerGone) {
    logger.debug({ err: messageOf(error.cause) }, "caller went away");
    return { status: 400, body: "the body broke off\n" };
  }
  if (error instanceof URIError) return { status: 400, body: "bad escape in the path\n" };
  logger.error({ err: error }, "request failed");
  return { status: 500, body: "internal error\n" };
}
