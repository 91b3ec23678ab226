import { type NodeReport, REPORT_VERSION } from "../../common/storage/node-report.ts";
import type { NodeState } from "./observe.ts";

/** Who reports: the node, the agent's pod, and this run of it. */
export interface ReporterIdentity {
  readonly node: string;
  readonly podUid: string;
  readonly instance: string;
  /** Bound of the boot clock's drift. */
  readonly driftPpm: number;
}

/** The report of a state, or nothing as long as no complete read stands behind it: a blind agent has nothing to say. */
export function reportOf(identity: ReporterIdentity, state: NodeState, sentAt: number): NodeReport | undefined {
  const { read, observedSince, podsResourceVersion } = state;
  if (read === undefined || observedSince === undefined) return undefined;
  return {
    version: REPORT_VERSION,
    ...identity,
    bootId: state.bootId,
    generation: state.generation,
    sentAt,
    read,
    observedSince,
    ...(podsResourceVersion === undefined ? {} : { podsResourceVersion }),
    holds: [...state.holds.values()].map(({ hold: { kind, volume, podUid }, pod, since }) => ({
      kind,
      volume,
      ...(podUid === undefined ? {} : { podUid }),
      ...(pod === undefined ? {} : { pod }),
      since,
    })),
    releases: [...state.releases],
  };
}
