import type { Clock } from "../runtime/clock.ts";
import { orAborted, withDeadline, withDeadlineToBegin } from "../runtime/deadline.ts";
import { MooringError } from "../runtime/errors.ts";
import { parseHttpDate } from "../runtime/http-date.ts";
import { type Instant, instantOf } from "../runtime/instant.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Random } from "../runtime/random.ts";
import { redact } from "../runtime/redact.ts";
import type { Connection } from "./connection.ts";
import { retryAfterMs } from "./retry-after.ts";
import { narrow, type ServerClockBounds, type ServerTime, serverTime } from "./server-clock.ts";
import { type ApiStatus, readStatus, type StatusDetails } from "./status.ts";
import { type HttpRequest, type HttpResponse, readText } from "./transport.ts";

/** An answer of the API server that is not a success. */
export class ApiError extends MooringError {
  /** The HTTP status, or the code in a watch's ERROR event. */
  readonly status: number;
  /** The server's or a proxy's `Retry-After`, at most five minutes. Milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** The reason of the `Status`, such as `Conflict`; empty when the answer was no `Status` (a proxy's, most likely). */
  readonly reason: string;
  readonly details: StatusDetails;

  constructor(
    message: string,
    answer: {
      readonly status: number;
      readonly retryAfterMs: number | undefined;
      readonly reason?: string;
      readonly details?: StatusDetails;
    },
  ) {
    const { status, retryAfterMs, reason = "", details = NO_DETAILS } = answer;
    super("api-rejected", message, { retriable: isRetriable(status, details) });
    this.status = status;
    this.retryAfterMs = retryAfterMs;
    this.reason = reason;
    this.details = details;
  }
}

const NO_DETAILS: StatusDetails = { name: "", kind: "", causes: [], retryAfterSeconds: undefined };

/**
 * Whether the request may succeed later. 401 and 403 may mean a role or token that is not there yet, so they are retried, slowly, like an
 * overloaded or failing server. So is a 404 that names no object: a resource that is not served yet, or a misrouted proxy.
 */
function isRetriable(status: number, { name }: StatusDetails): boolean {
  if (status === 404) return name === "";
  return status >= 500 || [401, 403, 408, 409, 425, 429].includes(status);
}

/** A request to the API server. The client escapes the values of `query`. */
export interface ApiRequest {
  readonly method: HttpRequest["method"];
  readonly path: string;
  readonly query?: Readonly<Record<string, string>> | undefined;
  readonly body?: unknown;
  readonly contentType?: string | undefined;
  /** The content type to accept; JSON by default. */
  readonly accept?: string | undefined;
  /** Called right before the transport gets the request, after every wait. If it throws, the request rejects with that error. */
  readonly beforeSend?: (() => void) | undefined;
}

/** Called when a request ends: `code` is the status of the answer, or `<error>`, as in client-go. */
export type RequestObserver = (answer: {
  readonly method: HttpRequest["method"];
  readonly code: string;
  readonly ms: number;
}) => void;

/** A client of the API server that also tracks the server's clock. */
export interface KubeClient {
  /** The parsed body of a successful answer, 64 MiB at most. Throws `ApiError`, or `MooringError` when no answer came within a minute. */
  readonly request: (request: ApiRequest, signal: AbortSignal) => Promise<unknown>;
  /** A successful answer as soon as its head arrives, within a minute; the body has no limit of time or size. */
  readonly open: (request: ApiRequest, signal: AbortSignal) => Promise<HttpResponse>;
  /** The present time of the server's wall clock; undefined before the first answer. */
  readonly serverTime: () => ServerTime | undefined;
  /** Number of requests sent, watches included. */
  readonly requests: () => number;
  /** From now on calls this when a request ends; for a watch, when it begins. */
  readonly observe: (observer: RequestObserver) => void;
  /** The server's name in messages. */
  readonly server: string;
  readonly close: () => Promise<void>;
}

