/** One scan of a mount table, in true time. */
interface Scan {
  readonly agent: unknown;
  readonly atMs: number;
  readonly isDamaged: boolean;
}

/** An agent reports a gap when two scans are more than five seconds apart; each scan may take three seconds more. Milliseconds. */
const GAP_MS = 11_000;

/** When agents scanned a node's mount table. */
export class ScanLog {
  readonly #all: Scan[] = [];

  note(glance: Scan): void {
    this.#all.push(glance);
  }

  /** No agent scanned the table in this time, for any reason: no scan can show what happened in it. */
  hasNoScanIn({ beganAt, endedAt }: { readonly beganAt: number; readonly endedAt: number }): boolean {
    return !this.#all.some(({ atMs }) => atMs >= beganAt && atMs < endedAt);
  }

  /**
   * This time lies wholly between two scans of an agent without a gap: the agent sees only that the table changed. A node may have two
   * agents.
   */
  enclose({ beganAt, endedAt }: { readonly beganAt: number; readonly endedAt: number }): boolean {
    const later = this.#all.filter(({ atMs }) => atMs >= endedAt && atMs - beganAt <= GAP_MS);
    return later.some((after) => {
      const earlier = this.#all.filter(({ agent, atMs }) => agent === after.agent && atMs < after.atMs);
      const before = earlier.at(-1);
      if (before === undefined || before.isDamaged || after.isDamaged) return false;
      return before.atMs <= beganAt && after.atMs - before.atMs <= GAP_MS;
    });
  }
}
