import type { Clock } from "../runtime/clock.ts";
import { orAborted, withDeadline } from "../runtime/deadline.ts";
import { MooringError } from "../runtime/errors.ts";
import { parseHttpDate } from "../runtime/http-date.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Random } from "../runtime/random.ts";
import type { Connection } from "./connection.ts";
import { narrow, type ServerClockBounds, type ServerTime, serverTime } from "./server-clock.ts";
import { type ApiStatus, readStatus, type StatusDetails } from "./status.ts";
import { type HttpRequest, type HttpResponse, readText } from "./transport.ts";

/** An answer of the API server that is not a success. */
export class ApiError extends MooringError {
  /** The HTTP status, or the code that a watch ended with. */
  readonly status: number;
  /** What the server or a proxy asked for, at most five minutes. Milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** The machine's word for it, such as `Conflict`; empty when the answer was no `Status` object (a proxy's, most likely). */
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
 * 401 and 403 can be a role or token that is not there yet: retried, slowly, like an overloaded or failing server. So can a 404
 * that names no object: a resource that is not served yet, or a proxy that has lost its way.
 */
function isRetriable(status: number, { name }: StatusDetails): boolean {
  if (status === 404) return name === "";
  return status >= 500 || [401, 403, 408, 409, 425, 429].includes(status);
}

/** What is asked of the API server. Values of `query` are escaped here. */
export interface ApiRequest {
  readonly method: HttpRequest["method"];
  readonly path: string;
  readonly query?: Readonly<Record<string, string>> | undefined;
  readonly body?: unknown;
  readonly contentType?: string | undefined;
}

/** The API server, with its clock. */
export interface KubeClient {
  /** The parsed body of a success. Throws `ApiError`, or `MooringError` when no answer came. */
  readonly request: (request: ApiRequest, signal: AbortSignal) => Promise<unknown>;
  /** The answer of a success, its body not yet read. */
  readonly open: (request: ApiRequest, signal: AbortSignal) => Promise<HttpResponse>;
  /** What the server's wall clock shows now; nothing before the first answer. */
  readonly serverTime: () => ServerTime | undefined;
  /** How many requests have been sent, watches included. */
  readonly requests: () => number;
  /** The server as people know it. */
  readonly server: string;
  readonly close: () => Promise<void>;
}

/** What everything that talks to the API server on its own needs. */
export interface KubeParts {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** A request is given up when its answer is not there after this time. */
const REQUEST_TIMEOUT_MS = 60_000;

/** A proxy that asks for more is confused, and must not stop us for days. */
const LONGEST_RETRY_AFTER_MS = 300_000;

/** A client on one shared transport. */
export function createKubeClient(connection: Connection, { clock }: { readonly clock: Clock }): KubeClient {
  const { transport, basePath } = connection;
  let bounds: ServerClockBounds | undefined;
  let requests = 0;

  const send = async (request: ApiRequest, signal: AbortSignal): Promise<HttpResponse> => {
    // A program that the kubeconfig names may hang.
    const authorization = await orAborted(connection.authorization(), signal);
    requests += 1;
    const sentAt = clock.monotonicMs();
    const response = await transport.send(toHttp(request, { basePath, authorization }), signal);
    const dateMs = parseHttpDate(response.headers.date);
    if (dateMs !== undefined) {
      bounds = narrow(bounds, { dateMs, sentAt, receivedAt: clock.monotonicMs() }, clock.rate.driftPpm);
    }
    if (response.status >= 300) throw await toError(request, response);
    return response;
  };

  return {
    open: send,
    request: async (request, signal) => {
      const text = await withDeadline({ clock, signal }, REQUEST_TIMEOUT_MS, async (limited) =>
        readText(await send(request, limited)),
      );
      return text === "" ? undefined : parseJson(text, request.path);
    },
    serverTime: () => (bounds === undefined ? undefined : serverTime(bounds, clock.monotonicMs(), clock.rate.driftPpm)),
    requests: () => requests,
    server: connection.server,
    close: () => transport.close(),
  };
}

function toHttp(
  { method, path, query, body, contentType }: ApiRequest,
  { basePath, authorization }: { readonly basePath: string; readonly authorization: string | undefined },
): HttpRequest {
  const search = new URLSearchParams(query).toString();
  const headers = {
    accept: "application/json",
    "user-agent": "mooring",
    ...(authorization === undefined ? {} : { authorization }),
    ...(body === undefined ? {} : { "content-type": contentType ?? "application/json" }),
  };
  const target = `${basePath}${path}${search === "" ? "" : `?${search}`}`;
  return { method, path: target, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
}

async function toError({ method, path }: ApiRequest, response: HttpResponse): Promise<ApiError> {
  const text = await readText(response).catch(() => "");
  const status = statusIn(text);
  const asked = Number(response.headers["retry-after"]) || status?.details.retryAfterSeconds || 0;
  return new ApiError(`${method} ${path} answered ${response.status}: ${status?.message || text.slice(0, 200)}`, {
    status: response.status,
    retryAfterMs: asked > 0 ? Math.min(asked * 1000, LONGEST_RETRY_AFTER_MS) : undefined,
    ...(status && { reason: status.reason, details: status.details }),
  });
}

/** The `Status` object of a refusal; a proxy writes something else. */
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
