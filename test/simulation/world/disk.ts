import type { NodeState } from "../../../agent/core/node-state.ts";
import type { Journal } from "../../../agent/sinks/journal.ts";

/** What is wrong with a node's disk. */
export type DiskFault = "full" | "read-only" | "torn";

/** States that an administrator's backup or an older image of the machine could have. */
const MOST_KEPT = 40;

/** The disk of a node: it outlives agents and boots, and what it gives back may be old, torn or nothing. */
export class Disk {
  #states: NodeState[] = [];
  fault: DiskFault | undefined;

  get newest(): NodeState | undefined {
    return this.#states.at(-1);
  }

  journal(): Journal {
    return {
      load: async () => {
        if (this.fault === "torn") throw new Error("the database disk image is malformed");
        return this.newest;
      },
      store: async (state) => {
        if (this.fault !== undefined) throw new Error(`the disk is ${this.fault}`);
        this.#states = [...this.#states.slice(1 - MOST_KEPT), state];
      },
    };
  }

  /** The power went before the last so many writes had reached the disk, or somebody put an older state back. */
  loseLast(writes: number): void {
    this.#states = this.#states.slice(0, Math.max(0, this.#states.length - writes));
  }

  wipe(): void {
    this.#states = [];
    if (this.fault === "torn") this.fault = undefined;
  }
}
