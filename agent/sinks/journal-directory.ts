import { chmodSync, chownSync, lchownSync, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { MooringError, messageOf } from "../../common/runtime/errors.ts";

/**
 * The agent's user and group ID. A process can read the environment and files of other processes of its user, so the ID is in a range
 * (60706 to 61183) that distributions, systemd and container runtimes do not assign.
 */
export const AGENT_USER = 60_871;

/**
 * Gives a directory and its files to the agent's user alone. The kubelet creates the directory as root's, and an earlier Mooring gave it
 * to another user. The init container that runs this is root with CHOWN and no other capability, so only an owner may list the directory
 * or change its mode. The directory is given last: until then the next try does everything again. Throws `MooringError` "journal-
 * unusable".
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

/** Leaves links alone, and files with a second name: that name may be in another directory. */
function giveFile(path: string, user: number): void {
  const stat = lstatSync(path);
  if (stat.isFile() && stat.nlink === 1) lchownSync(path, user, user);
}
