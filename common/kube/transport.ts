import { MooringError } from "../runtime/errors.ts";

/** A request as it goes over the wire. */
export interface HttpRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path and query, beginning with a slash. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

/** An answer whose body arrives as a stream; whoever gets it reads it to its end or calls `cancel`. */
export interface HttpResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array>;
  readonly cancel: () => void;
}

/**
 * One request, one streamed answer. This is the whole network as Mooring sees it, so that faults and simulations replace
 * just this. Rejects with `MooringError` "transport-failed" when no answer comes.
 */
export interface ByteTransport {
  readonly send: (request: HttpRequest, signal: AbortSignal) => Promise<HttpResponse>;
  readonly close: () => Promise<void>;
}

/** The whole body as text. One of more than `maxBytes` is given up: rejects with `MooringError` "transport-failed". */
export async function readText(response: HttpResponse, maxBytes = Number.POSITIVE_INFINITY): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes <= maxBytes) continue;
    response.cancel();
    throw new MooringError("transport-failed", `the answer is larger than ${maxBytes} bytes`);
  }
  return Buffer.concat(chunks).toString("utf8");
}
