import * as v from "valibot";
import type { Stored } from "../../../common/kube/store.ts";
import type { ControlPlane } from "../../rig/control-plane/control-plane.ts";
import type { Owner } from "../../rig/process/owner.ts";
import { follow, identityOf } from "../scenarios/follow.ts";

/** What was told of an object, and how often. */
export interface Told {
  readonly type: string;
  readonly reason: string;
  /** What was done, in a word; empty where nobody says so. */
  readonly action: string;
  readonly note: string;
  readonly times: number;
}

/** Keeps the events of the namespace `default`. */
export interface EventLog {
  /** Those on the object with this UID. */
  readonly on: (uid: string) => readonly Told[];
}

interface SeenEvent extends Stored {
  readonly about: string;
  readonly told: Told;
}

const event = v.object({
  type: v.optional(v.string(), ""),
  reason: v.optional(v.string(), ""),
  action: v.optional(v.string(), ""),
  note: v.optional(v.string(), ""),
  series: v.nullish(v.object({ count: v.number() })),
  deprecatedCount: v.optional(v.number(), 0),
  regarding: v.optional(v.object({ uid: v.optional(v.string(), "") }), {}),
});

/** An event and the UID of what it is about, by its JSON (events.k8s.io/v1). Throws for what is no event. */
export function readEvent(object: unknown): { readonly about: string; readonly told: Told } {
  const { type, reason, action, note, series, deprecatedCount, regarding } = v.parse(event, object);
  // Who writes core/v1 counts in the one field, who writes events.k8s.io/v1 in the other, and a first one in neither.
  const times = Math.max(1, series?.count ?? 0, deprecatedCount);
  return { about: regarding.uid, told: { type, reason, action, note, times } };
}

/** Follows the events from now on, until the owner ends. */
export async function startEventLog(owner: Owner, plane: ControlPlane): Promise<EventLog> {
  const events = new Map<string, SeenEvent>();
  await follow<SeenEvent>(owner, plane, {
    name: "log of events",
    path: "/apis/events.k8s.io/v1/namespaces/default/events",
    project: (object) => ({ ...identityOf(object), ...readEvent(object) }),
    onChange: ({ object }) => void events.set(object.uid, object),
  });
  return { on: (uid) => [...events.values()].flatMap(({ about, told }) => (about === uid ? [told] : [])) };
}
