import { setImmediate as turn } from "node:timers/promises";
import type { Random } from "../../../common/runtime/random.ts";

/** Calls something off that has not happened yet. */
export type Cancel = () => void;

/**
 * True time, and what happens in it. Everything in a simulated world is an event here: one after the other, in the order of their
 * times, and of equal times in a random one that the seed decides. After each of them all that can go on without time goes on.
 */
export interface Scheduler {
  /** Milliseconds since the world began. */
  readonly nowMs: () => number;
  /** At a true time; what lies in the past is next. */
  readonly at: (atMs: number, act: () => void) => Cancel;
  /** After so many milliseconds of true time. */
  readonly after: (ms: number, act: () => void) => Cancel;
  /** Lets true time pass up to a moment, with all that happens until then. */
  readonly runUntil: (atMs: number) => Promise<void>;
  /** The next event alone; false when nothing is to come. */
  readonly step: () => Promise<boolean>;
  /** How many events there have been. */
  readonly events: () => number;
}

export interface SchedulerOptions {
  /** Orders what happens at the same moment. */
  readonly random: Random;
  /** Called after each event, when everything has gone on that could: the place for invariants. What it throws, `runUntil` throws. */
  readonly onEvent?: (() => void) | undefined;
}

/** One that is to come. */
interface Entry {
  readonly atMs: number;
  readonly tie: number;
  readonly number: number;
  act: (() => void) | undefined;
}

/** So often real events of the process get a turn, so that a rejection that nobody handles is told. */
const EVENTS_A_TURN = 512;

export function createScheduler({ random, onEvent }: SchedulerOptions): Scheduler {
  const heap: Entry[] = [];
  let nowMs = 0;
  let added = 0;
  let events = 0;

  const at = (atMs: number, act: () => void): Cancel => {
    added += 1;
    const entry: Entry = { atMs: Math.max(nowMs, atMs), tie: random.fraction(), number: added, act };
    push(heap, entry);
    return () => {
      entry.act = undefined;
    };
  };
  const next = (): Entry | undefined => {
    while (heap[0] !== undefined && heap[0].act === undefined) pop(heap);
    return heap[0];
  };
  const happen = async (entry: Entry): Promise<void> => {
    pop(heap);
    nowMs = entry.atMs;
    events += 1;
    entry.act?.();
    await settle();
    if (events % EVENTS_A_TURN === 0) await turn();
    onEvent?.();
  };

  return {
    nowMs: () => nowMs,
    at,
    after: (ms, act) => at(nowMs + Math.max(0, ms), act),
    events: () => events,
    step: async () => {
      const entry = next();
      if (entry !== undefined) await happen(entry);
      return entry !== undefined;
    },
    runUntil: async (atMs) => {
      await settle();
      for (let entry = next(); entry !== undefined && entry.atMs <= atMs; entry = next()) await happen(entry);
      nowMs = Math.max(nowMs, atMs);
    },
  };
}

/**
 * Resolves when no promise has anything left to do. A tick of Node.js comes after all microtasks, also those that they make: one is
 * enough as long as nothing but promises and ticks carries the code on, which is so for everything behind the ports.
 */
export function settle(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

function isBefore(one: Entry, other: Entry): boolean {
  if (one.atMs !== other.atMs) return one.atMs < other.atMs;
  return one.tie === other.tie ? one.number < other.number : one.tie < other.tie;
}

/** A binary heap: the earliest is first. */
function push(heap: Entry[], entry: Entry): void {
  let index = heap.push(entry) - 1;
  while (index > 0) {
    const above = (index - 1) >> 1;
    const parent = heap[above];
    if (parent === undefined || !isBefore(entry, parent)) break;
    heap[index] = parent;
    index = above;
  }
  heap[index] = entry;
}

function pop(heap: Entry[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let index = 0;
  for (;;) {
    const child = smallerChild(heap, index);
    const below = heap[child];
    if (below === undefined || !isBefore(below, last)) break;
    heap[index] = below;
    index = child;
  }
  heap[index] = last;
}

function smallerChild(heap: readonly Entry[], index: number): number {
  const [left, right] = [heap[2 * index + 1], heap[2 * index + 2]];
  return left !== undefined && right !== undefined && isBefore(right, left) ? 2 * index + 2 : 2 * index + 1;
}
