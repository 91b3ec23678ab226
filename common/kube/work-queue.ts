import type { Clock } from "../runtime/clock.ts";
import { MooringError, messageOf } from "../runtime/errors.ts";
import { type ErrorRecorder, InternalErrors } from "../runtime/internal-errors.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Random } from "../runtime/random.ts";
import { type BackOff, type BackOffLimits, createBackOff } from "./back-off.ts";
import { TimerHeap } from "./timer-heap.ts";

interface WorkQueueParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Receives errors other than `MooringError`; by default they are only logged. */
  readonly errors?: ErrorRecorder | undefined;
  /** Back-off after consecutive failures; 50 ms to a minute by default. */
  readonly retry?: BackOffLimits;
  /** Called whenever a key is added: true moves the key before all other waiting keys. */
  readonly isUrgent?: ((key: string) => boolean) | undefined;
  /** Called whenever a key is added: true moves the key behind all other waiting keys. An urgent key is none of these. */
  readonly isLate?: ((key: string) => boolean) | undefined;
  /** Called for a key soon after it is added if its work must wait: all workers are busy, or one works on that key. */
  readonly prepare?: ((key: string) => void) | undefined;
}

/** Measures a queue. Both times in milliseconds. */
export interface QueueObserver {
  /** How long a key waited for its work. */
  readonly waited: (ms: number) => void;
  /** How long the work took, with any outcome. */
  readonly worked: (ms: number) => void;
  /** The work failed and will be retried. */
  readonly retried: () => void;
}

const NO_OBSERVER: QueueObserver = { waited: () => {}, worked: () => {}, retried: () => {} };

type Work = (key: string, signal: AbortSignal) => Promise<void>;

/** When a key was added, or its work began. */
interface Entry {
  readonly sinceMs: number;
  /** A key that is added during its work keeps the number of that work: the work may be about an older state, and fail. */
  readonly checkpoint: number;
}

const RETRY = { firstMs: 50, maxMs: 60_000 };
/** Errors that are not retriable are retried, too, slowly: the cause may go away. */
const TERMINAL_RETRY_MS = 600_000;
const LONGEST_IDLE_MS = 3_600_000;
/** Work without interruption for this time, then yield to the event loop. */
const SLICE_MS = 5;
/**
 * Keys that were added together enter while fewer than this have not been looked at: those of a whole cluster would take memory, and
 * delay each key that is added meanwhile.
 */
const BATCH = 1_000;

/**
 * Keys that want work. One worker at a time works on a key. A key that is added during its work is worked on again afterwards; after a
 * failure it comes back with a growing wait. No key is lost. A bug affects only the key on which it occurs: it is recorded and retried like
 * any failure, and the other keys go on.
 */
export class WorkQueue {
  readonly #parts: WorkQueueParts;
  readonly #concurrency: number;
  readonly #observer: QueueObserver;
  /** Keys that want work; includes keys that are being worked on and want it again. */
  readonly #wanted = new Map<string, Entry>();
  /** Keys that are being worked on. */
  readonly #working = new Map<string, Entry>();
  /** Keys that were added together and have not entered yet. */
  readonly #arriving: { readonly keys: Iterator<string | undefined>; readonly entry: Entry }[] = [];
  /**
   * The wanted keys without a worker, in two halves: taken from the end of the first, added to the end of the second. A key that became
   * urgent after it was added is in `#urgent`, too, and is skipped here.
   */
  #front: string[] = [];
  #back: string[] = [];
  /** Wanted keys that go before all others, in their order. */
  readonly #urgent = new Set<string>();
  /** Wanted keys that go after all others, in their order. */
  readonly #late = new Set<string>();
  /** Wanted keys that were not prepared since they were last added. */
  readonly #unprepared = new Set<string>();
  /** Keys that wait for a time of the monotonic clock, in milliseconds. */
  readonly #due = new TimerHeap();
  readonly #backOffs = new Map<string, BackOff>();
  /** The number of the next checkpoint, and how many entries are left that are older than each. */
  #checkpoint = 0;
  readonly #left = new Map<number, number>();
  #ended = 0;
  readonly #errors: ErrorRecorder;
  #wake = (): void => {};

  constructor(parts: WorkQueueParts, concurrency = 4, observer = NO_OBSERVER) {
    this.#parts = parts;
    this.#errors = parts.errors ?? new InternalErrors(parts.logger).in("work");
    this.#concurrency = concurrency;
    this.#observer = observer;
  }

