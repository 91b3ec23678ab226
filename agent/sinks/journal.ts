import type { NodeState } from "../core/node-state.ts";

/**
 * Stores what has to outlive the agent. The state is stored before any of it is reported; what was not stored becomes a gap, never a
 * guess. Both calls reject with `MooringError` "journal-unusable" while there is no journal: the agent then says so, goes on without it,
 * and loads again before it stores anything, as another run may have used the journal meanwhile.
 */
export interface Journal {
  /** The last stored state, of this run or another one, if there is one. Its stamps may be of another boot. */
  readonly load: () => Promise<NodeState | undefined>;
  /** True when the last `load` began it: no agent has kept a journal on this machine before. */
  readonly isNew?: () => boolean;
  /** Resolves when the state would be found again. */
  readonly store: (state: NodeState) => Promise<void>;
  /** Stores small changes that were not written yet, and lets another run have the journal. */
  readonly close?: () => Promise<void>;
  /** Its path, for people; undefined for a journal that ends with the process. */
  readonly place?: string;
}

/** A journal that lives as long as the process: a restarted agent begins with a gap, and its report says since when it has watched. */
export function createMemoryJournal(): Journal {
  let stored: NodeState | undefined;
  return {
    load: async () => stored,
    store: async (state) => {
      stored = state;
    },
  };
}
