import type { PodOwner } from "../../../../../agent/core/affinity/facts.ts";
import {
  checkLimits,
  type LimitDecision,
  type LimitScene,
  type Limits,
  type NodeSurvey,
} from "../../../../../agent/core/affinity/limits.ts";

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;

/** A node on which hardly anything is wrong. */
export const CALM: NodeSurvey = { pods: 30, wrong: 1, unseen: 0 };
export const CAREFUL = { rejectBarePods: false, rejectLastTries: false, deleteRejected: false } as const;

export function owner(uid: string, kind = "ReplicaSet"): PodOwner {
  return { apiVersion: "apps/v1", kind, name: `the-${uid}`, uid };
}

export function scene(nowMs: number, survey: NodeSurvey = CALM): LimitScene {
  return { nowMs, survey, settings: CAREFUL };
}

/** One try to reject a pod. */
export interface Try {
  readonly atMs: number;
  readonly podUid: string;
  readonly of?: PodOwner;
}

/** What came of tries, one after the other. */
export function play(
  limits: Limits,
  tries: readonly Try[],
): { readonly limits: Limits; readonly decisions: readonly LimitDecision[] } {
  let present = limits;
  const decisions = tries.map(({ atMs, podUid, of = owner("rs") }) => {
    const result = checkLimits(present, { podUid, owner: of, job: undefined }, scene(atMs));
    present = result.limits;
    return result.decision;
  });
  return { limits: present, decisions };
}

/** `go`, `refuse`, or until when it has to wait, in seconds. */
export function inShort(decision: LimitDecision): string {
  return decision.kind === "wait" ? `${decision.limit} until ${decision.untilMs / SECOND} s` : decision.kind;
}
