import type { Claim } from "../../common/storage/claim.ts";
import type { OwnedChild } from "../rig/process/child.ts";
import type { Owner } from "../rig/process/owner.ts";
import { waitUntil } from "../rig/process/wait.ts";
import type { ClaimWatch } from "./claim-watch.ts";

/** When each claim first became what is waited for, from the making of this on. */
export class FirstConditions {
  readonly #owner: Owner;
  readonly #seen = new Map<string, number>();
  readonly #stopListening: () => void;

  constructor(owner: Owner, watch: ClaimWatch, isDone: (claim: Claim) => boolean) {
    this.#owner = owner;
    this.#stopListening = watch.listen((claim, seenAt) => {
      if (isDone(claim) && !this.#seen.has(claim.key)) this.#seen.set(claim.key, seenAt);
    });
  }

  /** Returns once this many claims are; throws a HarnessError at the limit, or when `child` has ended. */
  async reached(
    count: number,
    { limitMs, child }: { readonly limitMs: number; readonly child?: OwnedChild },
  ): Promise<void> {
    const check = async (): Promise<void> => {
      if (this.#seen.size < count) throw new Error(`${this.#seen.size} of them have it`);
    };
    const dueToEnd = child === undefined ? {} : { child };
    await waitUntil(this.#owner, { what: `condition of ${count} claims`, limitMs, ...dueToEnd, everyMs: 20, check });
    this.#stopListening();
  }

  /** On the owner's monotonic clock, in the order in which they came. */
  get times(): readonly number[] {
    return [...this.#seen.values()];
  }
}

/** Returns once no claim has changed for this long: the writes after the first conditions are over. */
export async function calm({ clock, signal }: Owner, watch: ClaimWatch, quietMs: number): Promise<void> {
  let known: number | undefined;
  while (known !== watch.changes() && !signal.aborted) {
    known = watch.changes();
    await clock.sleep(quietMs, signal);
  }
}
