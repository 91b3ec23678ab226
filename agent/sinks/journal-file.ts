import { statSync } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { MooringError, messageOf } from "../../common/runtime/errors.ts";
import { DamagedFile, type Row, RowDigest, type RowStep } from "./journal-rows.ts";

/** "MOOR": the application ID of a Mooring journal. */
const APPLICATION_ID = 0x4d4f_4f52;
/** The version of the table and its content. */
const FORMAT = 1;
const PAGE_BYTES = 4_096;
/** 64 MiB: 10,000 unmount records and the mounted volumes of the busiest node take a quarter of it. */
const MAX_PAGES = 16_384;

/** Primary result codes (https://www.sqlite.org/rescode.html) that say nothing against the file itself. */
const CIRCUMSTANCES = new Map([
  [3, "access is denied"],
  [5, "another agent holds it"],
  [6, "another agent holds it"],
  [7, "out of memory"],
  [8, "it cannot be written"],
  [10, "the disk fails"],
  [13, "the disk, or the journal, is full"],
  [14, "it cannot be opened"],
]);

const SCHEMA = `
  CREATE TABLE row (kind TEXT NOT NULL, key TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (kind, key)) STRICT, WITHOUT ROWID;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${FORMAT};
`;

/** A promise to wait for when others have waited for long. */
export type Pause = () => Promise<void> | undefined;

interface WriteOptions {
  /** The head row, which contains the digest of all others. */
  readonly headOf: (digest: string) => Row;
  readonly pause: Pause;
}

/** An open journal file that this process alone may use. */
export class JournalFile {
  readonly path: string;
  readonly #db: DatabaseSync;
  readonly #put: StatementSync;
  readonly #drop: StatementSync;
  #digest = new RowDigest();

  private constructor(db: DatabaseSync, path: string) {
    this.path = path;
    this.#db = db;
    this.#put = db.prepare("INSERT OR REPLACE INTO row (kind, key, body) VALUES (?, ?, ?)");
    this.#drop = db.prepare("DELETE FROM row WHERE kind = ? AND key = ?");
  }

  /** Throws `DamagedFile`, or `MooringError` "journal-unusable". */
  static async open(path: string): Promise<JournalFile> {
    // Only an agent with a journal loads the database.
    const sqlite = await import("node:sqlite");
    return attempt(() => {
      const db = new sqlite.DatabaseSync(path, { timeout: 0 });
      try {
        prepare(db);
        return new JournalFile(db, path);
      } catch (error) {
        closeQuietly(db);
        throw error;
      }
    });
  }

  /** All rows, and the digest of those that it speaks for. */
  async read(pause: Pause): Promise<{ readonly rows: readonly Row[]; readonly digest: string }> {
    this.#digest = new RowDigest();
    const rows: Row[] = [];
    const found = attempt(() => this.#db.prepare("SELECT kind, key, body FROM row").iterate());
    for (let next = attempt(() => found.next()); next.done !== true; next = attempt(() => found.next())) {
      const row = toRow(next.value);
      rows.push(row);
      if (row.kind !== "head") this.#digest.put(row);
      await pause();
    }
    return { rows, digest: this.#digest.text };
  }

  /** One transaction, with pauses for other tasks; the head is written last. After a failure the file has to be opened again. */
  async write(steps: Iterable<RowStep>, { headOf, pause }: WriteOptions): Promise<void> {
    attempt(() => this.#db.exec("BEGIN IMMEDIATE"));
    try {
      for (const step of steps) {
        attempt(() => this.#take(step));
        await pause();
      }
      const { kind, key, body } = headOf(this.#digest.text);
      attempt(() => this.#put.run(kind, key, body));
      attempt(() => this.#db.exec("COMMIT"));
    } catch (error) {
      this.#rollBack();
      throw error;
    }
  }

  #take(step: RowStep): void {
    if ("put" in step) {
      const { kind, key, body } = step.put;
      this.#put.run(kind, key, body);
      this.#digest.put(step.put);
      return;
    }
    this.#drop.run(step.drop.kind, step.drop.key);
    this.#digest.drop(step.drop);
  }

  #rollBack(): void {
    try {
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
    } catch {
      // The file is given up anyway.
    }
  }

  /** Moves what was written into the main file, and empties the log. */
  fold(): void {
    attempt(() => this.#db.exec("PRAGMA wal_checkpoint(TRUNCATE)"));
  }

  close(): void {
    closeQuietly(this.#db);
  }
}

function prepare(db: DatabaseSync): void {
  db.exec(
    `PRAGMA locking_mode = EXCLUSIVE; PRAGMA temp_store = MEMORY; PRAGMA page_size = ${PAGE_BYTES}; BEGIN EXCLUSIVE`,
  );
  const isNew = numberOf(db, "SELECT count(*) FROM sqlite_schema") === 0 && numberOf(db, "PRAGMA application_id") === 0;
  if (isNew) db.exec(SCHEMA);
  else check(db);
  db.exec("COMMIT");
  // The writer flushes what has to survive a power loss, off the event loop; NORMAL keeps the file consistent.
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0");
  db.exec(`PRAGMA max_page_count = ${MAX_PAGES}; PRAGMA trusted_schema = OFF; BEGIN EXCLUSIVE; COMMIT`);
}

function check(db: DatabaseSync): void {
  const isOurs = numberOf(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'row' AND sql LIKE '%STRICT%'") === 1;
  if (numberOf(db, "PRAGMA application_id") !== APPLICATION_ID) {
    if (isOurs) throw new DamagedFile("its header is damaged");
    throw new MooringError("journal-unusable", "another program's database is in its place; it is left alone");
  }
  const format = numberOf(db, "PRAGMA user_version");
  if (format > FORMAT)
    throw new MooringError("journal-unusable", `a newer agent wrote it (format ${format}); it is left alone`);
  if (format !== FORMAT || !isOurs) throw new DamagedFile("its header is damaged");
  const verdict = Object.values(db.prepare("PRAGMA integrity_check(1)").get() ?? {})[0];
  if (verdict !== "ok") throw new DamagedFile(String(verdict));
}

function numberOf(db: DatabaseSync, query: string): number {
  return Number(Object.values(db.prepare(query).get() ?? {})[0]);
}

function toRow({ kind, key, body }: Record<string, unknown>): Row {
  if (
    (kind === "head" || kind === "mounted-volume" || kind === "unmount-record") &&
    typeof key === "string" &&
    typeof body === "string"
  )
    return { kind, key, body };
  throw new DamagedFile("a row is of no known kind");
}

/** Sorts the errors of SQLite into those of the file and others. */
function attempt<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof MooringError || error instanceof DamagedFile) throw error;
    const code = codeOf(error);
    if (code === undefined) throw error;
    const circumstance = CIRCUMSTANCES.get(code & 0xff);
    if (circumstance === undefined) throw new DamagedFile(messageOf(error));
    throw new MooringError("journal-unusable", `${circumstance} (${messageOf(error)})`, { cause: error });
  }
}

function codeOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error)) return undefined;
  return typeof error.errcode === "number" ? error.errcode : undefined;
}

function closeQuietly(db: DatabaseSync): void {
  try {
    db.close();
  } catch {
    // What could not be written is missing when the file is opened again.
  }
}

/** Distinguishes one file from another in its place; undefined while there is none. */
export function identityOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path);
    return `${dev}/${ino}`;
  } catch {
    return undefined;
  }
}
