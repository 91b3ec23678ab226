import { existsSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";

/** How the files begin that an agent makes in its directory: the journal, its log, and damaged ones that it set aside. */
const JOURNAL_FILES = "journal.sqlite";

/** Removes an agent's files from its directory; what somebody else put there stays. Answers the names of what stays. */
export function removeJournal(directory: string): readonly string[] {
  for (const name of readdirSync(directory)) {
    if (name.startsWith(JOURNAL_FILES)) rmSync(join(directory, name), { force: true });
  }
  return readdirSync(directory);
}

/** Removes the directory itself, by its parent. Throws where somebody else's files are in it; none there is fine. */
export function removeJournalDirectory(directory: string): void {
  if (existsSync(directory)) rmdirSync(directory);
}
