import * as v from "valibot";
import type { Docket } from "../../judge/docket.ts";
import type { StoreEvent } from "../engine/api/api.ts";
import type { World } from "../world/world.ts";

const alarm = v.object({
  reason: v.literal("VolumeUnmountedWhileRunning"),
  note: v.string(),
  regarding: v.object({ uid: v.string() }),
});

/** No event may report an unmount under a running pod that did not happen. An agent whose pod watch may lag is excused. */
export function watchAlarms({ engine, health, unmountedBehind }: World, docket: Docket): void {
  engine.api.observe(({ resource, type, object, by = "" }: StoreEvent) => {
    if (resource !== "events" || type !== "ADDED") return;
    const event = v.safeParse(alarm, object);
    if (!event.success) return;
    const { note, regarding } = event.output;
    const isTrue = unmountedBehind.has(regarding.uid);
    if (!isTrue && health.hasFault(by)) docket.excuse("false-alarm", "the agent's pod watch had faults");
    else docket.judge("false-alarm", isTrue, () => `${by} reports for pod ${regarding.uid}: ${note}`);
  });
}
