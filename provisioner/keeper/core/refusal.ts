import type { KeeperRefusal, RefusalCode } from "../../protocol.ts";

const LONGEST_MESSAGE = 1_024;

/** Why a request was not done. */
export function refuse(code: RefusalCode, message: string): KeeperRefusal {
  return { ok: false, code, message: message.slice(0, LONGEST_MESSAGE) };
}
