/**
 * What really happened: the simulated kernels and kubelets write it themselves. It shares no code with Mooring, and Mooring does not see
 * it. All times are true time: milliseconds since the simulation began.
 */

/** One pod's use of one claim on one node, from the first of its mounts to the last. */
export interface Use {
  readonly claim: string;
  readonly claimUid: string;
  readonly node: string;
  readonly bootId: string;
  readonly pod: string;
  readonly podUid: string;
  /** False where no mount table shows the use: a hostPath volume. */
  readonly isShown: boolean;
  readonly beganAt: number;
  /** Undefined while it lasts. */
  readonly endedAt: number | undefined;
}

type Begun = Omit<Use, "endedAt" | "beganAt">;

/** The record of all uses. */
export class Truth {
  readonly #now: () => number;
  readonly #uses = new Map<string, Use[]>();

  constructor(now: () => number) {
    this.#now = now;
  }

  begin(use: Begun): void {
    if (this.#open(use) !== undefined) return;
    const uses = this.#uses.get(use.claimUid) ?? [];
    this.#uses.set(use.claimUid, [...uses, { ...use, beganAt: this.#now(), endedAt: undefined }]);
  }

  end(use: Pick<Use, "claimUid" | "podUid" | "node">): void {
    const open = this.#open(use);
    if (open === undefined) return;
    const ended = { ...open, endedAt: this.#now() };
    this.#uses.set(
      use.claimUid,
      this.usesOf(use.claimUid).map((one) => (one === open ? ended : one)),
    );
  }

  #open({ claimUid, podUid, node }: Pick<Use, "claimUid" | "podUid" | "node">): Use | undefined {
    const isIt = (one: Use): boolean => one.podUid === podUid && one.node === node && one.endedAt === undefined;
    return this.usesOf(claimUid).find(isIt);
  }

  /** Ordered by their begin. */
  usesOf(claimUid: string): readonly Use[] {
    return this.#uses.get(claimUid) ?? [];
  }

  get all(): readonly Use[] {
    return [...this.#uses.values()].flat();
  }
}
