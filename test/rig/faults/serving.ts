import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import type { Clock } from "../../../common/runtime/clock.ts";
import type { ArmingOptions } from "./arming.ts";
import type { Armory } from "./armory.ts";
import { type Rewriting, rewrite, type Verb } from "./asked.ts";
import type { Breaker } from "./breaker.ts";
import { Exchange, type RequestRecord } from "./exchange.ts";
import { type Fault, type Opportunity, type Refusal, refusalOf } from "./fault.ts";
import type { Call } from "./front.ts";
import type { OpenWatches } from "./open-watches.ts";
import { refusingAnswer } from "./refusals.ts";
import { passedOn, type Upstream } from "./upstream.ts";
import { cutPoint, type TapParts, tapWatch } from "./watch-tap.ts";

interface ServingParts {
  readonly armory: Armory;
  readonly clock: Clock;
  readonly breaker: Breaker;
  readonly upstream: Upstream;
  readonly watches: OpenWatches;
}

interface ServingOptions extends Rewriting, Pick<ArmingOptions, "isTimed"> {
  readonly refusesStreams?: boolean;
}

/** A time during which everything is refused. */
interface Outage {
  readonly refusal: Refusal;
  readonly onRefused: () => void;
}

/** What a request is an opportunity for. */
const OPPORTUNITIES: Readonly<Record<Verb, readonly Opportunity[]>> = {
  list: ["read", "request"],
  page: ["page", "read", "request"],
  check: ["read", "request"],
  stream: ["read", "request"],
  watch: ["read", "request"],
  write: ["write", "request"],
};

/** Who lists by pages and who streams must both meet what hits lists. */
const INITIAL_OF_ANY_LIST: readonly Opportunity[] = ["initial-event", "list-answer"];

/** Answers requests: passes them on to the API server, or does to them what is armed. */
export class Serving {
  readonly #parts: ServingParts;
  readonly #options: ServingOptions;
  readonly #exchanges: Exchange[] = [];
  readonly #outages = new Set<Outage>();
  readonly #tapParts: TapParts;

  constructor(parts: ServingParts, options: ServingOptions) {
    const { armory, clock, watches } = parts;
    this.#parts = parts;
    this.#options = options;
    const initial: readonly Opportunity[] = options.isTimed === true ? INITIAL_OF_ANY_LIST : ["initial-event"];
    this.#tapParts = { armory, clock, initial, onSteady: (watch) => watches.add(watch) };
  }

  records(): readonly RequestRecord[] {
    return this.#exchanges.map(({ record }) => record);
  }

  /** Breaks every connection and refuses every request, or refuses every write, until the answer is called. */
  shut(refusal: Refusal, onRefused: () => void): () => void {
    const outage = { refusal, onRefused };
    this.#outages.add(outage);
    if (refusal.onlyWrites !== true) this.#parts.breaker.resetAll();
    return () => void this.#outages.delete(outage);
  }

  serve(call: Call): void {
    const exchange = new Exchange(call, this.#parts.clock);
    this.#exchanges.push(exchange);
    if (!this.#parts.breaker.add(exchange)) return;
    const refusal = this.#standingRefusal(exchange);
    const fault = refusal === undefined ? this.#parts.armory.take(...OPPORTUNITIES[exchange.asked.verb]) : undefined;
    if (refusal !== undefined) refuse(exchange, refusal);
    else if (fault !== undefined) this.#strike(call, exchange, fault);
    else void this.#pass(call, exchange);
  }

  /** What is refused whatever is armed. */
  #standingRefusal({ asked }: Exchange): Refusal | undefined {
    const outage = [...this.#outages].findLast(({ refusal }) => asked.verb === "write" || refusal.onlyWrites !== true);
    outage?.onRefused();
    if (outage !== undefined) return outage.refusal;
    return asked.verb === "stream" && this.#options.refusesStreams === true ? { status: 422 } : undefined;
  }

  #strike(call: Call, exchange: Exchange, fault: Fault): void {
    exchange.mark(fault.kind);
    this.#parts.armory.hit(fault.kind);
    const refusal = refusalOf(fault);
    if (fault.kind === "lost-answer") void this.#lose(call, exchange);
    else if (refusal === undefined) exchange.silence();
    else refuse(exchange, refusal);
  }

  async #pass(call: Call, exchange: Exchange): Promise<void> {
    try {
      await this.#answer(exchange, await this.#ask(call, exchange.gone));
    } catch {
      // The server is gone, and with it every connection to it; or the client is, and there is nothing left to do.
      if (exchange.isOpen) this.#parts.breaker.reset(exchange.connection);
    }
  }

  /** What the server did is done, and the client does not learn of it. */
  async #lose(call: Call, exchange: Exchange): Promise<void> {
    try {
      await text(await this.#ask(call, exchange.gone));
    } catch {
      // Not done, then: for the client that is the same.
    }
    this.#parts.breaker.reset(exchange.connection);
  }

  #ask({ request }: Call, signal: AbortSignal): Promise<IncomingMessage> {
    const { method = "GET", url = "/", headers } = request;
    const target = rewrite(url, this.#options);
    return this.#parts.upstream.pass({ method, target, headers, body: request }, signal);
  }

  async #answer(exchange: Exchange, answer: IncomingMessage): Promise<void> {
    const { verb } = exchange.asked;
    const { statusCode: status = 502 } = answer;
    const headers = passedOn(answer.headers);
    if (status === 410) this.#parts.armory.expirations += 1;
    const isWatch = verb === "watch" || verb === "stream";
    const isList = verb === "list" || verb === "page" || verb === "check";
    const fault = isList && status === 200 ? this.#parts.armory.take("list-answer") : undefined;
    if (fault !== undefined) return await this.#cut(exchange, answer, fault);
    exchange.head(status, headers);
    if (isWatch && status === 200) return await tapWatch(this.#tapParts, exchange, answer);
    for await (const chunk of answer) await exchange.write(chunk);
    exchange.endWhole();
  }

  /** A list that ends, or falls silent, inside its first piece. */
  async #cut(exchange: Exchange, answer: IncomingMessage, { kind, pick }: Fault): Promise<void> {
    const { "content-length": _, ...headers } = passedOn(answer.headers);
    exchange.mark(kind);
    exchange.head(200, headers);
    for await (const chunk of answer) {
      await exchange.write(chunk.subarray(0, cutPoint(chunk, pick)));
      break;
    }
    if (kind === "list-stall") exchange.silence();
    else exchange.end();
    this.#parts.armory.hit(kind);
  }
}

function refuse(exchange: Exchange, refusal: Refusal): void {
  const { headers, body } = refusingAnswer(refusal);
  exchange.head(refusal.status, headers);
  void exchange.write(Buffer.from(body));
  exchange.end();
}
