import type { NodeState } from "../core/node-state.ts";

/**
 * Where an agent keeps what must outlive it. The state is stored before anything of it is reported; what was not stored
 * becomes a blind window, never a guess.
 */
export interface Journal {
  /** The state that was stored last, or nothing. */
  readonly load: () => Promise<NodeState | undefined>;
  readonly store: (state: NodeState) => Promise<void>;
}

/** A journal that lives as long as the process: a restarted agent begins blind, and its report says since when it has seen. */
export function createMemoryJournal(): Journal {
  let stored: NodeState | undefined;
  return {
    load: async () => stored,
    store: async (state) => {
      stored = state;
    },
  };
}
