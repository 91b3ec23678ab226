import type { Claim } from "../../common/storage/claim.ts";

/**
 * True for a claim that gets a status: one that is bound. While it is being deleted only where Mooring's condition stands already, as that may
 * keep it (docs/protection.md): it has to go on telling the truth until the claim is gone. What Mooring never wrote of, it leaves alone.
 */
export function isEligible({ phase, isDeleting, status, isDisbelieved }: Claim): boolean {
  return phase === "Bound" && (!isDeleting || status !== undefined || isDisbelieved === true);
}
