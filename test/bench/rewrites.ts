import type { Claim } from "../../common/storage/claim.ts";
import type { ClaimWatch } from "./claim-watch.ts";

/** So many are told in full. */
const EXAMPLES = 3;

/** What becomes of conditions that stood there before the start, which are right: each change of such a claim is one too many. */
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

  /** What comes from now on is meant to come. */
  stop(): void {
    this.#stopListening();
  }

  /** How many claims were changed, and how often in all. */
  get counts(): { readonly claims: number; readonly changes: number } {
    return { claims: this.#keys.size, changes: this.#changes };
  }

  /** What the first of them say now. */
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
