import type { NodeMessage } from "../../common/storage/node-report.ts";

/**
 * True where the agent sent the message before this leader had answered it: a copy of it may have been under way for long. What an agent
 * sent to an earlier leader does not count.
 */
export function isOfOtherSession({ session }: NodeMessage, own: string): boolean {
  return session !== undefined && session !== own;
}
