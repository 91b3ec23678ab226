import { accessSync, constants, statSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../common/runtime/clock.ts";
import { MooringError, messageOf } from "../../common/runtime/errors.ts";
import type { Logger } from "../../common/runtime/logger.ts";
import type { Counter, Metrics } from "../../common/runtime/metrics.ts";
import { createYield } from "../../common/runtime/yield.ts";
import { changesSince, type JournalChanges } from "../core/journal-changes.ts";
import type { NodeState } from "../core/node-state.ts";
import { setAside } from "./damaged-journal.ts";
import type { Journal } from "./journal.ts";
import { identityOf, JournalFile } from "./journal-file.ts";
import { DamagedFile, headRow, rowsOf, stateIn } from "./journal-rows.ts";

interface SqliteJournalParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Resolves when the disk has what was written to a file, and the folder that names it where one is given. */
  readonly bringToDisk?: (file: FileHandle, folder: string | undefined) => Promise<void>;
}

/** Where the journal is, and whose. */
interface SqliteJournalPlace {
  readonly directory: string;
  readonly node: string;
}

/** The file in the directory; SQLite adds `-wal`. */
export const JOURNAL_FILE = "journal.sqlite";

/** A journal that cannot be used is tried again after this time. Milliseconds. */
const RETRY_MS = 5_000;
/** A disk that takes longer to confirm a write counts as one that does not answer. Milliseconds. */
const SYNC_LIMIT_MS = 5_000;
/** The size at which the log of writes is moved into the file. */
const FOLD_BYTES = 1024 * 1024;

const NOTHING: JournalChanges = {
  ...{
    mountedVolumes: new Map(),
    unmountRecords: [],
    droppedMountedVolumes: [],
    droppedUnmountRecords: [],
    isLasting: false,
  },
};

/** A journal in a directory of the node. `load` opens it; only changes are written, and one process at a time has it. */
export function createSqliteJournal(parts: SqliteJournalParts, place: SqliteJournalPlace): Journal {
  const journal = new SqliteJournal(parts, place);
  return {
    place: place.directory,
    load: () => journal.load(),
    isNew: () => journal.isNew,
    store: (state) => journal.store(state),
    close: () => journal.close(),
  };
}

/** An open file, and what is known to be in it. */
interface Opened {
  readonly file: JournalFile;
  readonly identity: string;
  log: FileHandle | undefined;
  logBytes: number;
  stored: NodeState | undefined;
  latest: NodeState | undefined;
}

class SqliteJournal {
  readonly #parts: SqliteJournalParts;
  readonly #place: SqliteJournalPlace;
  readonly #path: string;
  readonly #writes: Counter<"outcome">;
  readonly #written: Counter<never>;
  isNew = false;
  #opened: Opened | undefined;
  #failure: { readonly error: MooringError; readonly at: number } | undefined;
  /** The disk has yet to confirm a write. */
  #isSyncing = false;

