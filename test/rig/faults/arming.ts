import type { Clock } from "../../../common/runtime/clock.ts";
import type { Armory } from "./armory.ts";
import { type Fault, type Opportunity, PROXY_FAULTS, type ProxyFaultKind, type Refusal, refusalOf } from "./fault.ts";
import type { Protocol } from "./front.ts";
import type { OpenWatches } from "./open-watches.ts";

/** What faults need of their proxy. */
export interface ArmingParts {
  readonly armory: Armory;
  readonly watches: Pick<OpenWatches, "strike" | "provoke" | "count">;
  readonly clock: Clock;
  /**
   * Breaks every connection and refuses every request, or refuses every write, until the answer is called; says each time that it has
   * refused one.
   */
  readonly shut: (refusal: Refusal, onRefused: () => void) => () => void;
  /** Aborted when the proxy closes. */
  readonly signal: AbortSignal;
}

/** When faults hit. */
export interface ArmingOptions {
  readonly protocol: Protocol;
  /**
   * Every fault begins at its time and is over after its length, whether it has hit or not: the same faults at the same times for
   * everybody, however often he asks. Who has a watch is made to ask for what a fault waits for. What hits lists hits streaming ones,
   * too. Otherwise each waits until it can hit.
   */
  readonly isTimed?: boolean;
}

/** What became of faults. What has neither hit nor met anybody has found nothing to hit. */
export interface Tally {
  readonly scheduled: number;
  readonly hit: number;
  /** At the end of the fault the client had no watch that the proxy served. */
  readonly unconnected: number;
}

/** What somebody who has a watch can be made to ask for. */
const PROVOKED: readonly Opportunity[] = ["request", "read", "list-answer"];

/** Puts faults into the armory and takes them out again. */
export class Arming {
  readonly #parts: ArmingParts;
  readonly #options: ArmingOptions;
  #scheduled = 0;
  #unconnected = 0;

  constructor(parts: ArmingParts, options: ArmingOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  get tally(): Tally {
    const hit = [...this.#parts.armory.hits.values()].reduce((all, count) => all + count, 0);
    return { scheduled: this.#scheduled, hit, unconnected: this.#unconnected };
  }

  arm(fault: Fault<ProxyFaultKind>): void {
    this.#scheduled += 1;
    const { armory, watches } = this.#parts;
    // HTTP/1.1 has no such thing.
    if (fault.kind === "goaway" && this.#options.protocol === "http/1.1") return;
    if (PROXY_FAULTS[fault.kind] === "now") {
      this.#shut(fault);
      return;
    }
    armory.arm(fault);
    watches.strike();
    if (this.#options.isTimed !== true) return;
    if (PROVOKED.includes(PROXY_FAULTS[fault.kind])) watches.provoke(fault);
    void this.#over(fault).then((isOver) => {
      if (isOver && armory.withdraw(fault)) this.#miss();
    });
  }

  #shut(fault: Fault<ProxyFaultKind>): void {
    const { armory, watches, shut } = this.#parts;
    const isTimed = this.#options.isTimed === true;
    let isNoticed = false;
    const notice = (): void => {
      if (isNoticed) return;
      isNoticed = true;
      armory.hit(fault.kind);
      // Who happens to wait for longer than it lasts would not notice it.
      if (!isTimed) void this.#over(fault).then(open);
    };
    const refusal = refusalOf(fault) ?? { status: 503 };
    // To shut is to break: who has a watch notices it at once.
    if (isTimed && refusal.onlyWrites !== true && watches.count > 0) notice();
    const open = shut(refusal, notice);
    if (!isTimed) return;
    void this.#over(fault).then((isOver) => {
      open();
      if (isOver && !isNoticed) this.#miss();
    });
  }

  /** Says whether the fault has lasted its length: the end of the proxy cuts it short. */
  async #over({ lengthMs }: Fault): Promise<boolean> {
    const { clock, signal } = this.#parts;
    await clock.sleep(lengthMs, signal);
    return !signal.aborted;
  }

  #miss(): void {
    if (this.#parts.watches.count === 0) this.#unconnected += 1;
  }
}
