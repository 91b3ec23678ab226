/** A process that was started, or stood still, over a way on which nothing is wrong, has heard of everything after so long. Milliseconds. */
const STARTS_MS = 6_000;

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** From when on a process, or nobody, led. */
interface Term {
  readonly leader: string;
  readonly fromMs: number;
}

/** Everything that is wrong with the API servers. */
const API = "api";

/** What an agent reads and writes on its node, which may go wrong while it runs and hears of everything else. */
export function scansOf(node: string): string {
  return `scans of ${node}`;
}

/** A process that was started over a way on which nothing is wrong has listed everything after so long. Milliseconds. */
const LISTS_MS = 1_000;

/** When each process ran and nothing befell its requests: by true time, as the world knows it. */
export class Health {
  readonly #now: () => number;
  readonly #troubles = new Map<string, readonly Span[]>();
  readonly #terms: Term[] = [];
  readonly #lags: { readonly byMs: number; readonly toMs: number }[] = [];
  /** When each process last stood still. */
  readonly #still = new Map<string, Span>();

  readonly #startedMs = new Map<string, number>();
  /** When whoever led last ended, until another one leads. */
  #leftMs = 0;
  #isChained = true;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Whoever led had listed everything before whoever led before it ended, each time: between them nobody missed anything. */
  get wasAlwaysWatched(): boolean {
    return this.#isChained;
  }

  /** It does not run, or not so that it can be relied on, from now on. */
  down(process: string): void {
    this.#add(process, Number.POSITIVE_INFINITY);
  }

  /** It does again. */
  up(process: string): void {
    const now = this.#now();
    this.#startedMs.set(process, now);
    const spans = this.#spansOf(process);
    const still = spans.find(({ toMs }) => toMs === Number.POSITIVE_INFINITY);
    if (still !== undefined) this.#still.set(process, { fromMs: still.fromMs, toMs: now });
    this.#troubles.set(
      process,
      spans.map(({ fromMs, toMs }) => ({ fromMs, toMs: Number.isFinite(toMs) ? toMs : now })),
    );
    this.strike(process, STARTS_MS);
  }

  /** Something befell it, which it may take so long to get over. */
  strike(process: string, forMs: number): void {
    this.#add(process, this.#now() + forMs);
  }

  /** For so long nobody can rely on the API servers. */
  strikeAll(forMs: number): void {
    this.strike(API, forMs);
  }

  /** For so long all watches are late by so much. */
  lag(byMs: number, forMs: number): void {
    this.#lags.push({ byMs, toMs: this.#now() + forMs + byMs });
  }

  /** Somebody else has the Lease, by an identity that begins with the name of the process. */
  lead(identity: string): void {
    const leader = identity.split("_", 1)[0] ?? "";
    // Its request may outlive it, and the process that is started in its place waits for that Lease to run out.
    const isLed = leader !== "" && !this.#isDown(leader);
    this.#chain(isLed ? leader : undefined);
    this.#terms.push({ leader: isLed ? leader : "", fromMs: this.#now() });
  }

  #chain(leader: string | undefined): void {
    if (leader === undefined) {
      if (this.leader !== "") this.#leftMs = this.#now();
      return;
    }
    const listedMs = (this.#startedMs.get(leader) ?? 0) + LISTS_MS;
    if (listedMs > Math.max(LISTS_MS, this.#leftMs)) this.#isChained = false;
    this.#leftMs = Number.POSITIVE_INFINITY;
  }

  /** It has ended: the Lease may still name it. */
  end(process: string): void {
    this.down(process);
    if (this.#terms.at(-1)?.leader === process) this.lead("");
  }

  /** By when whoever led had been well for so long within a span, and all of these processes with it; nothing when that was never so. */
  ledBy({ fromMs, toMs }: Span, forMs: number, processes: readonly string[] = []): number | undefined {
    for (const [index, { leader, fromMs: leadsMs }] of this.#terms.entries()) {
      const term = { fromMs: Math.max(fromMs, leadsMs), toMs: Math.min(toMs, this.#terms[index + 1]?.fromMs ?? toMs) };
      const foundMs = leader === "" ? undefined : this.#wellBy(term, forMs, [API, leader, ...processes]);
      if (foundMs !== undefined) return foundMs;
    }
    return undefined;
  }

  /** Who leads; empty while nobody does. */
  get leader(): string {
    return this.#terms.at(-1)?.leader ?? "";
  }

  /** Nothing has befallen the process for so long. */
  isWell(process: string, forMs: number): boolean {
    const toMs = this.#now();
    return this.#wellBy({ fromMs: toMs - forMs, toMs }, forMs, [API, process]) !== undefined;
  }

  /** One process has led for so long. */
  hasLedFor(ms: number): boolean {
    return this.#now() - this.ledSinceMs >= ms;
  }

  /** When the present leader began to lead; never while nobody leads. */
  get ledSinceMs(): number {
    const { leader = "", fromMs = 0 } = this.#terms.at(-1) ?? {};
    return leader === "" ? Number.POSITIVE_INFINITY : fromMs;
  }

  /** What happened before that moment a process that has run until another one had heard of: what it stood still, or watches lagged, counts not. */
  heardOf(process: string, { untilMs, forMs }: { readonly untilMs: number; readonly forMs: number }): number {
    const lags = this.#lags.filter(({ toMs }) => toMs >= untilMs - forMs).map(({ byMs }) => byMs);
    const heardMs = untilMs - forMs - Math.max(0, ...lags);
    const still = this.#still.get(process);
    return still === undefined || still.toMs <= heardMs ? heardMs : heardMs - (still.toMs - still.fromMs);
  }

  isTroubled(process: string): boolean {
    const now = this.#now();
    return [API, process].some((one) => this.#spansOf(one).some(({ fromMs, toMs }) => fromMs <= now && now < toMs));
  }

  #isDown(process: string): boolean {
    return this.#spansOf(process).some(({ toMs }) => toMs === Number.POSITIVE_INFINITY);
  }

  #wellBy({ fromMs, toMs }: Span, forMs: number, processes: readonly string[]): number | undefined {
    const troubles = processes
      .flatMap((process) => this.#spansOf(process))
      .toSorted((one, other) => one.fromMs - other.fromMs);
    let wellMs = fromMs;
    for (const trouble of troubles) {
      if (trouble.fromMs - wellMs >= forMs) break;
      wellMs = Math.max(wellMs, trouble.toMs);
    }
    return wellMs + forMs <= toMs ? wellMs + forMs : undefined;
  }

  #spansOf(process: string): readonly Span[] {
    return this.#troubles.get(process) ?? [];
  }

  #add(process: string, toMs: number): void {
    const fromMs = this.#now();
    const spans = this.#spansOf(process);
    const last = spans.at(-1);
    const isOneWithLast =
      last !== undefined && last.toMs >= fromMs && Number.isFinite(last.toMs) && Number.isFinite(toMs);
    const span = isOneWithLast ? { fromMs: last.fromMs, toMs: Math.max(last.toMs, toMs) } : { fromMs, toMs };
    this.#troubles.set(process, [...(isOneWithLast ? spans.slice(0, -1) : spans), span]);
  }
}
