import type { Starvation } from "../../rig/process/starvation.ts";
import type { Moment } from "../scenarios/scenario.ts";

/** So soon after its last unmount a deleted claim is gone; what the machine made everybody wait comes on top. */
export const GONE_LIMIT_MS = 2_000;

/** What became of a deleted claim and its data. Wall clock, milliseconds. */
export interface Ending {
  /** Its deletion was seen. */
  readonly askedMs: number;
  /** The claim was seen to be gone. */
  readonly goneMs: number;
  /** The last mount of its volume on any node ended, staging included: the kernel's record. */
  readonly unmounted: Moment;
  /** Its data was destroyed: the storage's record. */
  readonly destroyed: Moment;
  /** The phases of its volume, each when it was seen first. */
  readonly phases: readonly { readonly seenMs: number; readonly phase: string }[];
}

/** What was lost, each a sentence: whatever went of a volume that a node had mounted. */
export function lossesIn({ askedMs, goneMs, unmounted, destroyed, phases }: Ending): readonly string[] {
  const { afterMs } = unmounted;
  const released = phases.find(({ phase, seenMs }) => seenMs >= askedMs && seenMs < afterMs && phase !== "Bound");
  return [
    ...(goneMs < afterMs ? [`the claim was gone ${seconds(afterMs - goneMs)} before the last unmount`] : []),
    ...(released
      ? [`the volume was ${released.phase} ${seconds(afterMs - released.seenMs)} before the last unmount`]
      : []),
    ...(destroyed.afterMs < afterMs
      ? [`the data was destroyed ${seconds(afterMs - destroyed.afterMs)} before the last unmount`]
      : []),
  ];
}

/** How the claim stayed longer than it should, in words: from when nothing held it any more, which is the last unmount unless told. */
export function delaysIn(
  { goneMs, unmounted }: Ending,
  { starvation, freeMs = unmounted.byMs, limitMs = GONE_LIMIT_MS }: DelayTerms,
): readonly string[] {
  const lateMs = goneMs - freeMs;
  const starvedMs = starvation(freeMs, goneMs);
  if (lateMs <= limitMs + starvedMs) return [];
  return [
    `the claim was gone ${seconds(lateMs)} after it was free, ${seconds(starvedMs)} of it for want of the machine`,
  ];
}

interface DelayTerms {
  readonly starvation: Starvation;
  readonly freeMs?: number;
  readonly limitMs?: number;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(3)} s`;
}
