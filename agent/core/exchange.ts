import { isReport, type NodeMessage, type ReportAnswer } from "../../common/storage/node-report.ts";

/** What the aggregator's answers have said of this agent's reports. */
export interface Exchange {
  /** The generation that the aggregator has: heartbeats are enough as long as it is the present one. */
  readonly acceptedGeneration: number | undefined;
  /** The leader's session that the last answer named; empty before the first. */
  readonly session: string;
  /** That of the last answer that did not ask for the whole state. */
  readonly settledSession: string;
}

export const NO_EXCHANGE: Exchange = { acceptedGeneration: undefined, session: "", settledSession: "" };

/**
 * The exchange after an answer, and whether the whole state is to be sent at once: it is to a heartbeat, and to the first message of a
 * session. Nothing else is answered so: a confused aggregator must not make this a loop without a pause.
 */
export function afterAnswer(
  { session: known, settledSession }: Exchange,
  { whole, session = known }: ReportAnswer,
  sent: NodeMessage,
): Exchange & { readonly isWholeDue: boolean } {
  if (whole !== true)
    return { acceptedGeneration: sent.generation, session, settledSession: session, isWholeDue: false };
  const isFirst = session !== sent.session && sent.session === settledSession;
  return { acceptedGeneration: undefined, session, settledSession, isWholeDue: !isReport(sent) || isFirst };
}
