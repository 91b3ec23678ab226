import { MooringError } from "../runtime/errors.ts";

/** A request as it is sent. */
export interface HttpRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path and query, with a leading slash. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

/** An answer whose body arrives as a stream. Its receiver must read it to the end or call `cancel`. */
export interface HttpResponse {
  readonly status: number;
  /** Header names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array>;
  readonly cancel: () => void;
}

/**
 * One request, one streamed answer. This is Mooring's whole network interface: fault injection and simulations replace only this. Rejects
 * with `MooringError` "transport-failed" when no answer comes.
 */
export interface ByteTransport {
  readonly send: (request: HttpRequest, signal: AbortSignal) => Promise<HttpResponse>;
  readonly close: () => Promise<void>;
}

/** The whole body as text. Gives up a body of more than `maxBytes`: rejects with `MooringError` "transport-failed". */
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
