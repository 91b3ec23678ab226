import type { Claim } from "../../common/storage/claim.ts";
import type { ClaimWatch } from "./claim-watch.ts";

/** This many are printed in full. */
const EXAMPLES = 3;

/** The changes of correct conditions from before the start: each one is a needless write. */
export class Rewrites {
  readonly #keys = new Set<string>();
  readonly #examples: string[] = [];
  readonly #stopListening: () => void;
  #changes = 0;

  constructor(watch: Pick<ClaimWatch, "listen">, isWritten: (claim: Claim) => boolean) {
    this.#stopListening = watch.listen((claim) => {
      if (isWritten(claim)) this.#see(claim);
    });
  }

  /** Later changes are intended. */
  stop(): void {
    this.#stopListening();
  }

  /** The number of changed claims, and of all changes. */
  get counts(): { readonly claims: number; readonly changes: number } {
    return { claims: this.#keys.size, changes: this.#changes };
  }

  /** The present conditions of the first of them. */
  get examples(): readonly string[] {
    return this.#examples;
  }

  #see({ key, status }: Claim): void {
    this.#changes += 1;
    if (!this.#keys.has(key) && this.#examples.length < EXAMPLES) {
      this.#examples.push(`${key}: ${status?.reason ?? "no status"}: ${status?.message ?? ""}`);
    }
    this.#keys.add(key);
  }
}