  /** Number of keys that want work now; those that are added together count as they enter. */
  get depth(): number {
    return this.#wanted.size;
  }

  /** Rises with each finished piece of work; undefined while none runs. If it does not rise, the work is stuck. */
  get progress(): number | undefined {
    return this.#working.size === 0 ? undefined : this.#ended;
  }

  /** No key wants work now, and no worker is busy. */
  get isIdle(): boolean {
    return this.#wanted.size === 0 && this.#working.size === 0 && this.#arriving.length === 0;
  }

  add(key: string): void {
    if (this.#enter(key, this.#newEntry())) this.#wake();
  }

  /**
   * Adds many keys. They are read while the queue runs, some in each turn of the event loop, so the iterable may be a view of what changes
   * meanwhile; undefined is a step without a key.
   */
  addAll(keys: Iterable<string | undefined>): void {
    const entry = this.#newEntry();
    this.#arriving.push({ keys: keys[Symbol.iterator](), entry });
    this.#count(entry, 1);
    this.#wake();
  }

  #newEntry(): Entry {
    return { sinceMs: this.#parts.clock.monotonicMs(), checkpoint: this.#checkpoint };
  }

  #count({ checkpoint }: Entry, change: 1 | -1): void {
    const left = (this.#left.get(checkpoint) ?? 0) + change;
    if (left > 0) this.#left.set(checkpoint, left);
    else this.#left.delete(checkpoint);
  }

  /** Returns whether there is something new to do. */
  #enter(key: string, added: Entry): boolean {
    const { isUrgent, prepare } = this.#parts;
    const isFirst = isUrgent?.(key) === true;
    if (isFirst) this.#urgent.add(key);
    if (prepare !== undefined) this.#unprepared.add(key);
    const [wanted, working] = [this.#wanted.get(key), this.#working.get(key)];
    const known = wanted ?? working;
    // A key of a batch is as old as the batch, also where it was added again since.
    const checkpoint = Math.min(added.checkpoint, known?.checkpoint ?? added.checkpoint);
    if (wanted === undefined) this.#want(key, checkpoint === added.checkpoint ? added : { ...added, checkpoint });
    else if (checkpoint < wanted.checkpoint) {
      this.#count(wanted, -1);
      this.#want(key, { ...wanted, checkpoint });
    }
    if (known === undefined) this.#append(key);
    return wanted === undefined || isFirst || prepare !== undefined;
  }

  #want(key: string, entry: Entry): void {
    this.#wanted.set(key, entry);
    this.#count(entry, 1);
  }

  /** Keys may enter: workers, or `prepare`, are done with most that have. */
  get #hasRoom(): boolean {
    const { prepare } = this.#parts;
    return (prepare === undefined ? this.#wanted : this.#unprepared).size < BATCH;
  }

