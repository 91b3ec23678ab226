import { existsSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";

/** Prefixes of the files that an agent creates in its directory: the journal, its log, and damaged journals that it set aside. */
const JOURNAL_FILES = "journal.sqlite";

/** Removes an agent's files from its directory, and leaves other files. Returns the names of those. */
export function removeJournal(directory: string): readonly string[] {
  for (const name of readdirSync(directory)) {
    if (name.startsWith(JOURNAL_FILES)) rmSync(join(directory, name), { force: true });
  }
  return readdirSync(directory);
}

/** Removes the directory itself, by its parent. Throws where it contains other files; a missing directory is no error. */
export function removeJournalDirectory(directory: string): void {
  if (existsSync(directory)) rmdirSync(directory);
}
