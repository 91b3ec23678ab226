import type { Armory } from "./armory.ts";
import type { Breaker } from "./breaker.ts";
import type { Exchange } from "./exchange.ts";
import { type Fault, PROXY_FAULTS, type ProxyFaultKind } from "./fault.ts";
import { errorEvent } from "./refusals.ts";

interface OpenWatchParts {
  readonly armory: Armory;
  readonly breaker: Breaker;
}

/** The watches that are open and have no list to bring any more, and the faults that hit those. */
export class OpenWatches {
  readonly #parts: OpenWatchParts;
  readonly #watches = new Set<Exchange>();

  constructor(parts: OpenWatchParts) {
    this.#parts = parts;
  }

  add(watch: Exchange): void {
    this.#watches.add(watch);
    watch.gone.addEventListener("abort", () => this.#watches.delete(watch));
    this.strike();
  }

  /** How many there are that the proxy serves: one that it has let fall silent is none. */
  get count(): number {
    return this.#open().length;
  }

  /** Lets every armed fault that waits for an open watch hit one. */
  strike(): void {
    for (;;) {
      const open = this.#open();
      const fault = open.length === 0 ? undefined : this.#parts.armory.take("open-watch");
      const watch = fault === undefined ? undefined : pick(open, fault);
      if (fault === undefined || watch === undefined) return;
      if (this.#hit(fault, watch)) this.#parts.armory.hit(fault.kind);
    }
  }

  /**
   * Lets one client ask for what this fault waits for, as the API server does every few minutes: its watch ends in good order, or is told
   * that the server has forgotten its place and a list is due.
   */
  provoke(fault: Fault<ProxyFaultKind>): void {
    const watch = pick(this.#open(), fault);
    if (watch === undefined) return;
    if (PROXY_FAULTS[fault.kind] === "list-answer") {
      watch.expire();
      void watch.write(errorEvent(410));
      watch.end();
    } else watch.endWhole();
  }

  #open(): readonly Exchange[] {
    return [...this.#watches].filter(({ isOpen }) => isOpen);
  }

  #hit({ kind }: Fault<ProxyFaultKind>, watch: Exchange): boolean {
    const { breaker } = this.#parts;
    watch.mark(kind);
    switch (kind) {
      case "connection-reset":
        return breaker.reset(watch.connection);
      case "half-open":
        return breaker.freeze(watch.connection);
      case "goaway":
        return watch.goAway();
      case "stream-reset":
        watch.reset();
        return true;
      case "watch-stall":
        watch.silence();
        return true;
      default:
        if (kind === "error-event-410") watch.expire();
        void watch.write(errorEvent(kind === "error-event-410" ? 410 : 500));
        watch.end();
        return true;
    }
  }
}

function pick(watches: readonly Exchange[], { pick: part }: Fault): Exchange | undefined {
  return watches[Math.floor(part * watches.length)];
}
