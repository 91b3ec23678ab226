import type { Claim } from "../../common/storage/claim.ts";
import { kubernetesCondition } from "../../common/storage/upstream-unused.ts";
import type { DesiredClaim } from "../core/claims/write.ts";
import type { ClaimWriterParts } from "./claim-writer.ts";

/** Kubernetes calls a claim unused when its last pod is over, and the kubelet unmounts after that: a contradiction this short is normal. */
const GRACE_MS = 10_000;

interface Contradiction {
  readonly uid: string;
  readonly sinceMs: number;
  isWarned: boolean;
}

/** Claims that Kubernetes calls unused while a node has them mounted. */
export class UnusedWhileMounted {
  readonly #parts: Pick<ClaimWriterParts, "clock" | "warnings">;
  readonly #known = new Map<string, Contradiction>();

  constructor(parts: Pick<ClaimWriterParts, "clock" | "warnings">) {
    this.#parts = parts;
  }

  /** How many there are, without those that are normal. */
  get size(): number {
    return [...this.#known.values()].filter(({ isWarned }) => isWarned).length;
  }

  /** Compares the two, and warns once. Answers after how many milliseconds to compare again, if necessary. */
  compare(decision: DesiredClaim): number | undefined {
    const { claim } = decision;
    const nodes = nodesAgainst(decision);
    if (nodes === undefined) {
      this.#known.delete(claim.key);
      return undefined;
    }
    const nowMs = this.#parts.clock.monotonicMs();
    const known = this.#known.get(claim.key);
    const found = known?.uid === claim.uid ? known : { uid: claim.uid, sinceMs: nowMs, isWarned: false };
    this.#known.set(claim.key, found);
    const restMs = found.sinceMs + GRACE_MS - nowMs;
    if (restMs > 0) return restMs;
    if (!found.isWarned) this.#parts.warnings.tell(claim, { kind: "unused-while-mounted", nodes });
    found.isWarned = true;
    return undefined;
  }

  forget({ key, uid }: Claim): void {
    if (this.#known.get(key)?.uid === uid) this.#known.delete(key);
  }
}

/**
 * The nodes that have the claim mounted although Kubernetes calls it unused. A condition that Mooring writes in its place does not
 * count.
 */
function nodesAgainst({ claim, isEligible, desired }: DesiredClaim): readonly string[] | undefined {
  const status = desired ?? claim.status;
  const isContradicted = isEligible && kubernetesCondition(claim.upstream)?.unused === true;
  return isContradicted && status?.reason === "Mounted" ? (status.mountedOn?.nodes ?? []) : undefined;
}
