import type { BlindGap, ClaimStatus } from "../../common/storage/claim-status.ts";
import { gapMessage, idleMessage } from "./claim-messages.ts";
import { endOf } from "./use-end.ts";
import { spanOf, type UnobservedTime } from "./watch-gap.ts";

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

/** A time in the future is none, beyond what clocks are not sure of. Milliseconds. */
const FUTURE_MS = 5_000;

/** The stored status as it would be if somebody had watched: without what was added because of a gap, but for its time. */
export function withoutGap(stored: ClaimStatus): ClaimStatus {
  const { blindGap, ...rest } = stored;
  if (blindGap === undefined) return stored;
  return { ...rest, message: idleMessage(rest.lastUse && endOf(rest.lastUse), rest.reason) };
}

/**
 * The status of an unused claim with what nobody saw of it. `status` is what would be right if somebody had watched; nothing where that
 * is just what is stored. Answers nothing where what is stored is to be left alone.
 */
export function withGap(
  status: ClaimStatus | undefined,
  {
    stored,
    unobserved: all,
    nowMs,
  }: {
    readonly stored: ClaimStatus | undefined;
    readonly unobserved: Unobserved;
    readonly nowMs: number;
  },
): ClaimStatus | undefined {
  const unobserved = untilNow(all, nowMs);
  const known = stored?.unused === true ? stored.blindGap : undefined;
  const isForged = isToCome(known, nowMs);
  const seen = status ?? (isForged && stored !== undefined ? withoutGap(stored) : undefined);
  if (isTooSoon(seen, unobserved)) return undefined;
  const base = seen ?? (stored && withoutGap(stored));
  if (base?.unused !== true) return seen;
  const usedSinceMs = stored?.unused === false ? stored.sinceMs : undefined;
  const gap = gapAfter(base.sinceMs, { known: isForged ? undefined : known, unobserved, usedSinceMs });
  if (gap === undefined) return seen;
  const told = tell(base, { gap, known });
  if (isTooSoon(told, unobserved)) return undefined;
  const isKnown = seen === undefined && isSameGap(known, told.blindGap);
  return isKnown && toSeconds(told.sinceMs) === toSeconds(base.sinceMs) ? undefined : told;
}

function isToCome(gap: BlindGap | undefined, nowMs: number): boolean {
  return gap !== undefined && gap.toMs > nowMs + FUTURE_MS;
}

/** Without what a clock dated that was set back since: it would move with each decision, until it has come. */
function untilNow(unobserved: Unobserved, nowMs: number): Unobserved {
  const times = unobserved.times.filter(({ toMs }) => toMs <= nowMs + FUTURE_MS);
  return times.length === unobserved.times.length ? unobserved : { ...unobserved, times };
}

/** Written now it might have to be taken back soon, and until then it would be a lie. */
function isTooSoon(status: ClaimStatus | undefined, { openUntilMs }: Unobserved): boolean {
  return openUntilMs !== undefined && status?.unused === true && status.sinceMs < openUntilMs;
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

function tell(
  base: ClaimStatus,
  { gap, known }: { readonly gap: BlindGap; readonly known: BlindGap | undefined },
): ClaimStatus {
  const sinceMs = Math.max(base.sinceMs, gap.toMs);
  const { reason, lastUse } = base;
  const isEnd = reason === "Unmounted" && lastUse !== undefined && gap.toMs < lastUse.releasedAtMs + SAME_SCAN_MS;
  if (known === undefined && isEnd) return { ...base, sinceMs };
  return {
    ...base,
    // Nobody knows who used it until then, if anybody did.
    reason: reason === "NeverObservedInUse" ? reason : "NoPodUsing",
    message: `${base.message}${gapMessage(gap)}`,
    sinceMs,
    blindGap: gap,
  };
}

function isSameGap(one: BlindGap | undefined, other: BlindGap | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return Math.floor(one.fromMs) === Math.floor(other.fromMs) && Math.ceil(one.toMs) === Math.ceil(other.toMs);
}

function toSeconds(ms: number): number {
  return Math.ceil(ms / 1000);
}
