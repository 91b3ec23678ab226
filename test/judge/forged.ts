import type { Case, Forgery, Use } from "./record.ts";

/** Nobody has had the time to put right what somebody else wrote. */
export const JUST_FORGED = "somebody else has just written it";
/** Somebody else wrote a time that may be true, of an unused claim; what ended before that is not remembered beside it. */
export const FORGED_TIME = "the time is somebody else's";
/** Somebody else wrote over who used the claim last, or took that away. */
export const FORGED_USE = "the last use is somebody else's";

/** etcd was restored from a backup. */
export const WENT_BACK = "went back with the store";

/** Why a time is earlier than the end of a use: that had ended when somebody else wrote this very time. */
export function whyEarlier({ forged = [], dispute }: Case, { endedMs }: Use, sinceMs: number): string | undefined {
  if (dispute === WENT_BACK) return WENT_BACK;
  const isTheirs = forged.some((one) => one.sinceMs === sinceMs && isAfter(one, endedMs));
  return isTheirs ? FORGED_TIME : undefined;
}

/** Somebody else wrote this very time. */
export function isForgedTime({ forged = [] }: Case, sinceMs: number): boolean {
  return forged.some((one) => one.sinceMs === sinceMs);
}

/** Why a use that is over need not be the last one, nor a later one be: somebody else wrote there since it ended. */
export function whyUnnamed({ forged = [], forgetsUntilMs = 0 }: Case, { endedMs }: Use): string | undefined {
  if (endedMs !== undefined && endedMs <= forgetsUntilMs) return WENT_BACK;
  return forged.some((one) => isAfter(one, endedMs)) ? FORGED_USE : undefined;
}

/** Why somebody is named who never used the claim. */
export function whyNamed({ forged = [] }: Case, release: string): string | undefined {
  return forged.some((one) => one.release === release) ? FORGED_USE : undefined;
}

function isAfter({ atMs }: Forgery, endedMs: number | undefined): boolean {
  return endedMs !== undefined && endedMs <= atMs;
}
