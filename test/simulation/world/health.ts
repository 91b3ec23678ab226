/** A process without faults that starts or continues knows everything after this time. Milliseconds. */
const CATCH_UP_MS = 6_000;

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A time of leadership; an empty name while no process leads. */
interface Leadership {
  readonly leader: string;
  readonly fromMs: number;
}

/** The name for faults of the API servers. */
const API = "api";

/** The name for faults of a node's mount table and disk: the agent runs and sees everything else. */
export function scansOf(node: string): string {
  return `scans of ${node}`;
}

/** A process without faults has listed everything this long after its start. Milliseconds. */
const LISTED_MS = 1_000;

/** When each process ran without faults, in true time. */
export class Health {
  readonly #now: () => number;
  readonly #faults = new Map<string, readonly Span[]>();
  readonly #leaderships: Leadership[] = [];
  readonly #lags: { readonly byMs: number; readonly toMs: number }[] = [];
  /** The last pause of each process. */
  readonly #pauses = new Map<string, Span>();

  readonly #startedMs = new Map<string, number>();
  /** When the last leader ended; infinity while a process leads. */
  #leftMs = 0;
  hasNoGap = true;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Each new leader had listed everything before the leader before it ended, so that the pod watch has no gap. */
  get hadNoWatchGap(): boolean {
    return this.hasNoGap;
  }

  /** The process is down, or unreliable, from now on. */
  down(process: string): void {
    this.#add(process, Number.POSITIVE_INFINITY);
  }

  /** The process is up again. */
  up(process: string): void {
    const now = this.#now();
    this.#startedMs.set(process, now);
    const spans = this.#spansOf(process);
    const still = spans.find(({ toMs }) => toMs === Number.POSITIVE_INFINITY);
    if (still !== undefined) this.#pauses.set(process, { fromMs: still.fromMs, toMs: now });
    this.#faults.set(
      process,
      spans.map(({ fromMs, toMs }) => ({ fromMs, toMs: Number.isFinite(toMs) ? toMs : now })),
    );
    this.noteFault(process, CATCH_UP_MS);
  }

  /** A fault hit the process, and may delay it for this long. */
  noteFault(process: string, forMs: number): void {
    this.#add(process, this.#now() + forMs);
  }

  /** The API servers are unreliable for this long. */
  noteApiFault(forMs: number): void {
    this.noteFault(API, forMs);
  }

  /** All watches lag by `byMs` for this long. */
  lag(byMs: number, forMs: number): void {
    this.#lags.push({ byMs, toMs: this.#now() + forMs + byMs });
  }

  /** The Lease has a new holder; the holder's identity begins with the process name. */
  lead(identity: string): void {
    const leader = identity.split("_", 1)[0] ?? "";
    // The holder may be dead already: its request outlived it, and its successor waits until the Lease expires.
    const isLed = leader !== "" && !this.#isDown(leader);
    this.#noteLeader(isLed ? leader : undefined);
    this.#leaderships.push({ leader: isLed ? leader : "", fromMs: this.#now() });
  }

  #noteLeader(leader: string | undefined): void {
    if (leader === undefined) {
      if (this.leader !== "") this.#leftMs = this.#now();
      return;
    }
    const listedMs = (this.#startedMs.get(leader) ?? 0) + LISTED_MS;
    if (listedMs > Math.max(LISTED_MS, this.#leftMs)) this.hasNoGap = false;
    this.#leftMs = Number.POSITIVE_INFINITY;
  }

  /** The process has ended; the Lease may still name it. */
  end(process: string): void {
    this.down(process);
    if (this.#leaderships.at(-1)?.leader === process) this.lead("");
  }

  /**
   * By when a leader, together with these processes, had been without faults for `forMs` within a span; undefined when that never was so.
   */
  ledBy({ fromMs, toMs }: Span, forMs: number, processes: readonly string[] = []): number | undefined {
    for (const [index, { leader, fromMs: leadsMs }] of this.#leaderships.entries()) {
      const term = {
        fromMs: Math.max(fromMs, leadsMs),
        toMs: Math.min(toMs, this.#leaderships[index + 1]?.fromMs ?? toMs),
      };
      const foundMs = leader === "" ? undefined : this.#wellBy(term, forMs, [API, leader, ...processes]);
      if (foundMs !== undefined) return foundMs;
    }
    return undefined;
  }

  /** The leader; empty while no process leads. */
  get leader(): string {
    return this.#leaderships.at(-1)?.leader ?? "";
  }

  /** No fault has hit the process for this long. */
  isWell(process: string, forMs: number): boolean {
    const toMs = this.#now();
    return this.#wellBy({ fromMs: toMs - forMs, toMs }, forMs, [API, process]) !== undefined;
  }

  /** One process has led for this long. */
  hasLedFor(ms: number): boolean {
    return this.#now() - this.ledSinceMs >= ms;
  }

  /** When the present leader began to lead; infinity while no process leads. */
  get ledSinceMs(): number {
    const { leader = "", fromMs = 0 } = this.#leaderships.at(-1) ?? {};
    return leader === "" ? Number.POSITIVE_INFINITY : fromMs;
  }

  /**
   * The true time up to which a process knew everything: the process ran until `untilMs` and had an answer within `forMs`. Its last pause
   * and the lag of watches count against it.
   */
  knewUntil(process: string, time: { readonly untilMs: number; readonly forMs: number }): number {
    const knownMs = this.watchedUntil(time);
    const still = this.#pauses.get(process);
    return still === undefined || still.toMs <= knownMs ? knownMs : knownMs - (still.toMs - still.fromMs);
  }

  /** The same without the last pause: a process that runs at `untilMs` has listed what exists. Only the lag of watches counts. */
  watchedUntil({ untilMs, forMs }: { readonly untilMs: number; readonly forMs: number }): number {
    const lags = this.#lags.filter(({ toMs }) => toMs >= untilMs - forMs).map(({ byMs }) => byMs);
    return untilMs - forMs - Math.max(0, ...lags);
  }

  hasFault(process: string): boolean {
    const now = this.#now();
    return [API, process].some((one) => this.#spansOf(one).some(({ fromMs, toMs }) => fromMs <= now && now < toMs));
  }

  #isDown(process: string): boolean {
    return this.#spansOf(process).some(({ toMs }) => toMs === Number.POSITIVE_INFINITY);
  }

  #wellBy({ fromMs, toMs }: Span, forMs: number, processes: readonly string[]): number | undefined {
    const faults = processes
      .flatMap((process) => this.#spansOf(process))
      .toSorted((one, other) => one.fromMs - other.fromMs);
    let wellMs = fromMs;
    for (const fault of faults) {
      if (fault.fromMs - wellMs >= forMs) break;
      wellMs = Math.max(wellMs, fault.toMs);
    }
    return wellMs + forMs <= toMs ? wellMs + forMs : undefined;
  }

  #spansOf(process: string): readonly Span[] {
    return this.#faults.get(process) ?? [];
  }

  #add(process: string, toMs: number): void {
    const fromMs = this.#now();
    const spans = this.#spansOf(process);
    const last = spans.at(-1);
    const isOneWithLast =
      last !== undefined && last.toMs >= fromMs && Number.isFinite(last.toMs) && Number.isFinite(toMs);
    const span = isOneWithLast ? { fromMs: last.fromMs, toMs: Math.max(last.toMs, toMs) } : { fromMs, toMs };
    this.#faults.set(process, [...(isOneWithLast ? spans.slice(0, -1) : spans), span]);
  }
}
