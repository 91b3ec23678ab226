import type { NodeMessage } from "../../common/storage/node-report.ts";

/**
 * True where a message was sent before its sender was answered by this leader: a copy of it may have been on its way since long ago. What an
 * earlier leader stored goes only by what the node says now.
 */
export function isOfOtherSession({ session }: NodeMessage, own: string): boolean {
  return session !== undefined && session !== own;
}
