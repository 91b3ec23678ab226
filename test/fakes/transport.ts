import type { Connection } from "../../common/kube/connection.ts";
import type { ByteTransport, HttpRequest, HttpResponse } from "../../common/kube/transport.ts";
import { MooringError } from "../../common/runtime/errors.ts";

/** What a scripted server does with a request. */
export type FakeAnswer =
  | {
      readonly status?: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string | AsyncIterable<Uint8Array>;
    }
  /** No answer ever comes. */
  | "silence"
  /** The connection breaks before an answer. */
  | "broken";

/** Decides by request, and by how many came before it. */
export type FakeServer = (request: HttpRequest, index: number) => FakeAnswer | Promise<FakeAnswer>;

/** A transport without a network. */
export interface FakeTransport extends ByteTransport {
  readonly requests: readonly HttpRequest[];
  /** Keeps nothing of the requests that came. */
  readonly forget: () => void;
}

/**
 * Like an API server without the feature gate WatchList it refuses lists as a stream, without asking the scripted one, unless
 * that one can do it.
 */
export function createFakeTransport(server: FakeServer, { streamsLists = false } = {}): FakeTransport {
  const requests: HttpRequest[] = [];
  return {
    requests,
    forget: () => {
      requests.length = 0;
    },
    send: async (request, signal) => {
      if (!streamsLists && request.path.includes("sendInitialEvents=true")) return toResponse(NO_STREAM, signal);
      const index = requests.push(request) - 1;
      const answer = await orAborted(Promise.resolve(server(request, index)), signal);
      if (answer === "silence") return await orAborted(new Promise<never>(() => {}), signal);
      if (answer === "broken") throw failed("the connection broke");
      return toResponse(answer, signal);
    },
    close: async () => {},
  };
}

/** Answers one after the other; the last one for ever. */
export function inTurn(...answers: readonly FakeAnswer[]): FakeServer {
  return (_, index) => answers[Math.min(index, answers.length - 1)] ?? "broken";
}

/** An answer with a JSON body. */
export function json(body: unknown, status = 200): FakeAnswer {
  return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}

/** The message of a 1.36 server without the feature gate. */
const NO_STREAM = {
  status: 422,
  body: JSON.stringify({
    kind: "Status",
    code: 422,
    reason: "Invalid",
    message: "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
  }),
};

/** A server address with nothing to prove. */
export function createFakeConnection(transport: ByteTransport): Connection {
  return { transport, basePath: "", authorization: async () => undefined, server: "https://fake" };
}

function toResponse(answer: Exclude<FakeAnswer, string>, signal: AbortSignal): HttpResponse {
  const { status = 200, headers = {}, body = "" } = answer;
  return {
    status,
    headers,
    body: untilAborted(typeof body === "string" ? oneChunk(body) : body, signal),
    cancel: () => {},
  };
}

async function* oneChunk(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

async function* untilAborted(body: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  for (;;) {
    const next = await orAborted(chunks.next(), signal);
    if (next.done === true) return;
    yield next.value;
  }
}

/** Like a real transport: the abort of the signal is a failure of the request. */
function orAborted<T>(wait: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(failed(String(signal.reason)));
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    wait.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

function failed(why: string): MooringError {
  return new MooringError("transport-failed", `request failed: ${why}`);
}
