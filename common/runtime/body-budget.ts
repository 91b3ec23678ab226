/** All request bodies together need more memory than the server has for them: the caller should retry. */
export class BodyBudgetExceeded extends Error {}

/** The memory that one request's body reserves, until it is released. */
export interface BodyLease {
  /** Throws `BodyBudgetExceeded`. */
  readonly take: (bytes: number) => void;
  readonly giveBack: () => void;
}

/**
 * Memory for the bodies of all requests of a server. Each of thousands of callers may send as much as a route accepts, and leave it
 * unfinished for as long as a request may last.
 */
export class BodyBudget {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  lease(): BodyLease {
    let taken = 0;
    return {
      take: (bytes) => {
        if (bytes > this.#left) throw new BodyBudgetExceeded("too many bodies are under way");
        this.#left -= bytes;
        taken += bytes;
      },
      giveBack: () => {
        this.#left += taken;
        taken = 0;
      },
    };
  }
}
