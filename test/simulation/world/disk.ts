import type { NodeState } from "../../../agent/core/node-state.ts";
import type { Journal } from "../../../agent/sinks/journal.ts";
import { MooringError } from "../../../common/runtime/errors.ts";
import type { Scheduler } from "../engine/scheduler.ts";
import { sleepTrue } from "./time.ts";

/** What is wrong with a node's disk. */
export type DiskFault = "full" | "read-only" | "torn" | "slow";

/** States that an administrator's backup or an older image of the machine could have. */
const MOST_KEPT = 40;
/** A write, and one on a disk that hardly answers. Milliseconds of true time. */
const WRITE_MS = 0.4;
const SLOW_MS = 1_800;

/** Whoever has a journal open. */
interface Holder {
  readonly isAlive: () => boolean;
}

/**
 * The disk of a node: it outlives agents and boots, and what it gives back may be old or nothing. It keeps the promises of the Journal
 * port and no more: one holder at a time, and what a `store` was answered for is found again unless the disk itself loses it.
 */
export class Disk {
  readonly #scheduler: Scheduler;
  #states: NodeState[] = [];
  #holder: Holder | undefined;
  fault: DiskFault | undefined;
  /** It has always given back what it was given. */
  isSound = true;
  /** When an agent last took it for the disk of a new machine. */
  emptyAt: number | undefined;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  get newest(): NodeState | undefined {
    return this.#states.at(-1);
  }

  journal(holder: Holder): Journal {
    return {
      load: async () => {
        await this.#work();
        if (this.#holder !== holder && this.#holder?.isAlive()) throw unusable("another agent has it");
        this.#holder = holder;
        return this.newest;
      },
      store: async (state) => {
        await this.#work();
        if (this.#holder !== holder) throw unusable("it has not been opened");
        this.#states = [...this.#states.slice(1 - MOST_KEPT), state];
      },
      isNew: () => this.#isEmpty(),
      close: async () => {
        if (this.#holder === holder) this.#holder = undefined;
      },
    };
  }

  #isEmpty(): boolean {
    const isEmpty = this.newest === undefined;
    if (isEmpty) this.emptyAt = this.#scheduler.nowMs();
    return isEmpty;
  }

  async #work(): Promise<void> {
    await sleepTrue(this.#scheduler, this.fault === "slow" ? SLOW_MS : WRITE_MS);
    if (this.fault === undefined) return;
    if (this.fault === "slow") return;
    this.isSound = false;
    throw unusable(`the disk is ${this.fault}`);
  }

  /** The power went before the last so many writes had reached the disk, or somebody put an older state back. */
  loseLast(writes: number): void {
    if (writes > 0) this.isSound = false;
    this.#states = this.#states.slice(0, Math.max(0, this.#states.length - writes));
  }

  /** The journal is gone, and who has it open finds that it is no longer the one that it knew. */
  wipe(): void {
    this.isSound = false;
    this.#states = [];
    this.#holder = undefined;
  }
}

function unusable(why: string): MooringError {
  return new MooringError("journal-unusable", why);
}
