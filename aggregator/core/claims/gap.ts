import type { ClaimStatus, Gap, LastUse, UnusedReason } from "../../../common/storage/claim-status.ts";
import { spanOf, type UnobservedTime } from "../pod-watch/gap.ts";
import type { UseEnd } from "./use-end.ts";

/** An unused claim by everything that agents and replicas saw, before gaps count. */
export interface Idle {
  readonly reason: UnusedReason;
  readonly sinceMs: number;
  readonly lastUse: LastUse | undefined;
  /** A pod that came and went without using it, later than the last use. */
  readonly visit?: UseEnd | undefined;
}

/** When a claim may have been used unobserved. */
export interface Unobserved {
  readonly times: readonly UnobservedTime[];
  /** The end of a gap for which nodes have not answered yet: a time before it may turn out to be too early. */
  readonly openUntilMs?: number | undefined;
  /** A gap for which nodes have not answered yet, while they have some minutes left. */
  readonly unanswered?: { readonly toMs: number; readonly nodes: () => readonly string[] } | undefined;
}

/** The decision about an unused claim, with the gaps in which neither an agent nor a replica watched it. */
export function withGap(
  idle: Idle,
  stored: ClaimStatus | undefined,
  unobserved: Unobserved,
): Idle & { readonly gap: Gap | undefined } {
  const known = stored?.unused === true ? stored.gap : undefined;
  const gap = gapAfter(idle.sinceMs, stored, unobserved);
  // A stored gap from before the stored time is not about it, and no reason to write.
  if (gap === undefined) return { ...idle, gap: idle.sinceMs === stored?.sinceMs ? known : undefined };
  const sinceMs = Math.max(idle.sinceMs, gap.toMs);
  const isOfSameScan = idle.reason === "Unmounted" && gap.toMs < (idle.lastUse?.byMs ?? 0) + SAME_SCAN_MS;
  if (known === undefined && isOfSameScan) return { ...idle, sinceMs, gap: undefined };
  // Any pod may have used it until the end of the gap.
  const reason = idle.reason === "NeverObservedInUse" ? idle.reason : "NoPodUsing";
  return { ...idle, reason, sinceMs, gap };
}

/** When the claim may have been used after `sinceMs`; the stored gap counts as long as it is about that time. */
function gapAfter(sinceMs: number, stored: ClaimStatus | undefined, unobserved: Unobserved): Gap | undefined {
  const known = stored?.unused === true ? stored.gap : undefined;
  const usedSinceMs = stored?.unused === false ? stored.sinceMs : Number.POSITIVE_INFINITY;
  const isAfter = ({ toMs, isBefore }: UnobservedTime): boolean =>
    toMs > sinceMs && (!isBefore || toMs > usedSinceMs - 1_000);
  // Before the first known replica nothing else was watched: a claim first seen in this time has no gap behind it.
  const beganMs = Math.min(sinceMs, known?.fromMs ?? sinceMs);
  const isAbout = ({ datedBeforeMs }: UnobservedTime): boolean =>
    datedBeforeMs === undefined || beganMs < datedBeforeMs;
  const found = unobserved.times
    .filter((time) => isAfter(time) && isAbout(time))
    .map(({ fromMs, toMs }) => ({ fromMs: Math.max(fromMs, sinceMs), toMs }));
  const isKnownStill = known !== undefined && Math.ceil(known.toMs / 1000) >= Math.ceil(sinceMs / 1000);
  return spanOf(isKnownStill ? [known, ...found] : found);
}

/** The time covers a gap this short, and no message names it: two reports may date one scan apart. Milliseconds. */
const SAME_SCAN_MS = 1_000;
