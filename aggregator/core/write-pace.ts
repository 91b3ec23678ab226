import type { ClaimStatus } from "../../common/storage/claim-status.ts";
import { isSameStatus } from "./claim-write.ts";

/** What stood against a claim's last writes, times on a monotonic clock. */
export interface WriteTrouble {
  /**
   * `stale`: the claim had changed, or was gone. `refused`: the API server will not take it (an admission policy, a webhook, a
   * quota). `failed`: the server or the way to it failed, for this claim.
   */
  readonly kind: "stale" | "refused" | "failed";
  /** Times in a row. */
  readonly times: number;
  readonly atMs: number;
  /** What it was decided on, and what was to be written. */
  readonly resourceVersion: string;
  readonly status: ClaimStatus | undefined;
  /** From 0 to 1, so that many claims do not come back in step. */
  readonly jitter: number;
}

interface Limits {
  readonly firstMs: number;
  readonly mostMs: number;
}

/**
 * How long to wait before the next attempt: when claim and decision are what they were, and when one of them has changed. The
 * second is next to nothing at first, but grows as well: somebody may change a claim all the time.
 */
const WAITS: Readonly<Record<WriteTrouble["kind"], { readonly same: Limits; readonly changed: Limits }>> = {
  stale: { same: { firstMs: 500, mostMs: 60_000 }, changed: { firstMs: 20, mostMs: 5_000 } },
  refused: { same: { firstMs: 600_000, mostMs: 7_200_000 }, changed: { firstMs: 500, mostMs: 600_000 } },
  failed: { same: { firstMs: 500, mostMs: 60_000 }, changed: { firstMs: 500, mostMs: 60_000 } },
};

/** What is known after one more trouble: another kind of it begins anew. */
export function nextTrouble(known: WriteTrouble | undefined, trouble: Omit<WriteTrouble, "times">): WriteTrouble {
  return { ...trouble, times: known?.kind === trouble.kind ? known.times + 1 : 1 };
}

/**
 * True when nothing has changed since the trouble: neither the claim nor what is to be written. What is written on a state that
 * is known to be old meets the same trouble, whatever it is.
 */
export function isUnchanged(
  trouble: WriteTrouble,
  { resourceVersion, status }: Pick<WriteTrouble, "resourceVersion" | "status">,
): boolean {
  if (trouble.resourceVersion !== resourceVersion) return false;
  if (trouble.kind === "stale") return true;
  return status === undefined ? trouble.status === undefined : isSameStatus(trouble.status, status);
}

/** How many milliseconds are left until the next attempt; nothing is left at 0 and below. */
export function restBefore(
  trouble: WriteTrouble,
  now: Pick<WriteTrouble, "resourceVersion" | "status" | "atMs">,
): number {
  const { same, changed } = WAITS[trouble.kind];
  return trouble.atMs + waitOf(trouble, isUnchanged(trouble, now) ? same : changed) - now.atMs;
}

function waitOf({ times, jitter }: WriteTrouble, { firstMs, mostMs }: Limits): number {
  const full = Math.min(mostMs, firstMs * 2 ** Math.min(times - 1, 30));
  return full * (0.75 + jitter / 2);
}

/** How often in a row something was put right that others had changed, and when last. */
export interface Repairs {
  readonly times: number;
  readonly atMs: number;
}

/** Somebody who keeps changing it is not raced: at most once an hour in the end. */
const REPAIR: Limits = { firstMs: 5_000, mostMs: 3_600_000 };
/** After so long without need for it, it begins anew. */
const REPAIR_FORGOTTEN_MS = 2 * REPAIR.mostMs;

/** One more repair. */
export function nextRepairs(known: Repairs | undefined, atMs: number): Repairs {
  const isForgotten = known === undefined || atMs - known.atMs > REPAIR_FORGOTTEN_MS;
  return { times: isForgotten ? 1 : known.times + 1, atMs };
}

/** How many milliseconds are left until the next repair; nothing is left at 0 and below. */
export function restBeforeRepair(known: Repairs | undefined, atMs: number): number {
  if (known === undefined) return 0;
  return known.atMs + Math.min(REPAIR.mostMs, REPAIR.firstMs * 2 ** Math.min(known.times - 1, 30)) - atMs;
}
