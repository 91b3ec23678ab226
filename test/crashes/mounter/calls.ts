import * as v from "valibot";

/** A request to a mounter: one system call. The caller creates the folders. */
export const mountRequest = v.variant("call", [
  v.object({ id: v.number(), call: v.literal("bind"), source: v.string(), target: v.string() }),
  v.object({ id: v.number(), call: v.literal("umount"), target: v.string() }),
]);
export type MountRequest = v.InferOutput<typeof mountRequest>;

/** The time of the call: wall clock in milliseconds, the begin rounded down and the end up. `errno` is 0 on success. */
export const mountAnswer = v.object({ id: v.number(), fromMs: v.number(), toMs: v.number(), errno: v.number() });
export type MountAnswer = v.InferOutput<typeof mountAnswer>;
