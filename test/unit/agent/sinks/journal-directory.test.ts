import { chmodSync, chownSync, linkSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { prepareJournalDirectory } from "../../../../agent/sinks/journal-directory.ts";
import { JournalFolder } from "./journal-folder.ts";

/** A test that is not root can be given nothing but what it has. */
const SELF = process.getuid?.() ?? 0;
const OTHER = SELF === 0 ? 60_871 : SELF;
const EARLIER = SELF === 0 ? 65_534 : SELF;
const GROUP = SELF === 0 ? OTHER : (process.getgid?.() ?? 0);

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

  it("gives the files of an earlier agent, which had another user, with the directory", () => {
    using folder = new JournalFolder();
    const file = join(folder.path, "journal.sqlite");
    writeFileSync(file, "", { mode: 0o600 });
    if (EARLIER !== SELF) chownSync(file, EARLIER, EARLIER);
    if (EARLIER !== SELF) chownSync(folder.path, EARLIER, EARLIER);

    prepareJournalDirectory(folder.path, OTHER);

    expect([statSync(folder.path).uid, statSync(file).uid, statSync(file).gid]).toEqual([OTHER, OTHER, GROUP]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it("follows no link and takes no file that has a name elsewhere", () => {
    using folder = new JournalFolder();
    using elsewhere = new JournalFolder();
    const file = join(elsewhere.path, "file");
    writeFileSync(file, "");
    symlinkSync(file, join(folder.path, "journal.sqlite"));
    linkSync(file, join(folder.path, "journal.sqlite-wal"));

    prepareJournalDirectory(folder.path, OTHER);

    expect(statSync(file).uid).toBe(SELF);
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
