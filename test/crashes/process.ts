import { describeExit } from "../rig/process/child.ts";
import { HarnessError } from "../rig/process/errors.ts";
import { fileOf, type MooringProgram } from "../rig/process/mooring-program.ts";
import type { Owner } from "../rig/process/owner.ts";
import { waitUntil } from "../rig/process/wait.ts";
import type { Span } from "./record.ts";

const START_LIMIT_MS = 60_000;
const LOOK_MS = 100;
const RESTART_MS = 1_000;

/** Something that is killed and started again, and the spans in which it was up. */
export interface Mortal {
  readonly name: string;
  /** It runs; that it answers, too, its lives tell. */
  readonly isRunning: () => boolean;
  readonly start: () => Promise<void>;
  /** SIGKILL; answers when it was sent, by the wall clock. */
  readonly kill: () => Promise<number>;
  /** The last of them ends when it is asked for. */
  readonly lives: () => readonly Span[];
  /** Waits until it is up. */
  readonly up: () => Promise<void>;
}

/** Keeps the spans in which something was up. */
export class LifeBook {
  readonly #now: () => number;
  readonly #lives: Span[] = [];
  #bornMs: number | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  get isUp(): boolean {
    return this.#bornMs !== undefined;
  }

  begin(): void {
    this.#bornMs ??= this.#now();
  }

  end(): void {
    if (this.#bornMs !== undefined) this.#lives.push({ fromMs: this.#bornMs, toMs: this.#now() });
    this.#bornMs = undefined;
  }

  lives(): readonly Span[] {
    return this.#bornMs === undefined ? this.#lives : [...this.#lives, { fromMs: this.#bornMs, toMs: this.#now() }];
  }
}

/** One of Mooring's programs. */
export interface ProgramSpec {
  readonly name: string;
  readonly program: MooringProgram;
  readonly args: readonly string[];
  /** Answers with success as soon as it counts as up. */
  readonly health: string;
}

/** Makes a program of Mooring's that is not started yet. */
export function createProgram(owner: Owner, { name, program, args, health }: ProgramSpec): Mortal {
  const { clock, signal } = owner;
  const child = owner.child({ name, command: process.execPath, args: [fileOf(program), ...args], stopLimitMs: 3_000 });
  const book = new LifeBook(clock.wallMs);
  /** Looks until it is up, or until this run of it has ended. */
  const follow = async (pid: number | undefined): Promise<void> => {
    while (child.pid === pid && pid !== undefined && !signal.aborted) {
      const isUp = await fetch(health).then(
        ({ ok }) => ok,
        () => false,
      );
      if (isUp && child.pid === pid) return book.begin();
      await clock.sleep(LOOK_MS, signal);
    }
  };
  const start = async (): Promise<void> => {
    if (child.pid !== undefined || signal.aborted) return;
    await child.start();
    void follow(child.pid);
    void child.exited.then(async (exit) => {
      book.end();
      if (exit.signal === "SIGKILL" || signal.aborted) return;
      // A kubelet starts it again; that it ended is told, because nobody killed it.
      owner.say(`${name} ended by itself with ${describeExit(exit)}:\n${child.tail(5)}`);
      await clock.sleep(RESTART_MS, signal);
      await start();
    });
  };
  return {
    name,
    isRunning: () => child.pid !== undefined,
    start,
    kill: async () => {
      book.end();
      const atMs = clock.wallMs();
      await child.kill();
      return atMs;
    },
    lives: () => book.lives(),
    up: () => waitUntil(owner, { what: name, limitMs: START_LIMIT_MS, child, check: () => requireUp(book) }),
  };
}

async function requireUp(book: LifeBook): Promise<void> {
  if (!book.isUp) throw new HarnessError("it does not answer");
}
