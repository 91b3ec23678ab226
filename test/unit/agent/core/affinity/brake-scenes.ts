import {
  type BrakeDecision,
  type BrakeScene,
  type Brakes,
  brake,
  type NodeSurvey,
} from "../../../../../agent/core/affinity/brakes.ts";
import type { PodOwner } from "../../../../../agent/core/affinity/facts.ts";

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;

/** A node on which hardly anything is wrong. */
export const CALM: NodeSurvey = { pods: 30, wrong: 1, unseen: 0 };
export const CAREFUL = { rejectBarePods: false, rejectLastTries: false, deleteRejected: false } as const;

export function owner(uid: string, kind = "ReplicaSet"): PodOwner {
  return { apiVersion: "apps/v1", kind, name: `the-${uid}`, uid };
}

export function scene(nowMs: number, survey: NodeSurvey = CALM): BrakeScene {
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
  brakes: Brakes,
  tries: readonly Try[],
): { readonly brakes: Brakes; readonly decisions: readonly BrakeDecision[] } {
  let present = brakes;
  const decisions = tries.map(({ atMs, podUid, of = owner("rs") }) => {
    const result = brake(present, { podUid, owner: of, job: undefined }, scene(atMs));
    present = result.brakes;
    return result.decision;
  });
  return { brakes: present, decisions };
}

/** `go`, `refuse`, or until when it has to wait, in seconds. */
export function inShort(decision: BrakeDecision): string {
  return decision.kind === "wait" ? `${decision.brake} until ${decision.untilMs / SECOND} s` : decision.kind;
}
