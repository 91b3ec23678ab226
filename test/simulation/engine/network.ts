import type { ByteTransport, HttpRequest, HttpResponse } from "../../../common/kube/transport.ts";
import { MooringError } from "../../../common/runtime/errors.ts";
import type { Call, Fate, FaultPolicy } from "./fate.ts";
import { Pipe } from "./pipe.ts";
import { type Life, never } from "./process.ts";
import { refusalAnswer } from "./refusal.ts";
import type { Cancel, Scheduler } from "./scheduler.ts";

/** Receives the pieces of a streamed answer from the server. */
export interface Sink {
  readonly write: (text: string) => void;
  readonly end: () => void;
  /** The connection breaks. */
  readonly fail: (why: string) => void;
}

/** The answer of a server, or the end of its connection. */
export type Answer =
  | { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: string }
  | {
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      /** Called after the head; returns a function that the network calls when the reader goes away. */
      readonly stream: (sink: Sink) => Cancel;
    }
  /** The server refuses or breaks the connection. */
  | "reset"
  /** The host does not exist: no answer. */
  | "silence";

/** Answers requests. */
export interface Endpoint {
  /** Takes a request that has arrived. It calls `respond` at most once, now or later. */
  readonly receive: (request: HttpRequest, from: Sender, respond: (answer: Answer) => void) => void;
}

/** The sender of a request, and the faults of its connection. */
export interface Sender {
  readonly process: string;
  readonly fate: Fate;
}

export interface NetworkParts {
  readonly scheduler: Scheduler;
  readonly faultPolicy: FaultPolicy;
}

interface Way {
  readonly to: Call["to"];
  readonly endpoint: Endpoint;
  /** Names the kind of request. */
  readonly siteOf: (request: HttpRequest) => string;
}

const USUAL_MS = 0.3;

/** The transport of a process. After the end of the process no answer reaches it. */
export function createTransport(parts: NetworkParts, life: Life, { to, endpoint, siteOf }: Way): ByteTransport {
  return {
    close: async () => {},
    send: (request, signal) => {
      const site = siteOf(request);
      if (!life.survives(site, "before")) return never();
      return new Promise((resolve, reject) => {
        if (signal.aborted) return reject(failed(site, "given up"));
        const call = { from: life.name, to, site, request };
        const exchange = new Exchange(parts, life, { call, endpoint, fate: parts.faultPolicy(call) });
        exchange.start(signal, resolve, reject);
        life.survives(site, "sent");
      });
    },
  };
}

interface Sending {
  readonly call: Call;
  readonly endpoint: Endpoint;
  readonly fate: Fate;
}

/** One request and its answer. */
class Exchange {
  readonly #parts: NetworkParts;
  readonly #life: Life;
  readonly #sending: Sending;
  #resolve: ((response: HttpResponse) => void) | undefined;
  #reject: ((error: MooringError) => void) | undefined;
  #signal: AbortSignal | undefined;
  #pipe: Pipe | undefined;
  /** Stops the server's stream. */
  #hangUp: Cancel = () => {};
  #isOver = false;
  /** Pieces of one stream never overtake each other. */
  #lastPieceMs = 0;

  constructor(parts: NetworkParts, life: Life, sending: Sending) {
    this.#parts = parts;
    this.#life = life;
    this.#sending = sending;
  }

