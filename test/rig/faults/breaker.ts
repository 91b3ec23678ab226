import type { Exchange } from "./exchange.ts";
import type { Relay } from "./relay.ts";

/** Breaks connections with all that is under way over them. */
export class Breaker {
  readonly #relay: Relay;
  readonly #open = new Set<Exchange>();

  constructor(relay: Relay) {
    this.#relay = relay;
  }

  /** Says whether its connection still stands: what a client sent before it broke can still arrive. */
  add(exchange: Exchange): boolean {
    if (!this.#relay.isOpen(exchange.connection)) {
      exchange.lose();
      return false;
    }
    this.#open.add(exchange);
    exchange.gone.addEventListener("abort", () => this.#open.delete(exchange));
    return true;
  }

  /** Sends RST to the client. Says whether there was such a connection. */
  reset(connection: number): boolean {
    this.#lose(connection);
    return this.#relay.reset(connection);
  }

  /** Lets the client's peer vanish. Says whether there was such a connection. */
  freeze(connection: number): boolean {
    this.#lose(connection);
    return this.#relay.freeze(connection);
  }

  /** Sends RST over every connection that carries something. */
  resetAll(): void {
    for (const connection of new Set([...this.#open].map((exchange) => exchange.connection))) this.reset(connection);
  }

  /** The proxy's own streams show it some turns of the event loop later than the client. */
  #lose(connection: number): void {
    for (const exchange of this.#open) if (exchange.connection === connection) exchange.lose();
  }
}
