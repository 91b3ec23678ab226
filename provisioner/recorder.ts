import type { EventRecorder } from "../common/kube/events.ts";
import type { KubeEvent } from "../common/kube/kube-event.ts";
import type { Clock } from "../common/runtime/clock.ts";
import type { Claim, Volume } from "./core/objects.ts";
import { type ClaimTelling, claimEvent, type VolumeTelling, volumeEvent } from "./sinks/provisioner-events.ts";

type AboutClaim = Pick<Claim, "namespace" | "name" | "uid">;
type AboutVolume = Pick<Volume, "name" | "uid">;

/** Emits events about claims and volumes, one per transition. */
export interface Recorder {
  readonly claim: (claim: AboutClaim, telling: ClaimTelling, note: string) => void;
  readonly volume: (volume: AboutVolume, telling: VolumeTelling, note: string) => void;
  /** The next event about the object is a new transition. */
  readonly forget: (uid: string) => void;
}

interface RecorderParts {
  readonly clock: Clock;
  readonly events: Pick<EventRecorder, "emit">;
  /** The API server's clock. */
  readonly nowMs: () => number;
}

/** An event whose text changes all the time is emitted once in this time. Milliseconds. */
const SOONEST_MS = 60_000;
/** The emitted events of at most this many objects are remembered. */
const MOST_OBJECTS = 5_000;

interface Told {
  readonly note: string;
  readonly atMs: number;
}

export function createRecorder({ clock, events, nowMs }: RecorderParts): Recorder {
  const told = new Map<string, Map<string, Told>>();
  const isNew = (uid: string, telling: string, note: string): boolean => {
    const ofObject = told.get(uid) ?? new Map<string, Told>();
    const [last, atMs] = [ofObject.get(telling), clock.monotonicMs()];
    if (last !== undefined && (last.note === note || atMs - last.atMs < SOONEST_MS)) return false;
    told.delete(uid);
    told.set(uid, ofObject.set(telling, { note, atMs }));
    for (const oldest of told.keys()) {
      if (told.size <= MOST_OBJECTS) break;
      told.delete(oldest);
    }
    return true;
  };
  const emit = (uid: string, telling: string, event: KubeEvent): void => {
    if (isNew(uid, telling, event.note)) events.emit(event);
  };
  return {
    claim: (claim, telling, note) => emit(claim.uid, telling, claimEvent(claim, telling, { note, nowMs: nowMs() })),
    volume: (volume, telling, note) =>
      emit(volume.uid, telling, volumeEvent(volume, telling, { note, nowMs: nowMs() })),
    forget: (uid) => void told.delete(uid),
  };
}
