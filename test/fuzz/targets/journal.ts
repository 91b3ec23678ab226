import { hash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { NodeState } from "../../../agent/core/node-state.ts";
import { reportOf } from "../../../agent/core/report.ts";
import { interpretStored } from "../../../agent/core/restore.ts";
import { DamagedFile, headRow, type Row, RowDigest, stateIn } from "../../../agent/sinks/journal-rows.ts";
import { createSqliteJournal, JOURNAL_FILE } from "../../../agent/sinks/sqlite-journal.ts";
import { MooringError } from "../../../common/runtime/errors.ts";
import { createMetrics } from "../../../common/runtime/metrics.ts";
import { decodeNodeMessage } from "../../../common/storage/node-report.ts";
import { createFakeClock } from "../../fakes/clock.ts";
import { createFakeLogger } from "../../fakes/logger.ts";
import { knownMountedVolume, mountedVolumesOf, nodeState, unmountRecordOf } from "../../fakes/node-states.ts";
import { type FuzzTarget, inputOf, promise, utf8Of } from "../target.ts";

const SUSPENDED = { by: 21, podVersion: "7", isAnomaly: true };
const FULL = nodeState({
  mountedVolumes: mountedVolumesOf(
    knownMountedVolume(1),
    knownMountedVolume(2, { kind: "staging" }),
    knownMountedVolume(3, { pendingUnmount: SUSPENDED }),
  ),
  unmountRecords: [unmountRecordOf(4), unmountRecordOf(5, 40)],
  clockSamples: [{ at: 20, ms: 1_789_000_000_000.25 }],
});

const noPause = (): undefined => undefined;

/** Whatever a journal contains, the aggregator understands what the agent reports from it. */
function takeState(stored: NodeState): void {
  const now = { bootId: "boot-1", clock: "monotonic-raw", nowMs: 100 };
  for (const place of [now, { ...now, bootId: "boot-2" }, { ...now, clock: "other" }, { ...now, nowMs: 5 }]) {
    const { past } = interpretStored(stored, place);
    const scan = { beganAt: place.nowMs, endedAt: place.nowMs };
    const seen: NodeState = { ...past, scan, coverage: "unbroken", agentGaps: [{ to: place.nowMs }], clockSamples: [] };
    const report = reportOf(
      { node: "n1", podUid: "agent-1", instance: "run-2", driftPpm: 200, session: "" },
      seen,
      place.nowMs,
    );
    const decoded = decodeNodeMessage(JSON.parse(JSON.stringify(report)));
    promise(decoded.ok, `the journalled state can be reported: ${decoded.ok ? "" : decoded.problems.join("; ")}`);
  }
}

function rowLine({ kind, key, body }: Row): string {
  return `${kind}\t${key}\t${body}`;
}

const ROWS: readonly Row[] = [
  { kind: "head", key: "", body: headRow("node-1", FULL, "").body.slice(65) },
  ...[...FULL.mountedVolumes].map(([key, { mountedVolume, ...known }]) => {
    return { kind: "mounted-volume", key, body: JSON.stringify({ ...mountedVolume, ...known }) } as const;
  }),
  ...FULL.unmountRecords.map((one) => ({ kind: "unmount-record", key: one.id, body: JSON.stringify(one) }) as const),
];

/** The rows of a journal, one line each. The digests are corrected: otherwise they would hide the code behind them. */
export const journalRows: FuzzTarget = {
  name: "journal-rows",
  about: "the rows of a journal, from anyone who may write into its directory",
  seeds: [inputOf(ROWS.map(rowLine).join("\n"))],
  words: [
    "head",
    "mounted-volume",
    "unmount-record",
    "pendingUnmount",
    "leakedSince",
    "agentGaps",
    "clockSamples",
    "generation",
    "mountPoint",
    "\t",
  ],
  take: async (input) => {
    const rows = utf8Of(input).split("\n").map(rowIn);
    const digest = new RowDigest();
    for (const row of rows) if (row.kind !== "head") digest.put(row);
    try {
      const found = await stateIn(
        rows.map((row) => withSums(row, digest.text)),
        { digest: digest.text, pause: noPause },
      );
      if (found !== undefined) takeState(found.state);
    } catch (error) {
      if (!(error instanceof DamagedFile)) throw error;
    }
  },
};

function rowIn(line: string): Row {
  const [kind = "", key = "", ...body] = line.split("\t");
  return { kind: kind === "mounted-volume" || kind === "unmount-record" ? kind : "head", key, body: body.join("\t") };
}

function withSums(row: Row, digest: string): Row {
  if (row.kind !== "head") return row;
  const text = row.body.replace(/"digest":"[^"]*"/, `"digest":"${digest}"`);
  const { body } = headRow("", FULL, "");
  // The digest of another text, or of this one: the journal accepts both.
  return { ...row, body: text.includes(digest) ? sumOf(text) : body };
}

function sumOf(text: string): string {
  // `headRow` digests its own text: this digest is its own.
  return `${hash("sha256", text)} ${text}`;
}

/** In memory where possible: a disk would take most of the time. */
const BASE = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(BASE, "mooring-fuzz-"));
  return work(folder).finally(() => rmSync(folder, { recursive: true, force: true }));
}

