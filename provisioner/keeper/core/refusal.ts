import type { KeeperRefusal, RefusalCode } from "../../protocol.ts";

const LONGEST_MESSAGE = 1_024;

/** Why the keeper did not carry out a request. */
export function refuse(code: RefusalCode, message: string): KeeperRefusal {
  return { ok: false, code, message: message.slice(0, LONGEST_MESSAGE) };
}
