import type { Claim } from "../../common/storage/claim.ts";

/**
 * True for a claim that gets a status: one that is bound. During its deletion only where it has Mooring's condition already. That
 * condition may keep it (docs/protection.md), so it has to be kept up to date until the claim is gone.
 */
export function isEligible({ phase, isDeleting, status, isDisbelieved }: Claim): boolean {
  return phase === "Bound" && (!isDeleting || status !== undefined || isDisbelieved === true);
}
