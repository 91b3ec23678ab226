import * as v from "valibot";
import type { StoreEvent } from "../engine/api/api.ts";
import type { World } from "../world/world.ts";
import { BrokenPromise } from "./promises.ts";

/** An event as people see it. */
const alarm = v.object({
  reason: v.literal("VolumeUnmountedWhileRunning"),
  note: v.string(),
  regarding: v.object({ uid: v.string() }),
});

/**
 * An agent tells somebody that a volume was unmounted under a running pod. It may be wrong where it hears of its pods late; else nobody is
 * to be told of what did not happen.
 */
export function checkAlarm(world: World, { resource, type, object, by = "" }: StoreEvent): void {
  if (resource !== "events" || type !== "ADDED") return;
  const event = v.safeParse(alarm, object);
  if (!event.success || world.attention.isDisturbed(by)) return;
  const { note, regarding } = event.output;
  if (world.unmountedBehind.has(regarding.uid)) return;
  throw new BrokenPromise("false-alarm", `${by} says of ${regarding.uid}: ${note}`);
}
