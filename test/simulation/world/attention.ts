/** How long a watch that was disturbed may take until it shows everything again: a request that is lost without a word is given up after a minute, and tried again after half of one. Milliseconds. */
const RECOVERS_MS = 100_000;
/** A process that was started, or stood still, over a way on which nothing is wrong. */
const STARTS_MS = 6_000;

/** Since when processes have heard of everything in the API at once. Times are true time. */
export class Attention {
  readonly #now: () => number;
  readonly #since = new Map<string, number>();
  #allSince = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** It begins, or goes on. */
  start(process: string): void {
    this.#note(process, this.#now() + STARTS_MS);
  }

  /** Something befell a request of it. */
  disturb(process: string): void {
    this.#note(process, this.#now() + RECOVERS_MS);
  }

  /** For so long nobody can rely on the API servers. */
  disturbAll(forMs: number): void {
    this.#allSince = Math.max(this.#allSince, this.#now() + forMs + RECOVERS_MS);
  }

  since(process: string): number {
    return Math.max(this.#allSince, this.#since.get(process) ?? Number.POSITIVE_INFINITY);
  }

  /** It may not have heard of everything yet. */
  isDisturbed(process: string): boolean {
    return this.#now() < Math.max(this.#allSince, this.#since.get(process) ?? 0);
  }

  /** Nobody may have heard of everything yet. */
  areAllDisturbed(): boolean {
    return this.#now() < this.#allSince;
  }

  #note(process: string, fromMs: number): void {
    this.#since.set(process, Math.max(fromMs, this.#since.get(process) ?? 0));
  }
}
