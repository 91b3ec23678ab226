/** One look at a mount table, in true time. */
interface Glance {
  readonly agent: unknown;
  readonly atMs: number;
  readonly isDamaged: boolean;
}

/** Five seconds between two reads and an agent knows that it did not watch; either may take three more. Milliseconds. */
const FAR_MS = 11_000;

/** At which moments agents saw a node's mount table. */
export class Glances {
  readonly #all: Glance[] = [];

  note(glance: Glance): void {
    this.#all.push(glance);
  }

  /** True for what lies wholly between two looks of an agent that watched: it sees only that something changed. */
  areAround({ beganAt, endedAt }: { readonly beganAt: number; readonly endedAt: number }): boolean {
    const next = this.#all.findIndex(({ atMs }) => atMs >= beganAt);
    const [before, after] = [this.#all[next - 1], this.#all[next]];
    if (before === undefined || after === undefined || before.agent !== after.agent) return false;
    return !before.isDamaged && !after.isDamaged && after.atMs >= endedAt && after.atMs - before.atMs <= FAR_MS;
  }
}
