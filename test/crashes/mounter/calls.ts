import * as v from "valibot";

/** What is asked of a mounter: one call of the kernel's. Folders are made before. */
export const mountRequest = v.variant("call", [
  v.object({ id: v.number(), call: v.literal("bind"), source: v.string(), target: v.string() }),
  v.object({ id: v.number(), call: v.literal("umount"), target: v.string() }),
]);
export type MountRequest = v.InferOutput<typeof mountRequest>;

/** When the call was made: wall clock, milliseconds, the first rounded down and the second up. `errno` is 0 where it succeeded. */
export const mountAnswer = v.object({ id: v.number(), fromMs: v.number(), toMs: v.number(), errno: v.number() });
export type MountAnswer = v.InferOutput<typeof mountAnswer>;
