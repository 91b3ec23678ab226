import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { NodeState } from "../../agent/core/node-state.ts";
import type { Journal } from "../../agent/sinks/journal.ts";
import { createSqliteJournal } from "../../agent/sinks/sqlite-journal.ts";
import type { Clock } from "../../common/runtime/clock.ts";
import { createMetrics, type Metrics } from "../../common/runtime/metrics.ts";
import type { Printer } from "../demo/print.ts";
import { createFakeLogger } from "../fakes/logger.ts";
import { knownMountedVolume, mountedVolumesOf, nodeState, unmountRecordOf } from "../fakes/node-states.ts";
import type { Owner } from "../rig/process/owner.ts";
import { parseExposition, total } from "./exposition.ts";
import { percentile } from "./statistics.ts";

const ROUNDS = 200;
const MOUNTED_VOLUMES = [30, 1_000, 10_000];

/** A journal under measurement, and the bytes that it has written. */
interface Contender {
  readonly name: string;
  readonly journal: Journal;
  readonly writtenBytes: () => Promise<number>;
}

/** The changes of a node, round after round. */
const EVENTS: readonly { readonly name: string; readonly after: (state: NodeState, round: number) => NodeState }[] = [
  {
    name: "a scan that shows the same (each heartbeat)",
    after: (state, round) => ({ ...state, scan: { beganAt: 20 + 30_000 * round, endedAt: 21 + 30_000 * round } }),
  },
  {
    name: "a mount",
    after: (state, round) => ({
      ...state,
      mountedVolumes: new Map([...state.mountedVolumes, ...mountedVolumesOf(knownMountedVolume(100_000 + round))]),
    }),
  },
  {
    name: "an unmount and its unmount record",
    after: (state, round) => {
      const [, ...mountedVolumes] = state.mountedVolumes;
      return {
        ...state,
        mountedVolumes: new Map(mountedVolumes),
        unmountRecords: [...state.unmountRecords, unmountRecordOf(200_000 + round)],
      };
    },
  },
];

/** The cost of storing, beside the plain way: the whole state as JSON in a new file that replaces the old one. */
export async function benchJournal({ clock, signal }: Owner, printer: Printer): Promise<void> {
  printer.title(`\nStoring what an agent knows, ${ROUNDS} times each, on the disk of ${tmpdir()}`);
  const rows: (readonly string[])[] = [];
  for (const count of MOUNTED_VOLUMES) {
    for (const event of EVENTS) {
      for (const make of [sqliteContender, wholeFileContender]) {
        if (signal.aborted) return;
        const folder = mkdtempSync(join(tmpdir(), "mooring-bench-"));
        try {
          rows.push([String(count), event.name, ...(await measure(make(clock, folder), { clock, count, event }))]);
        } finally {
          rmSync(folder, { recursive: true, force: true });
        }
      }
    }
  }
  printer.table([["MOUNTED VOLUMES", "WHAT", "HOW", "P50", "P99", "LOOP BLOCKED P99", "MAX", "BYTES"], ...rows]);
}

interface Task {
  readonly clock: Clock;
  readonly count: number;
  readonly event: (typeof EVENTS)[number];
}

async function measure(contender: Contender, { clock, count, event }: Task): Promise<readonly string[]> {
  const { name, journal, writtenBytes } = contender;
  let state = nodeState({
    mountedVolumes: mountedVolumesOf(...Array.from({ length: count }, (_, n) => knownMountedVolume(n))),
  });
  await journal.load();
  await journal.store(state);
  const before = await writtenBytes();
  const [took, blocked]: [number[], number[]] = [[], []];
  for (let round = 1; round <= ROUNDS; round += 1) {
    state = event.after(state, round);
    const turns = watchTurns(clock);
    const begunAt = clock.monotonicMs();
    await journal.store(state);
    took.push(clock.monotonicMs() - begunAt);
    blocked.push(await turns.longest());
  }
  const bytes = ((await writtenBytes()) - before) / ROUNDS;
  await journal.close?.();
  const [p50, p99] = [percentile(took, 0.5), percentile(took, 0.99)].map(milliseconds);
  const [blockedP99, blockedMax] = [percentile(blocked, 0.99), percentile(blocked, 1)].map(milliseconds);
  return [name, p50 ?? "", p99 ?? "", blockedP99 ?? "", blockedMax ?? "", `${Math.round(bytes)}`];
}

function milliseconds(value: number): string {
  return `${value.toFixed(2)} ms`;
}

/** Takes turns of the event loop, and records the longest time without one. */
function watchTurns(clock: Clock): { readonly longest: () => Promise<number> } {
  let [longest, isOver] = [0, false];
  const beat = async (): Promise<void> => {
    while (!isOver) {
      const at = clock.monotonicMs();
      await clock.sleep(0);
      longest = Math.max(longest, clock.monotonicMs() - at);
    }
  };
  const beating = beat();
  return {
    longest: async () => {
      isOver = true;
      await beating;
      return longest;
    },
  };
}

function sqliteContender(clock: Clock, directory: string): Contender {
  const metrics: Metrics = createMetrics();
  const journal = createSqliteJournal({ clock, logger: createFakeLogger(), metrics }, { directory, node: "bench" });
  return {
    name: "Mooring's journal",
    journal,
    writtenBytes: async () => total(parseExposition(await metrics.text()), "mooring_journal_written_bytes_total"),
  };
}

function wholeFileContender(_: Clock, directory: string): Contender {
  let bytes = 0;
  const path = join(directory, "state.json");
  const store = async (state: NodeState): Promise<void> => {
    const text = JSON.stringify({ ...state, mountedVolumes: [...state.mountedVolumes] });
    await using file = await open(`${path}.new`, "w");
    await file.writeFile(text);
    await file.datasync();
    renameSync(`${path}.new`, path);
    await using folder = await open(directory, "r");
    await folder.sync();
    bytes += text.length;
  };
  return {
    name: "baseline, whole state to a new JSON file",
    journal: { load: async () => undefined, store },
    writtenBytes: async () => bytes,
  };
}
