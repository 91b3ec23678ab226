import { parentPort, workerData } from "node:worker_threads";
import * as v from "valibot";
import { HAPPENINGS } from "./plan/happenings.ts";
import { playSeed } from "./seeds.ts";

/** Plays every so manieth seed from a first one, until it is ended or has played its last. */
const { first, last, stride, shrinks, focus } = v.parse(
  v.object({
    first: v.number(),
    last: v.number(),
    stride: v.number(),
    shrinks: v.boolean(),
    focus: v.optional(v.array(v.picklist(HAPPENINGS.map(([kind]) => kind)))),
  }),
  workerData,
);

for (let seed = first; seed <= last; seed += stride) parentPort?.postMessage(await playSeed(seed, { focus, shrinks }));
