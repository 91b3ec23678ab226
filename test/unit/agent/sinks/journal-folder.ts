import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Journal } from "../../../../agent/sinks/journal.ts";
import { createSqliteJournal, JOURNAL_FILE } from "../../../../agent/sinks/sqlite-journal.ts";
import { createMetrics, type Metrics } from "../../../../common/runtime/metrics.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";

/** In memory where there is such a place: a unit test does not wait for a disk. */
const BASE = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

interface Agent {
  readonly journal: Journal;
  readonly metrics: Metrics;
}

/** A folder for journals, and what agents on its node would be. It ends with the test. */
export class JournalFolder implements Disposable {
  readonly path = mkdtempSync(join(BASE, "mooring-journal-"));
  readonly clock = createFakeClock();
  readonly logger = createFakeLogger();
  readonly #open: Journal[] = [];

  get file(): string {
    return join(this.path, JOURNAL_FILE);
  }

  /** The journal of an agent that starts now. */
  agent(node = "node-1", bringToDisk?: () => Promise<void>): Agent {
    const metrics = createMetrics();
    const { clock, logger } = this;
    const parts = { clock, logger, metrics, ...(bringToDisk === undefined ? {} : { bringToDisk }) };
    const journal = createSqliteJournal(parts, { directory: this.path, node });
    this.#open.push(journal);
    return { journal, metrics };
  }

  journal(node = "node-1"): Journal {
    return this.agent(node).journal;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const journal of this.#open) await journal.close?.();
    this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