  /** Lets a batch of the arriving keys enter. */
  #arrive(): void {
    for (let steps = 0; steps < BATCH && this.#hasRoom; steps += 1) {
      const [first] = this.#arriving;
      if (first === undefined) return;
      const { done, value: key } = first.keys.next();
      if (key !== undefined && done !== true) this.#enter(key, first.entry);
      if (done !== true) continue;
      this.#arriving.shift();
      this.#count(first.entry, -1);
    }
  }

  #append(key: string): void {
    if (this.#parts.isLate?.(key) === true) this.#late.add(key);
    else this.#back.push(key);
  }

  /** Adds the key after `ms`; the earliest of several times counts. */
  addAfter(key: string, ms: number): void {
    this.#due.add(key, this.#parts.clock.monotonicMs() + ms);
    this.#wake();
  }

  /**
   * Returns a function that answers whether every key that wants work now, or is being worked on, has since been worked on. Keys that wait
   * for their time do not count. A queue that is never idle can measure its progress by this.
   */
  checkpoint(): () => boolean {
    const number = this.#checkpoint;
    this.#checkpoint += 1;
    return () => [...this.#left.keys()].every((one) => one > number);
  }

  /** Works until the signal is aborted. Interrupted keys stay wanted. */
  async run(work: Work, signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    const running = new Set<Promise<void>>();
    let busyMs = 0;
    const stop = (): void => this.#wake();
    signal.addEventListener("abort", stop);
    while (!signal.aborted) {
      // Created before the queue is read, so that any later change ends the sleep below.
      const woken = new AbortController();
      // An abort without a reason would create an error with its stack, for each key.
      this.#wake = () => woken.abort("woken");
      const begunAt = clock.monotonicMs();
      this.#arrive();
      const nextMs = this.#promote();
      let hasBegun = false;
      for (let key = this.#take(); key !== undefined; key = this.#take()) {
        hasBegun = true;
        const task: Promise<void> = this.#one(work, key, signal).finally(() => running.delete(task));
        running.add(task);
      }
      // While workers become free, the work itself is as quick.
      if (!hasBegun) this.#prepareWaiting();
      busyMs += clock.monotonicMs() - begunAt;
      const isMoreToDo = this.#unprepared.size > 0 || (this.#arriving.length > 0 && this.#hasRoom);
      await clock.sleep(isMoreToDo ? 0 : nextMs, woken.signal);
      if (busyMs < SLICE_MS) continue;
      // Without this pause, keys whose work needs no answer from outside would never yield to the event loop.
      await clock.sleep(0, signal);
      busyMs = 0;
    }
    signal.removeEventListener("abort", stop);
    await Promise.all(running);
    this.#errors.clearAll();
  }

  /** Adds the keys whose time has come; returns the milliseconds until the next one. */
  #promote(): number {
    const now = this.#parts.clock.monotonicMs();
    for (const key of this.#due.take(now)) this.add(key);
    return Math.min(LONGEST_IDLE_MS, (this.#due.next() ?? Number.POSITIVE_INFINITY) - now);
  }

  /** Prepares keys for at most one slice; the others follow in the next turn. */
  #prepareWaiting(): void {
    const { clock, prepare } = this.#parts;
    const begunAt = clock.monotonicMs();
    for (const key of this.#unprepared) {
      if (prepare === undefined || clock.monotonicMs() - begunAt >= SLICE_MS) return;
      this.#unprepared.delete(key);
      this.#errors.attempt(key, () => prepare(key));
    }
  }

  /** The next key whose work may begin. */
  #take(): string | undefined {
    if (this.#working.size >= this.#concurrency) return undefined;
    const key = this.#nextOf(this.#urgent) ?? this.#nextNormal() ?? this.#nextOf(this.#late);
    if (key === undefined) return undefined;
    this.#urgent.delete(key);
    this.#late.delete(key);
    this.#unprepared.delete(key);
    const sinceMs = this.#parts.clock.monotonicMs();
    const wanted = this.#wanted.get(key) ?? this.#newEntry();
    this.#observer.waited(sinceMs - wanted.sinceMs);
    this.#wanted.delete(key);
    this.#working.set(key, { ...wanted, sinceMs });
    return key;
  }

  #isWaiting(key: string): boolean {
    return this.#wanted.has(key) && !this.#working.has(key);
  }

  #nextOf(keys: Iterable<string>): string | undefined {
    for (const key of keys) if (this.#isWaiting(key)) return key;
    return undefined;
  }

  #nextNormal(): string | undefined {
    while (this.#front.length > 0 || this.#back.length > 0) {
      if (this.#front.length === 0) {
        this.#front = this.#back.reverse();
        this.#back = [];
      }
      const key = this.#front.pop();
      if (key !== undefined && this.#isWaiting(key)) return key;
    }
    return undefined;
  }

  async #one(work: Work, key: string, signal: AbortSignal): Promise<void> {
    try {
      await work(key, signal);
      this.#backOffs.delete(key);
      this.#errors.clear(key);
    } catch (error) {
      if (!signal.aborted) this.#failed(key, error);
    } finally {
      this.#ended += 1;
      this.#end(key, signal.aborted);
      this.#wake();
    }
  }

  #end(key: string, isInterrupted: boolean): void {
    const working = this.#working.get(key);
    if (working === undefined) return;
    this.#observer.worked(this.#parts.clock.monotonicMs() - working.sinceMs);
    this.#working.delete(key);
    if (isInterrupted && !this.#wanted.has(key)) this.#want(key, working);
    this.#count(working, -1);
    if (this.#wanted.has(key)) this.#append(key);
  }

  #failed(key: string, error: unknown): void {
    const backOff = this.#backOffs.get(key) ?? createBackOff(this.#parts.random, this.#parts.retry ?? RETRY);
    this.#backOffs.set(key, backOff);
    const isTerminal = error instanceof MooringError && !error.retriable;
    const waitMs = isTerminal ? TERMINAL_RETRY_MS : backOff.next(error);
    this.addAfter(key, waitMs);
    this.#observer.retried();
    if (error instanceof MooringError) {
      const fields = { key, err: messageOf(error), waitMs: Math.round(waitMs) };
      this.#parts.logger.warn(fields, "work failed, will be tried again");
    } else this.#errors.note(key, error);
  }
}
