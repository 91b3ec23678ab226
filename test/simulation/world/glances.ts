/** One look at a mount table, in true time. */
interface Glance {
  readonly agent: unknown;
  readonly atMs: number;
  readonly isDamaged: boolean;
}

/** Five seconds between two scans and an agent knows that it did not watch; either may take three more. Milliseconds. */
const FAR_MS = 11_000;

/** At which moments agents saw a node's mount table. */
export class Glances {
  readonly #all: Glance[] = [];

  note(glance: Glance): void {
    this.#all.push(glance);
  }

  /** True for what no look can have shown, whyever there was none. */
  areNoneIn({ beganAt, endedAt }: { readonly beganAt: number; readonly endedAt: number }): boolean {
    return !this.#all.some(({ atMs }) => atMs >= beganAt && atMs < endedAt);
  }

  /** True for what lies wholly between two looks of an agent that watched: it sees only that something changed. There may be two agents. */
  areAround({ beganAt, endedAt }: { readonly beganAt: number; readonly endedAt: number }): boolean {
    const looksAfter = this.#all.filter(({ atMs }) => atMs >= endedAt && atMs - beganAt <= FAR_MS);
    return looksAfter.some((after) => {
      const earlier = this.#all.filter(({ agent, atMs }) => agent === after.agent && atMs < after.atMs);
      const before = earlier.at(-1);
      if (before === undefined || before.isDamaged || after.isDamaged) return false;
      return before.atMs <= beganAt && after.atMs - before.atMs <= FAR_MS;
    });
  }
}
