import type { Armory } from "./armory.ts";
import type { Breaker } from "./breaker.ts";
import type { Exchange } from "./exchange.ts";
import type { Fault, ProxyFaultKind } from "./fault.ts";
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

  /** Lets every armed fault that waits for an open watch hit one. */
  strike(): void {
    for (;;) {
      const open = [...this.#watches].filter(({ isOpen }) => isOpen);
      const fault = open.length === 0 ? undefined : this.#parts.armory.take("open-watch");
      const watch = open[Math.floor((fault?.pick ?? 0) * open.length)];
      if (fault === undefined || watch === undefined) return;
      if (this.#hit(fault, watch)) this.#parts.armory.hit(fault.kind);
    }
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
