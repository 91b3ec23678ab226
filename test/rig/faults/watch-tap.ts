import type { Readable } from "node:stream";
import type { Clock } from "../../../common/runtime/clock.ts";
import type { Armory } from "./armory.ts";
import type { Exchange } from "./exchange.ts";
import type { Fault, Opportunity } from "./fault.ts";
import { createLineSplitter } from "./lines.ts";

/** What a line of a watch is, for the faults that choose by it. */
export type LineKind = "event" | "bookmark" | "end-of-list" | "error";

/** What the proxy knows of a line without decoding its object. */
export function lineKind(line: Uint8Array): LineKind {
  const text = Buffer.from(line).toString("latin1");
  if (text.startsWith('{"type":"ERROR"')) return "error";
  if (!text.startsWith('{"type":"BOOKMARK"')) return "event";
  return text.includes('"k8s.io/initial-events-end":"true"') ? "end-of-list" : "bookmark";
}

/** What a tap needs. */
export interface TapParts {
  readonly armory: Armory;
  readonly clock: Clock;
  /** What an event of a list is an opportunity for. */
  readonly initial: readonly Opportunity[];
  /** Called when the watch has no list to bring any more. */
  readonly onSteady: (exchange: Exchange) => void;
}

/** Passes a watch on line by line and does to its lines what is armed. Returns at its end; rejects when the server breaks off. */
export async function tapWatch(parts: TapParts, exchange: Exchange, body: Readable): Promise<void> {
  const tap = new WatchTap(parts, exchange);
  const lines = createLineSplitter();
  for await (const chunk of body) {
    for (const line of lines.push(chunk)) await tap.pass(line);
    if (!exchange.isOpen) return;
  }
  await exchange.write(lines.rest());
  exchange.endWhole();
}

class WatchTap {
  readonly #parts: TapParts;
  readonly #exchange: Exchange;
  #isListing: boolean;
  #cut: { readonly fault: Fault; readonly after: number } | undefined;
  #listed = 0;

  constructor(parts: TapParts, exchange: Exchange) {
    this.#parts = parts;
    this.#exchange = exchange;
    this.#isListing = exchange.asked.verb === "stream";
    if (!this.#isListing) parts.onSteady(exchange);
  }

  async pass(line: Buffer): Promise<void> {
    if (!this.#exchange.isOpen) return;
    const kind = lineKind(line);
    if (kind === "error" && line.includes('"code":410')) {
      this.#parts.armory.expirations += 1;
      this.#exchange.expire();
    }
    if (this.#isListing) return await this.#passInitial(line, kind);
    const fault = this.#take(kind);
    if (fault === undefined) return await this.#exchange.writeEvent(line);
    this.#exchange.mark(fault.kind);
    await this.#strike(fault, line);
    this.#parts.armory.hit(fault.kind);
  }

  async #passInitial(line: Buffer, kind: LineKind): Promise<void> {
    if (kind === "event") this.#listed += 1;
    const taken = this.#cut === undefined ? this.#parts.armory.take(...this.#parts.initial) : undefined;
    if (taken !== undefined) this.#cut = { fault: taken, after: Math.floor(taken.pick * 10) };
    if (this.#cut !== undefined && (kind === "end-of-list" || this.#listed > this.#cut.after)) {
      this.#exchange.mark(this.#cut.fault.kind);
      if (this.#cut.fault.kind === "list-stall") this.#exchange.silence();
      else this.#exchange.end();
      this.#parts.armory.hit(this.#cut.fault.kind);
      return;
    }
    await this.#exchange.writeEvent(line);
    if (kind !== "end-of-list") return;
    this.#isListing = false;
    this.#parts.onSteady(this.#exchange);
  }

  #take(kind: LineKind): Fault | undefined {
    if (kind === "event") return this.#parts.armory.take("event");
    return kind === "bookmark" ? this.#parts.armory.take("bookmark") : undefined;
  }

  async #strike({ kind, pick, lengthMs }: Fault, line: Buffer): Promise<void> {
    switch (kind) {
      case "truncated-watch":
        await this.#exchange.write(line.subarray(0, cutPoint(line, pick)));
        this.#exchange.end();
        break;
      case "duplicated-event":
        await this.#exchange.writeEvent(line);
        await this.#exchange.writeEvent(line);
        break;
      case "delayed-events":
        await this.#parts.clock.sleep(lengthMs, this.#exchange.gone);
        await this.#exchange.writeEvent(line);
        break;
      // A dropped bookmark is not written at all.
    }
  }
}

/** Where a body is cut, so that it neither begins empty nor keeps a whole value: its last two bytes are a brace and a line feed. */
export function cutPoint(bytes: Uint8Array, pick: number): number {
  return 1 + Math.floor(pick * Math.max(0, bytes.length - 3));
}
