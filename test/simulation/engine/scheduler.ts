import { setImmediate as turn } from "node:timers/promises";
import type { Random } from "../../../common/runtime/random.ts";
import { Agenda, type Due } from "./agenda.ts";

/** Cancels something that has not happened yet. */
export type Cancel = () => void;

/**
 * True time and its events. Everything in a simulated world is an event: one after the other, ordered by time, and at equal times by a
 * random number that the seed decides. After each event all code runs until it waits for time.
 */
export interface Scheduler {
  /** Milliseconds since the world began. */
  readonly nowMs: () => number;
  /** Runs `act` at a true time; a time in the past is next. */
  readonly at: (atMs: number, act: () => void) => Cancel;
  /** Runs `act` after this many milliseconds of true time. */
  readonly after: (ms: number, act: () => void) => Cancel;
  /** Advances true time to a moment, and runs all events until then. */
  readonly runUntil: (atMs: number) => Promise<void>;
  /** Runs the next event; false when there is none. */
  readonly step: () => Promise<boolean>;
  /** The number of events so far. */
  readonly events: () => number;
}

export interface SchedulerOptions {
  /** Orders events of the same moment. */
  readonly random: Random;
  /** Called after each event, when all code waits again: the place to check invariants. `runUntil` throws what it throws. */
  readonly onEvent?: (() => void) | undefined;
}

/** After this many events, Node.js gets one real turn, so that it reports unhandled rejections. */
const EVENTS_A_TURN = 512;

export function createScheduler({ random, onEvent }: SchedulerOptions): Scheduler {
  const agenda = new Agenda();
  let nowMs = 0;
  let events = 0;

  const at = (atMs: number, act: () => void): Cancel =>
    agenda.add({ atMs: Math.max(nowMs, atMs), tie: random.fraction() }, act);
  const happen = async ({ atMs, act }: Due): Promise<void> => {
    nowMs = atMs;
    events += 1;
    act();
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
      const due = agenda.take(Number.POSITIVE_INFINITY);
      if (due !== undefined) await happen(due);
      return due !== undefined;
    },
    runUntil: async (atMs) => {
      await settle();
      for (let due = agenda.take(atMs); due !== undefined; due = agenda.take(atMs)) await happen(due);
      nowMs = Math.max(nowMs, atMs);
    },
  };
}

/**
 * Resolves when no promise has work left. A tick of Node.js comes after all microtasks, including those that they create: one tick is
 * enough as long as only promises and ticks drive the code, and that holds for everything behind the ports.
 */
export function settle(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
