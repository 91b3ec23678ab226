import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { JOURNAL_FILE } from "../../../../agent/sinks/sqlite-journal.ts";
import { removeJournal, removeJournalDirectory } from "../../../../cli/uninstall/journal-traces.ts";
import { scratchFolder } from "../../../rig/tests/unit/process/scratch.ts";

function directoryWith(...files: readonly string[]): string {
  const directory = join(scratchFolder(), "mooring");
  mkdirSync(directory);
  for (const file of files) writeFileSync(join(directory, file), "");
  return directory;
}

describe("removing a node's journal", () => {
  it("takes the journal, its log and damaged ones away, and then the directory", () => {
    const directory = directoryWith(
      JOURNAL_FILE,
      `${JOURNAL_FILE}-wal`,
      `${JOURNAL_FILE}-shm`,
      `${JOURNAL_FILE}.damaged-1`,
    );

    expect(removeJournal(directory)).toEqual([]);
    removeJournalDirectory(directory);

    expect(existsSync(directory)).toBe(false);
  });

  it("keeps and names foreign files, and keeps the directory with them", () => {
    const directory = directoryWith(JOURNAL_FILE, "notes.txt");

    expect(removeJournal(directory)).toEqual(["notes.txt"]);

    expect(() => removeJournalDirectory(directory)).toThrow("ENOTEMPTY");
    expect(existsSync(join(directory, "notes.txt"))).toBe(true);
  });

  it("may be done twice", () => {
    const directory = directoryWith();
    removeJournalDirectory(directory);

    expect(() => removeJournalDirectory(directory)).not.toThrow();
  });
});