function journalIn(folder: string) {
  const parts = { clock: createFakeClock(), logger: createFakeLogger(), metrics: createMetrics() };
  return createSqliteJournal({ ...parts, bringToDisk: async () => {} }, { directory: folder, node: "node-1" });
}

/** The files of a journal after a kill of its agent, and after a clean stop: 12 kB each. */
const FILES = await inFolder(async (folder) => {
  const journal = journalIn(folder);
  await journal.load();
  await journal.store(FULL);
  const [file, log] = ["", "-wal"].map((suffix) => readFileSync(join(folder, `${JOURNAL_FILE}${suffix}`), "latin1"));
  await journal.close?.();
  return { file: file ?? "", log: log ?? "", closed: readFileSync(join(folder, JOURNAL_FILE), "latin1") };
});

/** Whatever the files contain: the agent loads, sets aside or gives up the journal, and can report its content. */
function takeFiles(file: string, log: string | undefined): Promise<void> {
  return inFolder(async (folder) => {
    writeFileSync(join(folder, JOURNAL_FILE), file, "latin1");
    if (log !== undefined) writeFileSync(join(folder, `${JOURNAL_FILE}-wal`), log, "latin1");
    const journal = journalIn(folder);
    try {
      const state = await journal.load();
      if (state !== undefined) takeState(state);
      await journal.store(FULL);
    } catch (error) {
      if (!(error instanceof MooringError && error.code === "journal-unusable")) throw error;
    } finally {
      await journal.close?.();
    }
  });
}

/** The file of a journal, page by page. */
export const journalFile: FuzzTarget = {
  name: "journal-file",
  about: "the database file of a journal, after a broken disk or from anyone who may write into its directory",
  seeds: [FILES.closed, FILES.closed.slice(0, 4096), ""],
  words: [
    ...["SQLite format 3\0", "MOOR", "CREATE TABLE row", "CREATE VIEW row AS", "CREATE TRIGGER", "STRICT", "head"],
    "\0\0\0\u0001",
  ],
  take: (input) => takeFiles(input, undefined),
};

/** The write-ahead log of a killed agent, beside a valid file. */
export const journalLog: FuzzTarget = {
  name: "journal-log",
  about: "the write-ahead log of a journal, after a loss of power or from anyone who may write into its directory",
  seeds: [FILES.log, FILES.log.slice(0, 32), ""],
  words: ["\u0037\u007f\u0006\u0082", "\u0037\u007f\u0006\u0083", "\0\0\0\u0001", "\0\0\0\0"],
  take: (input) => takeFiles(FILES.file, input),
};