  start(signal: AbortSignal, resolve: (response: HttpResponse) => void, reject: (error: MooringError) => void): void {
    this.#resolve = resolve;
    this.#reject = reject;
    this.#signal = signal;
    signal.addEventListener("abort", this.#giveUp);
    this.#life.open.add(this.#close);
    const { fate } = this.#sending;
    fate.keep?.(() => this.#arrive(() => {}));
    if (fate.lost === "request") {
      this.#breakLater();
      return;
    }
    const wayMs = fate.requestMs ?? USUAL_MS;
    this.#after(wayMs, () => this.#arrive((answer) => this.#respond(answer)));
    for (const ms of fate.againAfterMs ?? []) this.#after(wayMs + ms, () => this.#arrive(() => {}));
  }

  /** On the server's side: this happens although the sender may be gone. */
  #arrive(respond: (answer: Answer) => void): void {
    const { call, endpoint, fate } = this.#sending;
    fate.meanwhile?.();
    if (fate.refusal !== undefined) respond(refusalAnswer(fate.refusal));
    else endpoint.receive(call.request, { process: call.from, fate }, respond);
  }

  #respond(answer: Answer): void {
    if (this.#isOver || answer === "silence") return;
    const { fate, call } = this.#sending;
    if (answer === "reset") {
      this.#later(() => this.#fail("the connection was reset"));
      return;
    }
    if (fate.lost === "answer") {
      this.#breakLater();
      return;
    }
    this.#later(() => {
      if (this.#life.survives(call.site, "after")) this.#show(answer);
    });
    if ("stream" in answer) this.#hangUp = answer.stream(this.#sink());
    if (fate.cutAfterMs !== undefined && "stream" in answer)
      this.#after(fate.cutAfterMs, () => this.#later(() => this.#cut()));
  }

  #show(answer: Exclude<Answer, string>): void {
    const { status, headers } = answer;
    const pipe = new Pipe(this.#close);
    this.#pipe = pipe;
    this.#resolve?.({ status, headers, body: pipe, cancel: () => pipe.end() });
    if ("body" in answer) this.#whole(pipe, answer.body);
  }

  /** Sends a whole body. A cut breaks it in the middle. */
  #whole(pipe: Pipe, body: string): void {
    const bytes = Buffer.from(body);
    if (this.#sending.fate.cutAfterMs === undefined) {
      if (bytes.length > 0) pipe.write(bytes);
      pipe.end();
      return;
    }
    pipe.write(bytes.subarray(0, bytes.length >> 1));
    pipe.fail(`${this.#sending.call.site} broke off`);
  }

  /** Cuts within a line. */
  #cut(): void {
    this.#pipe?.write(Buffer.from('{"type":"MODIFIED","obj'));
    this.#fail("the connection was cut");
  }

  #sink(): Sink {
    return {
      write: (text) => this.#later(() => this.#pipe?.write(Buffer.from(text))),
      end: () => this.#later(() => this.#pipe?.end()),
      fail: (why) => this.#later(() => this.#fail(why)),
    };
  }

  /** Delivers to the sender, in order. */
  #later(act: () => void): void {
    const { scheduler } = this.#parts;
    const atMs = Math.max(this.#lastPieceMs, scheduler.nowMs() + (this.#sending.fate.answerMs?.() ?? USUAL_MS));
    // Two events at the same moment happen in random order: this keeps pieces apart.
    this.#lastPieceMs = atMs + 0.001;
    scheduler.at(atMs, () => {
      if (!this.#isOver) this.#life.deliver(act);
    });
  }

  #after(ms: number, act: () => void): void {
    this.#parts.scheduler.after(ms, act);
  }

  #breakLater(): void {
    const { brokenAfterMs } = this.#sending.fate;
    if (brokenAfterMs === undefined) return;
    this.#after(brokenAfterMs, () => this.#life.deliver(() => this.#fail("the connection broke")));
  }

  #fail(why: string): void {
    if (this.#isOver) return;
    const error = failed(this.#sending.call.site, why);
    this.#reject?.(error);
    if (this.#pipe === undefined) this.#close();
    else this.#pipe.fail(error.message);
  }

  readonly #giveUp = (): void => this.#fail("given up");

  readonly #close = (): void => {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#signal?.removeEventListener("abort", this.#giveUp);
    this.#life.open.delete(this.#close);
    this.#hangUp();
    this.#resolve = undefined;
    this.#reject = undefined;
  };
}

function failed(site: string, why: string): MooringError {
  return new MooringError("transport-failed", `${site} failed: ${why}`);
}
