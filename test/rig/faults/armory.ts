import { type Fault, type FaultKind, type Opportunity, PROXY_FAULTS, type ProxyFaultKind } from "./fault.ts";

/** Faults whose time has come and that wait for something to hit, and those that have hit. */
export class Armory {
  readonly #armed: Fault<ProxyFaultKind>[] = [];
  readonly #hits = new Map<FaultKind, number>();
  /** How often the server behind the proxy has itself said 410. */
  expirations = 0;

  arm(fault: Fault<ProxyFaultKind>): void {
    this.#armed.push(fault);
  }

  /** The fault that has waited longest for one of these; it does not wait any more. */
  take(...opportunities: readonly Opportunity[]): Fault<ProxyFaultKind> | undefined {
    const index = this.#armed.findIndex(({ kind }) => opportunities.includes(PROXY_FAULTS[kind]));
    return index < 0 ? undefined : this.#armed.splice(index, 1)[0];
  }

  /** Takes back what has not found anything to hit. Says whether it still waited. */
  withdraw(fault: Fault<ProxyFaultKind>): boolean {
    const index = this.#armed.indexOf(fault);
    if (index >= 0) this.#armed.splice(index, 1);
    return index >= 0;
  }

  /** Notes that a fault has really hit. */
  hit(kind: FaultKind): void {
    this.#hits.set(kind, (this.#hits.get(kind) ?? 0) + 1);
  }

  /** Forgets what still waits. */
  disarm(): void {
    this.#armed.length = 0;
  }

  /** What waits. */
  get waiting(): readonly FaultKind[] {
    return this.#armed.map(({ kind }) => kind);
  }

  /** How often each kind has hit. */
  get hits(): ReadonlyMap<FaultKind, number> {
    return this.#hits;
  }
}
