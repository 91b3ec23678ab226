// A program under test, and to be killed: `journal-program.ts store|once <folder> [step]` stores numbered states in a journal, step by step
// without an end or one, and says what it found and what is stored by now.
import { createSqliteJournal } from "../../agent/sinks/sqlite-journal.ts";
import { createSystemClock } from "../../common/runtime/clock.ts";
import { MooringError } from "../../common/runtime/errors.ts";
import { createLogger } from "../../common/runtime/logger.ts";
import { createMetrics } from "../../common/runtime/metrics.ts";
import { numberedState } from "./journal-states.ts";

const [mode, directory = "", first] = process.argv.slice(2);
const parts = { clock: createSystemClock(), logger: createLogger("warn"), metrics: createMetrics() };
const journal = createSqliteJournal(parts, { directory, node: "node-1" });

function say(what: string): void {
  process.stdout.write(`${what}\n`);
}

async function run(): Promise<void> {
  const found = await journal.load();
  say(`found ${found?.generation ?? "nothing"}`);
  const begin = first === undefined ? (found?.generation ?? 0) + 1 : Number(first);
  for (let step = begin; mode === "store" || step === begin; step += 1) {
    await journal.store(numberedState(step));
    say(`stored ${step}`);
  }
}

try {
  await run();
} catch (error) {
  if (!(error instanceof MooringError)) throw error;
  say(`${error.code}: ${error.message}`);
}
await journal.close?.();
