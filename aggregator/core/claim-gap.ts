import type { BlindGap, ClaimStatus, LastUse, UnusedReason } from "../../common/storage/claim-status.ts";
import type { UseEnd } from "./use-end.ts";
import { spanOf, type UnobservedTime } from "./watch-gap.ts";

/** An unused claim by all that agents and replicas saw, before its gaps count. */
export interface Idle {
  readonly reason: UnusedReason;
  readonly sinceMs: number;
  readonly lastUse: LastUse | undefined;
  /** A pod that came and went without using it, later than the last use. */
  readonly visit?: UseEnd | undefined;
}

/** What was not observed of a claim. */
export interface Unobserved {
  readonly times: readonly UnobservedTime[];
  /** The end of a gap of which nodes have still to answer: what is dated before it may turn out to be too early. */
  readonly openUntilMs?: number | undefined;
  /** A gap of which nodes have still to answer that may do so for some minutes yet. */
  readonly unanswered?: { readonly toMs: number; readonly nodes: () => readonly string[] } | undefined;
}

/** The same for a claim of which an earlier leader had found out that it is not unused for longer, and could not store it. */
export function notBefore(unobserved: Unobserved, sinceMs: number | undefined): Unobserved {
  if (sinceMs === undefined) return unobserved;
  const time = { fromMs: sinceMs, toMs: sinceMs, isBefore: false };
  return { ...unobserved, times: [...unobserved.times, time] };
}

/** The decision on an unused claim, with the gaps in which no agent and no replica watched it. */
export function withGap(
  idle: Idle,
  { stored, unobserved }: { readonly stored: ClaimStatus | undefined; readonly unobserved: Unobserved },
): Idle & { readonly blindGap: BlindGap | undefined } {
  const known = stored?.unused === true ? stored.blindGap : undefined;
  const usedSinceMs = stored?.unused === false ? stored.sinceMs : undefined;
  const gap = gapAfter(idle.sinceMs, { known, unobserved, usedSinceMs });
  // A gap from before the stored time is not ours, and no reason to write.
  if (gap === undefined) return { ...idle, blindGap: idle.sinceMs === stored?.sinceMs ? known : undefined };
  const sinceMs = Math.max(idle.sinceMs, gap.toMs);
  if (known === undefined && isOfSameScan(idle, gap)) return { ...idle, sinceMs, blindGap: undefined };
  // Any pod may have used it until the end of the gap.
  const reason = idle.reason === "NeverObservedInUse" ? idle.reason : "NoPodUsing";
  return { ...idle, reason, sinceMs, blindGap: gap };
}

/** Written now it might have to be taken back soon, and until then it would be a lie. */
export function isTooSoon({ sinceMs }: Idle, { openUntilMs }: Unobserved): boolean {
  return openUntilMs !== undefined && sinceMs < openUntilMs;
}

/** From when to when the claim may have been used after `sinceMs`; what is stored of it counts as long as it is about that time. */
function gapAfter(
  sinceMs: number,
  {
    known,
    unobserved,
    usedSinceMs = Number.POSITIVE_INFINITY,
  }: {
    readonly known: BlindGap | undefined;
    readonly unobserved: Unobserved;
    /** Of a claim that was in use until now. Rounded up. */
    readonly usedSinceMs: number | undefined;
  },
): BlindGap | undefined {
  const isAfter = ({ toMs, isBefore }: UnobservedTime): boolean =>
    toMs > sinceMs && (!isBefore || toMs > usedSinceMs - 1_000);
  // Where no replica is known to have watched before, what was first seen in this time has no gap behind it.
  const beganMs = Math.min(sinceMs, known?.fromMs ?? sinceMs);
  const isAbout = ({ datedBeforeMs }: UnobservedTime): boolean =>
    datedBeforeMs === undefined || beganMs < datedBeforeMs;
  const found = unobserved.times
    .filter((time) => isAfter(time) && isAbout(time))
    .map(({ fromMs, toMs }) => ({ fromMs: Math.max(fromMs, sinceMs), toMs }));
  const isKnownStill = known !== undefined && toSeconds(known.toMs) >= toSeconds(sinceMs);
  return spanOf(isKnownStill ? [known, ...found] : found);
}

/**
 * The scan that closes a gap may be the one that lacks the mount: two reports date it, some milliseconds apart. The time covers that, and there is
 * nothing to tell of it. Milliseconds.
 */
const SAME_SCAN_MS = 1_000;

function isOfSameScan({ reason, lastUse }: Idle, { toMs }: BlindGap): boolean {
  return reason === "Unmounted" && lastUse !== undefined && toMs < lastUse.releasedAtMs + SAME_SCAN_MS;
}

function toSeconds(ms: number): number {
  return Math.ceil(ms / 1000);
}
