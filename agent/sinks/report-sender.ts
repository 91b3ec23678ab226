import { type BackOff, createBackOff } from "../../common/kube/back-off.ts";
import { ApiError } from "../../common/kube/client.ts";
import { retryAfterMs } from "../../common/kube/retry-after.ts";
import { isUntrusted } from "../../common/kube/rotating-transport.ts";
import { type ByteTransport, readText } from "../../common/kube/transport.ts";
import type { Clock } from "../../common/runtime/clock.ts";
import { follow, withDeadline } from "../../common/runtime/deadline.ts";
import { MooringError, messageOf } from "../../common/runtime/errors.ts";
import type { Logger } from "../../common/runtime/logger.ts";
import type { Counter } from "../../common/runtime/metrics.ts";
import type { Random } from "../../common/runtime/random.ts";
import { redact } from "../../common/runtime/redact.ts";
import { decodeReportAnswer, type NodeMessage, type ReportAnswer } from "../../common/storage/node-report.ts";

/** Sends the newest state of the node to the aggregator. Older states that were not sent yet are dropped. */
export interface ReportSender {
  /** `build` makes the report at the moment of sending, and again for each try. Without a report nothing is sent. */
  readonly submit: (build: () => NodeMessage | undefined) => void;
  readonly run: (signal: AbortSignal) => Promise<void>;
  /** When the last report was accepted, on the boot clock; undefined before the first. */
  readonly acceptedAt: () => number | undefined;
  /** Another number at each try; undefined while there is nothing to send. */
  readonly progress: () => number | undefined;
}

interface ReportSenderParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly transport: ByteTransport;
  readonly reports: Counter<"outcome">;
}

const SEND_TIMEOUT_MS = 10_000;
/** A new leader knows a node only from its agent's next report, so the wait for that is short. */
const BACK_OFF = { firstMs: 200, maxMs: 2_000 };
/** Without a certificate to trust, each try of thousands of agents costs the leader a handshake, and the API server a read. */
const UNTRUSTED_BACK_OFF = { firstMs: 200, maxMs: 15_000 };
/** An aggregator asks for half a minute at most; anything else that answers in its place must not silence a node. */
const MAX_RETRY_MS = 30_000;

/** The report was refused. */
class Refused extends MooringError {
  /** The wait that the aggregator asked for, milliseconds. */
  readonly retryMs: number;

  constructor(message: string, retryMs = 0) {
    super("report-refused", message);
    this.retryMs = Math.min(retryMs, MAX_RETRY_MS);
  }
}

export function createReportSender(
  parts: ReportSenderParts,
  { path, onAnswer }: { readonly path: string; readonly onAnswer: (answer: ReportAnswer, sent: NodeMessage) => void },
): ReportSender {
  const { clock, random, logger, reports } = parts;
  const backOff = createReportBackOff(random);
  let newest: (() => NodeMessage | undefined) | undefined;
  let submitted = new AbortController();
  let acceptedAt: number | undefined;
  const failures = createFailures(logger);
  let triedAt: number | undefined;

  const attempt = async (report: NodeMessage | undefined, signal: AbortSignal): Promise<void> => {
    if (report === undefined) return;
    const answer = await send(parts, { path, report, signal });
    acceptedAt = clock.monotonicMs();
    reports.increment({ outcome: "accepted" });
    backOff.reset();
    failures.end();
    onAnswer(answer, report);
  };
  const failed = (error: unknown): number => {
    if (!(error instanceof MooringError)) throw error;
    failures.note(error);
    reports.increment({ outcome: error.code });
    return backOff.next(error);
  };

  return {
    acceptedAt: () => acceptedAt,
    progress: () => triedAt,
    submit: (build) => {
      newest = build;
      submitted.abort("submitted");
    },
    run: async (signal) => {
      while (!signal.aborted) {
        const build = newest;
        newest = undefined;
        triedAt = build && clock.monotonicMs();
        if (build === undefined) {
          submitted = new AbortController();
          await pause(clock, submitted, signal);
          continue;
        }
        try {
          await attempt(build(), signal);
        } catch (error) {
          if (signal.aborted) return;
          newest ??= build;
          await clock.sleep(failed(error), signal);
        }
      }
    },
  };
}

function createReportBackOff(random: Random): BackOff {
  const [usual, untrusted] = [createBackOff(random, BACK_OFF), createBackOff(random, UNTRUSTED_BACK_OFF)];
  return {
    next: (error) =>
      (isTrustMissing(error) ? untrusted : usual).next(error) + (error instanceof Refused ? error.retryMs : 0),
    reset: () => {
      usual.reset();
      untrusted.reset();
    },
  };
}

/** The aggregator's certificate is not trusted, or what to trust cannot be read: the API server alone answers with an `ApiError`. */
function isTrustMissing(error: unknown): boolean {
  const isUnpublished = error instanceof MooringError && error.code === "certificate-invalid";
  return isUnpublished || error instanceof ApiError || isUntrusted(error);
}

/** Consecutive failures: logged at widening intervals, and their end once. */
function createFailures(logger: Logger): { readonly note: (error: Error) => void; readonly end: () => void } {
  let failures = 0;
  return {
    note: (error) => {
      failures += 1;
      if (Number.isInteger(Math.log2(failures)))
        logger.warn({ err: messageOf(error), failures }, "report not delivered");
    },
    end: () => {
      if (failures > 0) logger.info({ failures }, "reports are accepted again");
      failures = 0;
    },
  };
}

/** Until there is something to send, or the sender stops. */
async function pause(clock: Clock, submitted: AbortController, signal: AbortSignal): Promise<void> {
  const unfollow = follow(submitted, signal);
  await clock.sleep(3_600_000, submitted.signal);
  unfollow();
}

async function send(
  { clock, transport }: ReportSenderParts,
  { path, report, signal }: { readonly path: string; readonly report: NodeMessage; readonly signal: AbortSignal },
): Promise<ReportAnswer> {
  const headers = { "content-type": "application/json", accept: "application/json" };
  const { status, retryMs, text } = await withDeadline({ clock, signal }, SEND_TIMEOUT_MS, async (limited) => {
    const response = await transport.send({ method: "PUT", path, headers, body: JSON.stringify(report) }, limited);
    const retryMs = retryAfterMs(response.headers, { nowMs: clock.wallMs() });
    return { status: response.status, retryMs, text: await readText(response) };
  });
  if (status !== 200) throw new Refused(`the aggregator answered ${status}: ${redact(text).slice(0, 500)}`, retryMs);
  const answer = decodeReportAnswer(parse(text));
  if (!answer.ok) throw new Refused(`the aggregator's answer is not understood: ${answer.problems.join("; ")}`);
  return answer.value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
