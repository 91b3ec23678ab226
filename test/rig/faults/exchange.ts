import { once } from "node:events";
import type { OutgoingHttpHeaders } from "node:http";
import { constants, Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Clock } from "../../../common/runtime/clock.ts";
import { type Asked, readAsked } from "./asked.ts";
import type { FaultKind } from "./fault.ts";
import type { Call } from "./front.ts";

/** What became of a request, in milliseconds of the proxy's clock. */
export interface RequestRecord extends Asked {
  readonly beganAt: number;
  /** Nothing as long as it is under way. */
  readonly endedAt: number | undefined;
  /** Nothing when no head of an answer was sent. */
  readonly status: number | undefined;
  /** What the answer asked for, milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** How many whole events went out. */
  readonly events: number;
  /** What hit it. */
  readonly faults: readonly FaultKind[];
  /** It was told that the server has forgotten what it wants. */
  readonly isExpired: boolean;
  /** The answer went out whole, as the server gave it. */
  readonly isWhole: boolean;
  /** The client left before it was over: it alone knows when. */
  readonly isGivenUp: boolean;
}

/** One request under way, and every way to answer it or not. What is done after its end does nothing. */
export class Exchange {
  readonly asked: Asked;
  /** The name of its connection at the relay. */
  readonly connection: number;
  /** Aborted when the client leaves or the proxy breaks off. */
  readonly gone: AbortSignal;
  readonly #call: Call;
  readonly #clock: Clock;
  readonly #beganAt: number;
  readonly #faults: FaultKind[] = [];
  #endedAt: number | undefined;
  #status: number | undefined;
  #retryAfterMs: number | undefined;
  #events = 0;
  #isExpired = false;
  #isWhole = false;
  /** Nothing goes out any more. */
  #isOver = false;
  /** Answered to its end or broken off, which the client notices. */
  #isEnded = false;
  #isGivenUp = false;

  constructor(call: Call, clock: Clock) {
    const { request, response } = call;
    const { method = "GET", url: target = "/", headers } = request;
    this.asked = readAsked({ method, target, accept: headers.accept });
    this.connection = request.socket.remotePort ?? 0;
    this.#call = call;
    this.#clock = clock;
    this.#beganAt = clock.monotonicMs();
    const gone = new AbortController();
    this.gone = gone.signal;
    response.on("close", () => {
      this.#isGivenUp = !this.#isEnded;
      this.#endedAt ??= clock.monotonicMs();
      gone.abort();
    });
    for (const stream of [request, response]) {
      // "close" follows, which is all that matters here.
      stream.on("error", () => {});
    }
  }

  get record(): RequestRecord {
    return {
      ...this.asked,
      beganAt: this.#beganAt,
      endedAt: this.#endedAt,
      status: this.#status,
      retryAfterMs: this.#retryAfterMs,
      events: this.#events,
      faults: this.#faults,
      isExpired: this.#isExpired,
      isWhole: this.#isWhole,
      isGivenUp: this.#isGivenUp,
    };
  }

  get isOpen(): boolean {
    return !this.gone.aborted && !this.#isOver;
  }

  /** Notes that a fault has hit it. */
  mark(fault: FaultKind): void {
    this.#faults.push(fault);
  }

  head(status: number, headers: OutgoingHttpHeaders): void {
    if (!this.isOpen) return;
    this.#status = status;
    if (status === 410) this.expire();
    const retryAfter = Number(headers["retry-after"]);
    if (retryAfter > 0) this.#retryAfterMs = retryAfter * 1000;
    const { response } = this.#call;
    if (response instanceof Http2ServerResponse) response.writeHead(status, headers);
    else response.writeHead(status, headers).flushHeaders();
  }

  /** Returns when the client's connection takes more. */
  async write(chunk: Uint8Array): Promise<void> {
    if (!this.isOpen) return;
    const { response } = this.#call;
    const isTaken = response instanceof Http2ServerResponse ? response.write(chunk) : response.write(chunk);
    if (isTaken) return;
    await once(response, "drain", { signal: this.gone }).catch(() => {
      // Gone: nobody waits for it any more.
    });
  }

  /** A whole event of a watch. */
  async writeEvent(line: Uint8Array): Promise<void> {
    await this.write(line);
    if (this.isOpen) this.#events += 1;
  }

  /** Ends the answer in good order. */
  end(): void {
    if (this.isOpen) this.#call.response.end();
    this.#isEnded = true;
    this.#isOver = true;
  }

  /** The same, of an answer that went out as the server gave it. */
  endWhole(): void {
    if (!this.isOpen) return;
    this.#isWhole = true;
    this.end();
  }

  /** Breaks the answer off: RST_STREAM, or the end of the connection over HTTP/1.1. */
  reset(): void {
    this.#isEnded = true;
    const { request } = this.#call;
    if (request instanceof Http2ServerRequest) request.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    else request.socket.destroy();
  }

  /** Notes that it is told of 410. */
  expire(): void {
    this.#isExpired = true;
  }

  /** Its connection is broken: whatever was answered, the client may not have it. */
  lose(): void {
    this.#endedAt ??= this.#clock.monotonicMs();
    this.#isEnded = true;
    this.#retryAfterMs = undefined;
    this.silence();
  }

  /** Nothing goes out any more, and the answer does not end. */
  silence(): void {
    this.#isOver = true;
  }

  /** Says GOAWAY on its connection. Answers false over HTTP/1.1, which has no such thing. */
  goAway(): boolean {
    const { request } = this.#call;
    const session = request instanceof Http2ServerRequest ? request.stream.session : undefined;
    session?.close();
    return session !== undefined;
  }
}
