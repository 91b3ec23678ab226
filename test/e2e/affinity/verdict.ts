import type { Starvation } from "../../rig/process/starvation.ts";
import type { PodState } from "./pod-log.ts";

/** What a rejected pod's status says, as the kubelet would say it (KEP-5381). */
export const REASON = "VolumeNodeAffinity";
export const MESSAGE_PREFIX = "Pod was rejected: ";
/** Tells a pod that Mooring rejected. */
export const ANNOTATION = "mooring.dev/rejected";

/**
 * Between the moment at which it learns of a rejection and that at which its worker takes it over, a kubelet may write the phase that it had
 * before, and without the reason; it puts both back itself. Longer than that is a loss. Milliseconds.
 */
const TAKEN_BACK_LIMIT_MS = 5_000;

/** When a pod was first seen to be rejected; nothing for one that never was. Wall clock, milliseconds. */
export function rejectedAt(states: readonly PodState[]): number | undefined {
  return states.find(isRejected)?.seenMs;
}

/** From when the pod was first seen on its node to when it was seen to be rejected, milliseconds. Throws a RangeError when it was neither. */
export function timeToRejection(states: readonly PodState[]): number {
  const bound = states.find(({ node }) => node !== "")?.seenMs;
  const failed = rejectedAt(states);
  if (bound === undefined || failed === undefined) throw new RangeError("it was not rejected");
  return failed - bound;
}

/** Whether the pod is rejected, by the word that only rejections have. */
export function isRejected({ phase, annotations }: PodState): boolean {
  return phase === "Failed" && ANNOTATION in annotations;
}

/** Until when a pod is looked at, and what the machine made everybody wait till then. */
interface Watched {
  readonly nowMs: number;
  readonly starvation: Starvation;
}

/** What is wrong with a pod that had to be rejected, each a sentence; empty when it was, properly, and still is now. */
export function rejectionFaults(states: readonly PodState[], { nowMs, starvation }: Watched): readonly string[] {
  const begin = states.findIndex(isRejected);
  const first = states[begin];
  if (first === undefined) return [`it is ${states.at(-1)?.phase ?? "nowhere"}`];
  const after = states.slice(begin);
  return [
    ...(first.reason === REASON ? [] : [`its reason was ${first.reason || "missing"} at first`]),
    ...(first.message.startsWith(MESSAGE_PREFIX) ? [] : [`its message was "${first.message}"`]),
    ...states.slice(0, begin).flatMap(({ phase }) => (phase === "Pending" ? [] : [`it was ${phase} before`])),
    ...lossesIn(after, nowMs).flatMap(({ fromMs, tookMs, as }) =>
      tookMs > TAKEN_BACK_LIMIT_MS + starvation(fromMs, fromMs + tookMs)
        ? [`it was ${as} again for ${(tookMs / 1000).toFixed(1)} s`]
        : [],
    ),
    ...states.flatMap(({ restarts, isReady }) => (restarts > 0 || isReady ? ["a container of it ran"] : [])),
  ];
}

/** A pod's history in a line, for a person who looks for the cause of a fault: what it was, and when, from the first state on. */
export function historyOf(states: readonly PodState[]): string {
  const begin = states[0]?.seenMs ?? 0;
  return states
    .map(({ seenMs, phase, reason, node, annotations, isDeleting, isGone }) => {
      const marks = [reason, ANNOTATION in annotations && "marked", isDeleting && "deleting", isGone && "gone"];
      return [`+${((seenMs - begin) / 1000).toFixed(2)} s`, phase, node, ...marks.filter(Boolean)].join(" ");
    })
    .join("; ");
}

/** How often, and for how long, a rejection was taken back before the kubelet took it over, milliseconds. */
export function takenBackMs(states: readonly PodState[], nowMs: number): readonly number[] {
  const begin = states.findIndex(isRejected);
  return begin < 0 ? [] : lossesIn(states.slice(begin), nowMs).map(({ tookMs }) => tookMs);
}

interface Loss {
  /** What it was at first. */
  readonly as: string;
  readonly fromMs: number;
  readonly tookMs: number;
}

/** The times in which a pod that had been rejected was something else. */
function lossesIn(states: readonly PodState[], nowMs: number): readonly Loss[] {
  const losses: Loss[] = [];
  let lost: PodState | undefined;
  const end = (ms: number): void => {
    if (lost !== undefined) {
      const { phase, reason, seenMs } = lost;
      losses.push({ as: `${phase} ${reason}`.trim(), fromMs: seenMs, tookMs: ms - seenMs });
    }
    lost = undefined;
  };
  for (const state of states) {
    const isHeld = (state.phase === "Failed" && state.reason === REASON) || state.isGone;
    if (isHeld) end(state.seenMs);
    else lost ??= state;
  }
  end(nowMs);
  return losses;
}

/** What is wrong with a pod that nobody may touch, each a sentence. */
export function touchFaults(states: readonly PodState[]): readonly string[] {
  if (states.length === 0) return ["it is not known"];
  return states.flatMap(({ phase, annotations, isDeleting, isGone }) => [
    ...(phase === "Failed" ? ["it failed"] : []),
    ...(ANNOTATION in annotations ? ["it was marked"] : []),
    ...(isDeleting || isGone ? ["it was deleted"] : []),
  ]);
}
