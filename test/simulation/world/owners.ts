import type { Pods } from "./pods.ts";
import type { Windows } from "./windows.ts";

type NewPod = Parameters<Pods["create"]>[0];

interface OwnerParts {
  readonly pods: Pods;
  readonly windows: Windows;
  /** Whether an API server is up. */
  readonly isUp: () => boolean;
}

/** A pod that its owner recreates. */
type Pinned = Omit<NewPod, "name" | "owner"> & { readonly owner: string };

interface Open extends Pinned {
  made: number;
}

/** The most pods that one owner creates: pods that end at once would otherwise never stop. */
const MOST = 12;

/** Owners that recreate their pod on the same node whenever it is over. */
export class Owners {
  readonly #parts: OwnerParts;
  readonly #open = new Set<Open>();

  constructor(parts: OwnerParts) {
    this.#parts = parts;
  }

  begin(pinned: Pinned, forMs: number): void {
    const open = { ...pinned, made: 0 };
    this.#open.add(open);
    this.#parts.windows.begin(forMs, () => this.#open.delete(open));
    this.sync();
  }

  /** Pods have changed. */
  sync(): void {
    const { pods, isUp } = this.#parts;
    if (!isUp()) return;
    for (const open of this.#open) {
      const { made, ...pinned } = open;
      const hasOne = pods.there.some(({ owner, isOver, isDeleting }) => owner === open.owner && !isOver && !isDeleting);
      if (hasOne || made >= MOST) continue;
      open.made += 1;
      pods.create({ ...pinned, name: `${pinned.owner}-${open.made}` });
    }
  }
}
