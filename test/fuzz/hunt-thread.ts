// A thread that hunts: an input may hang it or fill its memory, and then the main thread ends it.
import { parentPort, workerData } from "node:worker_threads";
import { createSystemClock } from "../../common/runtime/clock.ts";
import { createFakeRandom } from "../fakes/random.ts";
import { startCoverage } from "./coverage.ts";
import { hunt } from "./hunt.ts";
import { LONGEST_INPUT } from "./target.ts";
import { targetOf } from "./targets.ts";

/** The task of the thread. */
export interface ThreadTask {
  readonly target: string;
  readonly seed: number;
  readonly minutes: number;
  /** See `createSlate`. */
  readonly slate: SharedArrayBuffer;
}

/** Shared memory for the present input of a thread: a counter, its length, and its bytes. */
export function createSlate(): SharedArrayBuffer {
  return new SharedArrayBuffer(8 + LONGEST_INPUT);
}

/** The present input of a thread, and a counter that changes with each input. */
export function readSlate(slate: SharedArrayBuffer): { readonly count: number; readonly input: string } {
  const head = new Int32Array(slate, 0, 2);
  const input = Buffer.from(slate, 8, head[1] ?? 0).toString("latin1");
  return { count: Atomics.load(head, 0), input };
}

function writeSlate(slate: SharedArrayBuffer): (input: string) => void {
  const head = new Int32Array(slate, 0, 2);
  const bytes = Buffer.from(slate, 8);
  return (input) => {
    head[1] = bytes.write(input, "latin1");
    Atomics.add(head, 0, 1);
  };
}

async function run({ target, seed, minutes, slate }: ThreadTask): Promise<void> {
  const clock = createSystemClock();
  const coverage = startCoverage();
  const untilMs = clock.monotonicMs() + minutes * 60_000;
  const parts = { clock, random: createFakeRandom(seed), coverage, onInput: writeSlate(slate) };
  const hunted = await hunt(targetOf(target), parts, { untilMs });
  coverage.stop();
  parentPort?.postMessage(hunted);
}

if (parentPort !== null) await run(workerData);
