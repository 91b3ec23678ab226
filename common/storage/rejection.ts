import * as v from "valibot";
import { parseTimestamp } from "./timestamp.ts";

/**
 * Marks a pod that an agent rejected for its volume's node affinity, for the agent's next run, which must not forget the rejection, and
 * for the aggregator, which counts over all nodes.
 */

/** The reason in a rejected pod's status: the kubelet's own for this case (KEP-5381, k/k pull request 140521). */
export const REJECTION_REASON = "VolumeNodeAffinity";

/** Contains a JSON object with `at` (RFC 3339) and `level`, beside facts for people; written in one patch with the status. */
export const REJECTED_ANNOTATION = "mooring.dev/rejected";

/** The parts of a pod that show whether it was rejected. */
export interface RejectablePod {
  readonly phase: string;
  readonly reason?: string | undefined;
  readonly annotations: Readonly<Record<string, string | undefined>> | null | undefined;
}

/** A pod's rejection. */
export interface RejectionMark {
  /** By the API server's clock as the agent knew it, milliseconds since the epoch; undefined where it is missing. */
  readonly atMs: number | undefined;
  /** The back-off level of the pod's owner at that time; 0 where it is missing. */
  readonly level: number;
}

const MOST_LEVELS = 100;

const mark = v.object({
  at: v.fallback(v.optional(v.string()), undefined),
  level: v.fallback(v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(0), v.maxValue(MOST_LEVELS)), 0), 0),
});

/**
 * Undefined for a pod that no agent rejected. Phase and reason count as well as the annotation: a user who creates pods can set an
 * annotation, only the node's agents a status. Invalid parts of the annotation are left out.
 */
export function rejectionMark({ phase, reason, annotations }: RejectablePod): RejectionMark | undefined {
  const text = annotations?.[REJECTED_ANNOTATION];
  if (phase !== "Failed" || reason !== REJECTION_REASON || text === undefined) return undefined;
  const result = v.safeParse(mark, parseJson(text));
  if (!result.success) return { atMs: undefined, level: 0 };
  const { at, level } = result.output;
  return { atMs: parseTimestamp(at), level };
}

/** Longer than any that an agent writes, including its facts for people. Characters. */
const LONGEST = 65_536;

function parseJson(text: string): unknown {
  if (text.length > LONGEST) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