/** What code needs to send its own requests to the API server. */
export interface KubeParts {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** A request without an answer is given up after this time, wherever it waits: also in the queue of a dead connection. */
const REQUEST_TIMEOUT_MS = 60_000;

/** The largest body that is kept as one text; larger answers are read as a stream or by pages. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const MAX_REFUSAL_BYTES = 1024 * 1024;

/** A client on one shared transport. `userAgent` identifies it in the server's audit log. */
export function createKubeClient(
  connection: Connection,
  { clock, userAgent = "mooring" }: { readonly clock: Clock; readonly userAgent?: string },
): KubeClient {
  const { transport, basePath } = connection;
  let bounds: ServerClockBounds | undefined;
  let requests = 0;
  let observer: RequestObserver = () => {};

  const send = async (request: ApiRequest, signal: AbortSignal): Promise<HttpResponse> => {
    // An exec plugin of the kubeconfig may hang.
    const authorization = await orAborted(connection.authorization(), signal);
    request.beforeSend?.();
    requests += 1;
    const { method } = request;
    const sentAt = instantOf(clock);
    const end = (code: string, { monotonicMs }: Instant): void =>
      observer({ method, code, ms: monotonicMs - sentAt.monotonicMs });
    const response = await transport
      .send(toHttp(request, { basePath, userAgent, authorization }), signal)
      .catch((error: unknown) => {
        end("<error>", instantOf(clock));
        throw error;
      });
    const receivedAt = instantOf(clock);
    end(String(response.status), receivedAt);
    const dateMs = parseHttpDate(response.headers.date);
    if (dateMs !== undefined) bounds = narrow(bounds, { dateMs, sentAt, receivedAt }, clock.rate.driftPpm);
    if (response.status >= 300) throw await toError(request, response, clock.wallMs());
    return response;
  };

  return {
    open: (request, signal) =>
      withDeadlineToBegin({ clock, signal }, REQUEST_TIMEOUT_MS, (limited) => send(request, limited)),
    request: async (request, signal) => {
      const text = await withDeadline({ clock, signal }, REQUEST_TIMEOUT_MS, async (limited) =>
        readText(await send(request, limited), MAX_ANSWER_BYTES),
      );
      return text === "" ? undefined : parseJson(text, request.path);
    },
    serverTime: () => (bounds === undefined ? undefined : serverTime(bounds, instantOf(clock), clock.rate.driftPpm)),
    requests: () => requests,
    observe: (next) => {
      observer = next;
    },
    server: connection.server,
    close: () => transport.close(),
  };
}

function toHttp(
  { method, path, query, body, contentType, accept = "application/json" }: ApiRequest,
  {
    basePath,
    userAgent,
    authorization,
  }: { readonly basePath: string; readonly userAgent: string; readonly authorization: string | undefined },
): HttpRequest {
  const search = new URLSearchParams(query).toString();
  const headers = {
    accept,
    "user-agent": userAgent,
    ...(authorization === undefined ? {} : { authorization }),
    ...(body === undefined ? {} : { "content-type": contentType ?? "application/json" }),
  };
  const target = `${basePath}${path}${search === "" ? "" : `?${search}`}`;
  return { method, path: target, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
}

async function toError({ method, path }: ApiRequest, response: HttpResponse, nowMs: number): Promise<ApiError> {
  const text = await readText(response, MAX_REFUSAL_BYTES).catch(() => "");
  const status = statusIn(text);
  return new ApiError(
    `${method} ${path} answered ${response.status}: ${status?.message || redact(text).slice(0, 200)}`,
    {
      status: response.status,
      retryAfterMs: retryAfterMs(response.headers, { seconds: status?.details.retryAfterSeconds, nowMs }),
      ...(status && { reason: status.reason, details: status.details }),
    },
  );
}

/** The `Status` object of a refusal; undefined for a proxy's page. */
function statusIn(text: string): ApiStatus | undefined {
  try {
    return readStatus(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new MooringError("transport-failed", `the answer for ${path} is no JSON`, { cause });
  }
}
