import { parentPort, workerData } from "node:worker_threads";
import * as v from "valibot";
import { STEP_MAKERS } from "./plan/step-makers.ts";
import { playSeed } from "./seeds.ts";

/** Plays the seeds from `first` to `last`, unless the main thread ends it. */
const { first, last, shrinks, focus } = v.parse(
  v.object({
    first: v.number(),
    last: v.number(),
    shrinks: v.boolean(),
    focus: v.optional(v.array(v.picklist(STEP_MAKERS.map(([kind]) => kind)))),
  }),
  workerData,
);

let seed = first;
// Names the seed of an unhandled rejection.
process.on("unhandledRejection", (cause) => {
  throw new Error(`seed ${seed} ended the simulation`, { cause });
});
for (; seed <= last; seed += 1) parentPort?.postMessage(await playSeed(seed, { focus, shrinks }));
