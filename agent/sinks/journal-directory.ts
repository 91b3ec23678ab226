import { chmodSync, chownSync, lstatSync } from "node:fs";
import { MooringError, messageOf } from "../../common/runtime/errors.ts";

/** Nobody: what an agent runs as. */
export const AGENT_USER = 65_534;

/**
 * Makes a directory the agent's own, for nobody else to look into. The kubelet makes it as root's; the init container that does this is
 * root with CHOWN and no other capability, so that only an owner may change the mode. Throws `MooringError` "journal-unusable".
 */
export function prepareJournalDirectory(directory: string, user = AGENT_USER): void {
  try {
    const before = lstatSync(directory);
    if (!before.isDirectory()) throw new Error("it is no directory");
    const { uid, gid } = before;
    if (uid === user && gid === user) return;
    const self = process.getuid?.() ?? 0;
    if (uid !== self) chownSync(directory, self, gid);
    chmodSync(directory, 0o700);
    chownSync(directory, user, user);
  } catch (cause) {
    throw new MooringError("journal-unusable", `the directory ${directory} cannot be prepared: ${messageOf(cause)}`, {
      cause,
    });
  }
}
