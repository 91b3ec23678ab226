import { chmodSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { prepareJournalDirectory } from "../../../../agent/sinks/journal-directory.ts";
import { JournalFolder } from "./journal-folder.ts";

/** A test that is not root can be given nothing but what it has. */
const SELF = process.getuid?.() ?? 0;
const OTHER = SELF === 0 ? 65_534 : SELF;

describe("prepareJournalDirectory", () => {
  it("gives the directory to the agent's user, for nobody else to look into", () => {
    using folder = new JournalFolder();
    const directory = join(folder.path, "mooring");
    mkdirSync(directory, { mode: 0o755 });

    prepareJournalDirectory(directory, OTHER);

    const { uid, mode } = statSync(directory);
    expect(uid).toBe(OTHER);
    if (OTHER !== SELF) expect(mode & 0o777).toBe(0o700);
  });

  it("leaves one alone that is the agent's already: root with CHOWN alone could not change its mode", () => {
    using folder = new JournalFolder();
    prepareJournalDirectory(folder.path, OTHER);
    chmodSync(folder.path, 0o750);

    prepareJournalDirectory(folder.path, OTHER);

    expect(statSync(folder.path).mode & 0o777).toBe(0o750);
  });

  it.each([
    { name: "is not there", make: () => {}, why: "ENOENT" },
    { name: "is a file", make: (path: string) => writeFileSync(path, ""), why: "it is no directory" },
  ])("says so when the directory $name", ({ make, why }) => {
    using folder = new JournalFolder();
    const directory = join(folder.path, "mooring");
    make(directory);

    expect(() => prepareJournalDirectory(directory, OTHER)).toThrow(why);
  });
});
