import type { NodeState } from "../core/node-state.ts";

/**
 * Where an agent keeps what must outlive it. The state is stored before anything of it is reported; what was not stored
 * becomes a gap, never a guess. Both calls reject with `MooringError` "journal-unusable" when there is no journal at present: then
 * the agent says so, goes on without it, and loads again, which may find what another run left meanwhile, before it stores anything.
 */
export interface Journal {
  /** The state that was stored last, by this run or another one, or nothing. Its stamps may be of another boot. */
  readonly load: () => Promise<NodeState | undefined>;
  /** True when the last `load` began it: no agent has kept a journal on this machine before. */
  readonly isNew?: () => boolean;
  /** Resolves when the state would be found again. */
  readonly store: (state: NodeState) => Promise<void>;
  /** Stores what was too little for a write of its own, and lets another run have the journal. */
  readonly close?: () => Promise<void>;
  /** Where it is, for people; nothing for one that ends with the process. */
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
