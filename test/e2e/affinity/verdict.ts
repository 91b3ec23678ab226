import type { PodState } from "./pod-log.ts";

/** What a rejected pod's status says, as the kubelet would say it (KEP-5381). */
export const REASON = "VolumeNodeAffinity";
export const MESSAGE_PREFIX = "Pod was rejected: ";
/** Tells a pod that Mooring rejected. */
export const ANNOTATION = "mooring.dev/rejected";

/** The kubelet takes the reason away for a moment when it adopts the phase; longer than that is a loss. Milliseconds. */
const MISSING_LIMIT_MS = 2_000;

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

/** What is wrong with a pod that had to be rejected, each a sentence; empty when it was, properly, and still is at `nowMs`. */
export function rejectionFaults(states: readonly PodState[], nowMs: number): readonly string[] {
  const begin = states.findIndex(isRejected);
  const first = states[begin];
  if (first === undefined) return [`it is ${states.at(-1)?.phase ?? "nowhere"}`];
  const after = states.slice(begin);
  return [
    ...(first.reason === REASON ? [] : [`its reason was ${first.reason || "missing"} at first`]),
    ...(first.message.startsWith(MESSAGE_PREFIX) ? [] : [`its message was "${first.message}"`]),
    ...states.slice(0, begin).flatMap(({ phase }) => (phase === "Pending" ? [] : [`it was ${phase} before`])),
    ...after.flatMap(({ phase }) => (phase === "Failed" ? [] : [`it was ${phase} again`])),
    ...after.flatMap((state, index) => lossOf(state, after[index + 1]?.seenMs ?? nowMs)),
    ...states.flatMap(({ restarts, isReady }) => (restarts > 0 || isReady ? ["a container of it ran"] : [])),
  ];
}

function lossOf({ seenMs, reason, isGone }: PodState, untilMs: number): readonly string[] {
  const isLost = !isGone && reason !== REASON && untilMs - seenMs > MISSING_LIMIT_MS;
  return isLost ? [`its reason was "${reason}" for ${((untilMs - seenMs) / 1000).toFixed(1)} s`] : [];
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
