import { isReport, type NodeMessage, type ReportAnswer } from "../../common/storage/node-report.ts";

/** What the aggregator's answers have said about this agent's reports. */
export interface Exchange {
  /** The generation that the aggregator has: heartbeats suffice while it is the present one. */
  readonly acceptedGeneration: number | undefined;
  /** The leader session in the last answer; empty before the first. */
  readonly session: string;
  /** The session of the last answer that did not ask for the whole state. */
  readonly syncedSession: string;
}

export const NO_EXCHANGE: Exchange = { acceptedGeneration: undefined, session: "", syncedSession: "" };

/**
 * The exchange after an answer, and whether the agent sends its whole state at once: it does after a heartbeat, and after the first
 * message of a session. No other message leads to that, so that a confused aggregator cannot cause a loop without a pause.
 */
export function afterAnswer(
  { session: known, syncedSession }: Exchange,
  { whole, session = known }: ReportAnswer,
  sent: NodeMessage,
): Exchange & { readonly isWholeDue: boolean } {
  if (whole !== true)
    return { acceptedGeneration: sent.generation, session, syncedSession: session, isWholeDue: false };
  const isFirst = session !== sent.session && sent.session === syncedSession;
  return { acceptedGeneration: undefined, session, syncedSession, isWholeDue: !isReport(sent) || isFirst };
}
