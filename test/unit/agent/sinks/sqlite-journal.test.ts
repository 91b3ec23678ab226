import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { eventually, settle } from "../../../fakes/clock.ts";
import {
  anyNodeState,
  essence,
  knownMountedVolume,
  mountedVolumesOf,
  nodeState,
  unmountRecordOf,
} from "../../../fakes/node-states.ts";
import { JournalFolder } from "./journal-folder.ts";

const FULL = nodeState({
  mountedVolumes: mountedVolumesOf(
    knownMountedVolume(1),
    knownMountedVolume(2, { kind: "staging" }),
    knownMountedVolume(3, { pendingUnmount: SUSPENDED() }),
  ),
  unmountRecords: [unmountRecordOf(4), unmountRecordOf(5, 40)],
  clockSamples: [{ at: 20, ms: 1_789_000_000_000.25 }],
});

function SUSPENDED() {
  return { by: 21, podVersion: "7", isAnomaly: true };
}

describe("a journal in a directory", () => {
  it("is empty at first", async () => {
    await using folder = new JournalFolder();

    expect(await folder.journal().load()).toBeUndefined();
  });

  it("is new to the first agent of the machine only", async () => {
    await using folder = new JournalFolder();
    const [first, second] = [folder.journal(), folder.journal()];
    await first.load();
    await first.close?.();

    await second.load();

    expect([first.isNew?.(), second.isNew?.()]).toEqual([true, false]);
  });

  it("gives a later agent everything that the earlier one stored", async () => {
    await using folder = new JournalFolder();
    const first = folder.journal();
    await first.load();
    await first.store(FULL);
    await first.close?.();

    const found = await folder.journal().load();

    expect(found && essence(found)).toEqual(essence(FULL));
  });

  it("deletes what is gone", async () => {
    await using folder = new JournalFolder();
    const first = folder.journal();
    await first.load();
    await first.store(FULL);
    await first.store(nodeState({ unmountRecords: [unmountRecordOf(5, 40)] }));
    await first.close?.();

    const found = await folder.journal().load();

    expect(found).toMatchObject({ mountedVolumes: new Map(), unmountRecords: [{ by: 40 }] });
  });

  it("has the last scan of an agent that stopped cleanly, although that alone causes no write", async () => {
    await using folder = new JournalFolder();
    const first = folder.journal();
    await first.load();
    await first.store(FULL);
    const scan = { beganAt: 50, endedAt: 51 };
    await first.store({ ...FULL, scan });
    await first.close?.();

    expect((await folder.journal().load())?.scan).toEqual(scan);
  });

  it("returns, after any sequence of states, the last state that caused a write, whenever the agent is killed", async () => {
    const states = fc.array(anyNodeState, { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(states, async (sequence) => {
        await using folder = new JournalFolder();
        const journal = folder.journal();
        await journal.load();
        for (const [index, state] of sequence.entries()) {
          await journal.store(state);
          // What the kernel has of the files when the process is killed.
          using killed = new JournalFolder();
          cpSync(folder.path, killed.path, { recursive: true });
          const after = killed.journal();
          const found = await after.load();
          await after.close?.();

          const { scan: _, generation: __, ...expected } = Object(essence(state));
          expect(found && essence(found), `after ${index + 1}`).toMatchObject(expected);
          expect(found?.scan?.endedAt).toBeLessThanOrEqual(state.scan?.endedAt ?? 0);
        }
      }),
      { seed: 5541, numRuns: Number(process.env.MOORING_PROPERTY_RUNS ?? 10) },
    );
  });
});

describe("what a journal writes", () => {
  it.each([
    { name: "nothing for a scan that shows the same", change: { scan: { beganAt: 50, endedAt: 51 } }, writes: 0 },
    {
      name: "nothing when only the last seen times move",
      change: {
        mountedVolumes: mountedVolumesOf(
          ...[...FULL.mountedVolumes.values()].map((known) => ({ ...known, seenAt: 99 })),
        ),
      },
      writes: 0,
    },
    {
      name: "the last scan when a minute has passed",
      change: { scan: { beganAt: 60_020, endedAt: 60_021 } },
      writes: 1,
    },
    { name: "a gap", change: { agentGaps: [{ to: 11 }, { from: 12, to: 21 }] }, writes: 1 },
    { name: "an unmount record that is acknowledged", change: { unmountRecords: [] }, writes: 1 },
  ])("is $name", async ({ change, writes }) => {
    await using folder = new JournalFolder();
    const { journal, metrics } = folder.agent();
    await journal.load();
    await journal.store(FULL);

    await journal.store({ ...FULL, ...change });

    expect(await metrics.text()).toContain(`mooring_journal_writes_total{outcome="stored"} ${1 + writes}`);
  });

  it("is a few pages for one mounted volume among ten thousand", async () => {
    await using folder = new JournalFolder();
    const { journal, metrics } = folder.agent();
    const many = Array.from({ length: 10_000 }, (_, n) => knownMountedVolume(n));
    await journal.load();
    await journal.store(nodeState({ mountedVolumes: mountedVolumesOf(...many) }));
    const before = bytesIn(await metrics.text());

    await journal.store(nodeState({ mountedVolumes: mountedVolumesOf(...many, knownMountedVolume(10_000)) }));

    expect(bytesIn(await metrics.text()) - before).toBeLessThan(8 * 4_096);
  });
});

function bytesIn(text: string): number {
  return Number(/^mooring_journal_written_bytes_total (\d+)$/m.exec(text)?.[1]);
}

describe("two agents on one node", () => {
  it("share one journal: the second gets an error until the first has ended", async () => {
    await using folder = new JournalFolder();
    const [first, second] = [folder.journal(), folder.journal()];
    await first.load();
    await first.store(FULL);

    await expect(second.load()).rejects.toThrow("another agent holds it");
    await expect(second.store(FULL)).rejects.toThrow("another agent holds it");
    await first.close?.();
    await expect(second.load(), "it is not asked for all the time").rejects.toThrow("another agent holds it");
    await folder.clock.advance(5_000);

    const found = await second.load();
    expect(found && essence(found)).toEqual(essence(FULL));
  });
});

describe("a journal that cannot be used", () => {
  it.each<{ readonly name: string; readonly why: string; readonly arrange: (folder: JournalFolder) => void }>([
    {
      name: "because its directory is not there",
      why: "ENOENT",
      arrange: ({ path }) => rmSync(path, { recursive: true }),
    },
    { name: "because a folder is in its place", why: "cannot be opened", arrange: ({ file }) => mkdirSync(file) },
    {
      name: "because a newer agent wrote it",
      why: "a newer agent wrote it (format 2); it is left alone",
      arrange: ({ file }) =>
        inDatabase(file, "PRAGMA application_id = 0x4d4f4f52; PRAGMA user_version = 2; CREATE TABLE x (y)"),
    },
    {
      name: "because another program's database is in its place",
      why: "left alone",
      arrange: ({ file }) => inDatabase(file, "PRAGMA application_id = 7; CREATE TABLE x (y)"),
    },
    {
      name: "because another program's tables are in its place",
      why: "left alone",
      arrange: ({ file }) => inDatabase(file, "CREATE TABLE x (y)"),
    },
  ])("fails $name, and leaves the files as they are", async ({ why, arrange }) => {
    await using folder = new JournalFolder();
    arrange(folder);
    const before = contentOf(folder.file);
    const { journal, metrics } = folder.agent();

    await expect(journal.load()).rejects.toMatchObject({
      code: "journal-unusable",
      message: expect.stringContaining(why),
    });
    await expect(journal.store(FULL)).rejects.toMatchObject({ code: "journal-unusable" });

    expect(contentOf(folder.file)).toEqual(before);
    expect(await metrics.text()).toContain("mooring_journal_usable 0");
  });

  it.each([
    {
      name: "its file was removed",
      arrange: ({ path, file }: JournalFolder) => {
        rmSync(file);
        mkdirSync(path, { recursive: true });
      },
    },
    {
      name: "its directory was removed and made again",
      arrange: ({ path }: JournalFolder) => {
        rmSync(path, { recursive: true });
        mkdirSync(path);
      },
    },
  ])("is created anew when $name", async ({ arrange }) => {
    await using folder = new JournalFolder();
    const first = folder.journal();
    await first.load();
    await first.store(FULL);
    arrange(folder);

    await expect(first.store(nodeState())).rejects.toThrow("removed or replaced");
    await folder.clock.advance(5_000);
    expect(await first.load()).toBeUndefined();
    await first.store(FULL);
    await first.close?.();

    const found = await folder.journal().load();
    expect(found && essence(found)).toEqual(essence(FULL));
  });

  it("belongs to another agent when its file was replaced: that content stays", async () => {
    await using folder = new JournalFolder();
    const [first, second] = [folder.journal(), folder.journal()];
    await first.load();
    await first.store(nodeState());
    for (const name of readdirSync(folder.path)) rmSync(`${folder.path}/${name}`);
    await second.load();
    await second.store(FULL);

    await expect(first.store(nodeState({ mountedVolumes: mountedVolumesOf(knownMountedVolume(1)) }))).rejects.toThrow(
      "removed or replaced",
    );
    await first.close?.();
    await second.store({ ...FULL, unmountRecords: [] });
    using killed = new JournalFolder();
    cpSync(folder.path, killed.path, { recursive: true });

    const after = killed.journal();
    expect(await after.load()).toMatchObject({ unmountRecords: [], mountedVolumes: { size: 3 } });
    await after.close?.();
  });

  it.each([
    { name: "is no database", damage: () => Buffer.from("something else".repeat(1_000)), why: "not a database" },
    { name: "lacks a page", damage: (bytes: Buffer) => bytes.subarray(0, 4_096), why: "" },
  ])("is set aside when its file $name, and created anew", async ({ damage, why }) => {
    await using folder = new JournalFolder();
    const first = folder.journal();
    await first.load();
    await first.store(FULL);
    await first.close?.();
    writeFileSync(folder.file, damage(readFileSync(folder.file)));

    const second = folder.journal();

    expect(await second.load()).toBeUndefined();
    await second.store(FULL);
    expect(folder.logger.lines).toMatchObject([
      {
        level: "warn",
        message: "journal cannot be believed, set aside",
        fields: { why: expect.stringContaining(why) },
      },
    ]);
    expect(existsSync(`${folder.file}.damaged-1`)).toBe(true);
  });

  it("is set aside when it is of another node, as in a copied machine", async () => {
    await using folder = new JournalFolder();
    const first = folder.journal("node-2");
    await first.load();
    await first.store(FULL);
    await first.close?.();

    expect(await folder.journal("node-1").load()).toBeUndefined();
    expect(folder.logger.lines).toMatchObject([{ fields: { why: "it is the journal of node node-2" } }]);
  });

  it("keeps at most three damaged files", async () => {
    await using folder = new JournalFolder();
    for (let times = 0; times < 5; times += 1) {
      writeFileSync(folder.file, `damage ${times}`.repeat(1_000));
      const journal = folder.journal();
      await journal.load();
      await journal.close?.();
    }

    expect(readdirSync(folder.path).filter((name) => name.includes("damaged"))).toHaveLength(3);
  });
});

describe("a disk that is slow or fails", () => {
  /** A disk that confirms a write when the test says so, or how it fails. */
  function createSlowDisk() {
    let settle: { readonly confirm: () => void; readonly fail: (error: Error) => void } | undefined;
    return {
      bringToDisk: () =>
        new Promise<void>((resolve, reject) => {
          settle = { confirm: resolve, fail: reject };
        }),
      confirm: () => settle?.confirm(),
      fail: (error: Error) => settle?.fail(error),
      isWaiting: () => settle !== undefined,
    };
  }

  it("is waited for: a write that it has not confirmed is not stored", async () => {
    await using folder = new JournalFolder();
    const disk = createSlowDisk();
    const { journal } = folder.agent("node-1", disk.bringToDisk);
    await journal.load();
    let isStored = false;

    const storing = journal.store(FULL).then(() => {
      isStored = true;
    });
    await eventually(disk.isWaiting);
    await settle();
    expect(isStored).toBe(false);
    disk.confirm();

    await storing;
  });

  it("is given up after five seconds, and used again once it has answered", async () => {
    await using folder = new JournalFolder();
    const disk = createSlowDisk();
    const { journal, metrics } = folder.agent("node-1", disk.bringToDisk);
    await journal.load();
    const storing = journal.store(FULL).catch((error: unknown) => error);
    await eventually(disk.isWaiting);

    await folder.clock.advance(5_000);
    expect(await storing).toMatchObject({ message: "the disk has not confirmed a write for 5 s" });
    await folder.clock.advance(60_000);
    await expect(journal.load()).rejects.toThrow("has not confirmed a write");
    expect(await metrics.text()).toContain("mooring_journal_usable 0");
    disk.confirm();
    await settle();

    const found = await journal.load();
    expect(found && essence(found)).toEqual(essence(FULL));
    expect(await metrics.text()).toContain("mooring_journal_usable 1");
  });

  it("reports its error", async () => {
    await using folder = new JournalFolder();
    const disk = createSlowDisk();
    const { journal, metrics } = folder.agent("node-1", disk.bringToDisk);
    await journal.load();
    const storing = journal.store(FULL).catch((error: unknown) => error);
    await eventually(disk.isWaiting);

    disk.fail(Object.assign(new Error("EIO: i/o error, fdatasync"), { code: "EIO", syscall: "fdatasync" }));

    expect(await storing).toMatchObject({ code: "journal-unusable", message: "EIO: i/o error, fdatasync" });
    expect(await metrics.text()).toContain('mooring_journal_writes_total{outcome="failed"} 1');
  });

  it("is waited for by the very first write: it makes the machine known", async () => {
    await using folder = new JournalFolder();
    const disk = createSlowDisk();
    const { journal } = folder.agent("node-1", disk.bringToDisk);
    await journal.load();

    const storing = journal.store(nodeState({}));
    await eventually(disk.isWaiting);

    disk.confirm();
    await expect(storing).resolves.toBeUndefined();
  });

  it("is not waited for where a power failure loses nothing", async () => {
    await using folder = new JournalFolder();
    const first = folder.journal();
    await first.load();
    await first.store(nodeState({}));
    await first.close?.();
    const disk = createSlowDisk();
    const { journal } = folder.agent("node-1", disk.bringToDisk);
    await journal.load();

    await journal.store(nodeState({ agentGaps: [{ to: 11 }] }));

    expect(disk.isWaiting()).toBe(false);
  });
});

function inDatabase(file: string, statements: string): void {
  const db = new DatabaseSync(file);
  db.exec(statements);
  db.close();
}

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file).toString("hex");
  } catch {
    return undefined;
  }
}
