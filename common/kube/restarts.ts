/** Why a watch was restarted: the server ended it, it failed, or the collection had to be listed again. */
export const RESTART_REASONS = ["ended", "failed", "relist"] as const;
export type RestartReason = (typeof RESTART_REASONS)[number];

/** How often a watch was restarted. */
export interface Restarts {
  readonly note: (reason: RestartReason) => void;
  readonly counts: () => Readonly<Record<RestartReason, number>>;
}

export function createRestarts(): Restarts {
  const counts = { ended: 0, failed: 0, relist: 0 };
  return {
    note: (reason) => {
      counts[reason] += 1;
    },
    counts: () => counts,
  };
}
