import type { NodeState } from "../../../agent/core/node-state.ts";
import type { Journal } from "../../../agent/sinks/journal.ts";
import { MooringError } from "../../../common/runtime/errors.ts";
import type { Scheduler } from "../engine/scheduler.ts";
import { sleepTrue } from "./time.ts";

/** A fault of a node's disk. */
export type DiskFault = "full" | "read-only" | "torn" | "slow";

/** Number of old states that a backup or an older image of the machine may restore. */
const MOST_KEPT = 40;
/** Duration of a write, and of a write on a slow disk. Milliseconds of true time. */
const WRITE_MS = 0.4;
const SLOW_MS = 1_800;

/** The agent that has the journal open. */
interface Holder {
  readonly isAlive: () => boolean;
}

/**
 * The disk of a node. It outlives agents and boots, and may give back old data or none. It keeps the promises of the Journal port and no
 * others: one holder at a time, and a stored state is found again unless the disk itself loses it.
 */
export class Disk {
  readonly #scheduler: Scheduler;
  #states: NodeState[] = [];
  #holder: Holder | undefined;
  fault: DiskFault | undefined;
  /** False once it lost or replaced data. */
  isSound = true;
  /** When an agent last found it empty, and so took the machine for a new one. */
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

  /** The last writes are lost: the power went before they reached the disk, or an administrator restored an older state. */
  loseLast(writes: number): void {
    if (writes > 0) this.isSound = false;
    this.#states = this.#states.slice(0, Math.max(0, this.#states.length - writes));
  }

  /** Deletes the journal. An agent that has it open notices that the file is no longer its own. */
  wipe(): void {
    this.isSound = false;
    this.#states = [];
    this.#holder = undefined;
  }
}

function unusable(why: string): MooringError {
  return new MooringError("journal-unusable", why);
}
