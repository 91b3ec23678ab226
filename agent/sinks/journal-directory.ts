import { chmodSync, chownSync, lchownSync, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { MooringError, messageOf } from "../../common/runtime/errors.ts";

/**
 * What an agent runs as, user and group. A process can look into others of its own user, so the number is in a range that distributions,
 * systemd and container runtimes give to nobody (60706 to 61183).
 */
export const AGENT_USER = 60_871;

/**
 * Makes a directory and the files in it the agent's own, for nobody else to look into. The kubelet makes it as root's, and an earlier Mooring
 * gave it to another user. The init container that does this is root with CHOWN and no other capability, so that only an owner may list
 * it or change its mode. The directory is given last: until then the next try does it all again. Throws `MooringError` "journal-unusable".
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
    for (const name of readdirSync(directory)) giveFile(join(directory, name), user);
    chownSync(directory, user, user);
  } catch (cause) {
    throw new MooringError("journal-unusable", `the directory ${directory} cannot be prepared: ${messageOf(cause)}`, {
      cause,
    });
  }
}

/** Not one that has another name elsewhere: that may be somebody else's. */
function giveFile(path: string, user: number): void {
  const stat = lstatSync(path);
  if (stat.isFile() && stat.nlink === 1) lchownSync(path, user, user);
}
