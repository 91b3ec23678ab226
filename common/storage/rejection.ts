import * as v from "valibot";
import { parseTimestamp } from "./timestamp.ts";

/**
 * What tells a pod that an agent rejected for its volume's node affinity, to whoever meets it later: the next run of the agent, which must
 * not forget what it did, and the aggregator, which counts over all nodes.
 */

/** What a rejected pod's status has as its reason: the kubelet's own word for this case (KEP-5381, k/k pull request 140521). */
export const REJECTION_REASON = "VolumeNodeAffinity";

/** Holds a JSON object with `at` (RFC 3339) and `level`, beside what people want to know; written in one patch with the status. */
export const REJECTED_ANNOTATION = "mooring.dev/rejected";

/** The parts of a pod that say whether it was rejected. */
export interface RejectablePod {
  readonly phase: string;
  readonly reason?: string | undefined;
  readonly annotations: Readonly<Record<string, string | undefined>> | null | undefined;
}

/** That a pod was rejected. */
export interface RejectionMark {
  /** By the API server's clock as the agent knew it, milliseconds since the epoch; undefined where it does not say. */
  readonly atMs: number | undefined;
  /** How far the back-off of the pod's owner had come with it; 0 where it does not say. */
  readonly level: number;
}

const MOST_LEVELS = 100;

const mark = v.object({
  at: v.fallback(v.optional(v.string()), undefined),
  level: v.fallback(v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(0), v.maxValue(MOST_LEVELS)), 0), 0),
});

/**
 * Undefined for a pod that no agent rejected. Phase and reason count as well as the annotation: an annotation can be put there by
 * whoever makes pods, a status by nobody but the node's agents. What the annotation does not say properly is left open.
 */
export function rejectionMark({ phase, reason, annotations }: RejectablePod): RejectionMark | undefined {
  const text = annotations?.[REJECTED_ANNOTATION];
  if (phase !== "Failed" || reason !== REJECTION_REASON || text === undefined) return undefined;
  const result = v.safeParse(mark, parseJson(text));
  if (!result.success) return { atMs: undefined, level: 0 };
  const { at, level } = result.output;
  return { atMs: parseTimestamp(at), level };
}

/** Longer than any that an agent writes: reasons for people stand there, too. Characters. */
const LONGEST = 65_536;

function parseJson(text: string): unknown {
  if (text.length > LONGEST) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