  constructor(parts: SqliteJournalParts, place: SqliteJournalPlace) {
    const { metrics } = parts;
    this.#parts = parts;
    this.#place = place;
    this.#path = join(place.directory, JOURNAL_FILE);
    this.#writes = metrics.counter({
      name: "mooring_journal_writes_total",
      help: "Writes to the journal by outcome.",
      labels: ["outcome"],
    });
    this.#written = metrics.counter({
      name: "mooring_journal_written_bytes_total",
      help: "Bytes written to the journal.",
    });
    metrics.gauge({ name: "mooring_journal_usable", help: "1 when the journal can be used, else 0." }, () =>
      this.#opened !== undefined && this.#failure === undefined ? 1 : 0,
    );
    metrics.gauge({ name: "mooring_journal_bytes", help: "Size of the journal." }, () =>
      this.#opened === undefined ? undefined : sizeOf(this.#path) + sizeOf(`${this.#path}-wal`),
    );
  }

  async load(): Promise<NodeState | undefined> {
    const { clock } = this.#parts;
    if (this.#isSyncing) throw notAnswering();
    if (this.#failure !== undefined && clock.monotonicMs() - this.#failure.at < RETRY_MS) throw this.#failure.error;
    return await this.#guard(async () => {
      this.#unmountRecord();
      const wasThere = identityOf(this.#path) !== undefined;
      const opened = await this.#openTwice();
      this.#opened = opened;
      this.#failure = undefined;
      this.isNew = !wasThere;
      return opened.stored;
    });
  }

  async store(state: NodeState): Promise<void> {
    const opened = this.#opened;
    if (opened === undefined || this.#failure !== undefined)
      throw this.#failure?.error ?? new MooringError("journal-unusable", "it has not been opened");
    opened.latest = state;
    const changes = changesSince(opened.stored, state);
    if (changes !== undefined) await this.#guard(() => this.#write(opened, state, changes));
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    const { latest, stored } = opened ?? {};
    if (opened !== undefined && latest !== undefined && latest !== stored && this.#failure === undefined) {
      const changes = changesSince(stored, latest) ?? NOTHING;
      // Nothing can be done about a failure any more.
      await this.#write(opened, latest, changes).catch(() => {});
    }
    this.#unmountRecord();
  }

  async #write(opened: Opened, state: NodeState, changes: JournalChanges): Promise<void> {
    if (identityOf(this.#path) !== opened.identity)
      throw new MooringError("journal-unusable", "its file was removed or replaced");
    const headOf = (digest: string) => headRow(this.#place.node, state, digest);
    await opened.file.write(rowsOf(changes), { headOf, pause: createYield(this.#parts.clock) });
    opened.stored = state;
    const before = opened.logBytes;
    opened.logBytes = sizeOf(`${this.#path}-wal`);
    this.#written.increment({}, Math.max(0, opened.logBytes - before));
    const isLong = opened.logBytes >= FOLD_BYTES;
    if (changes.isLasting || isLong) await this.#sync(opened);
    if (isLong) {
      opened.file.fold();
      opened.logBytes = 0;
    }
    this.#writes.increment({ outcome: "stored" });
  }

  /** Waits until the disk has what was written, while the event loop runs. */
  async #sync(opened: Opened): Promise<void> {
    const { clock, bringToDisk = syncToDisk } = this.#parts;
    const isFirst = opened.log === undefined;
    opened.log ??= await open(`${this.#path}-wal`, "r");
    const done = new AbortController();
    this.#isSyncing = true;
    const synced = bringToDisk(opened.log, isFirst ? this.#place.directory : undefined).finally(() => {
      this.#isSyncing = false;
      done.abort();
    });
    // After the limit the next try finds out.
    synced.catch(() => {});
    await clock.sleep(SYNC_LIMIT_MS, done.signal);
    if (this.#isSyncing) throw notAnswering();
    await synced;
  }

  /** Opens the file; a damaged one is set aside, once. */
  async #openTwice(): Promise<Opened> {
    const { logger } = this.#parts;
    // This is more specific than SQLite's error.
    accessSync(this.#place.directory, constants.W_OK | constants.X_OK);
    const before = identityOf(this.#path);
    try {
      return await this.#open(before);
    } catch (error) {
      if (!(error instanceof DamagedFile)) throw error;
      const aside = setAside(this.#path, before);
      logger.warn({ why: error.message, aside }, "journal cannot be believed, set aside");
      return await this.#open(undefined);
    }
  }

  async #open(before: string | undefined): Promise<Opened> {
    const file = await JournalFile.open(this.#path);
    try {
      const identity = identityOf(this.#path);
      if (identity === undefined || (before !== undefined && identity !== before))
        throw new MooringError("journal-unusable", "its file was replaced while it was opened");
      const pause = createYield(this.#parts.clock);
      const { rows, digest } = await file.read(pause);
      const found = await stateIn(rows, { digest, pause });
      if (found !== undefined && found.node !== this.#place.node)
        throw new DamagedFile(`it is the journal of node ${found.node}`);
      const stored = found?.state;
      return { file, identity, log: undefined, logBytes: sizeOf(`${this.#path}-wal`), stored, latest: undefined };
    } catch (error) {
      file.close();
      throw error;
    }
  }

  /** Any failure except a bug makes the journal unusable until it is loaded again. */
  async #guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      const error = asUnusable(cause);
      this.#writes.increment({ outcome: "failed" });
      this.#failure = { error, at: this.#parts.clock.monotonicMs() };
      // A disk that does not answer would hold up the event loop.
      if (!this.#isSyncing) this.#unmountRecord();
      throw error;
    }
  }

  #unmountRecord(): void {
    const opened = this.#opened;
    this.#opened = undefined;
    void opened?.log?.close().catch(() => {});
    opened?.file.close();
  }
}

async function syncToDisk(file: FileHandle, folder: string | undefined): Promise<void> {
  await file.datasync();
  if (folder === undefined) return;
  await using handle = await open(folder, "r");
  await handle.sync();
}

function asUnusable(error: unknown): MooringError {
  if (error instanceof MooringError) return error;
  const isKnown = error instanceof DamagedFile || (error instanceof Error && "syscall" in error);
  if (!isKnown) throw error;
  return new MooringError("journal-unusable", messageOf(error), { cause: error });
}

function notAnswering(): MooringError {
  return new MooringError("journal-unusable", `the disk has not confirmed a write for ${SYNC_LIMIT_MS / 1000} s`);
}

function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch {
    return 0;
  }
}
