import { setImmediate as turn } from "node:timers/promises";
import type { Random } from "../../../common/runtime/random.ts";
import { Agenda, type Due } from "./agenda.ts";

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

/** So often real events of the process get a turn, so that a rejection that nobody handles is told. */
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
 * Resolves when no promise has anything left to do. A tick of Node.js comes after all microtasks, also those that they make: one is
 * enough as long as nothing but promises and ticks carries the code on, which is so for everything behind the ports.
 */
export function settle(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
