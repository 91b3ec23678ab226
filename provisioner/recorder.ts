import type { EventRecorder } from "../common/kube/events.ts";
import type { KubeEvent } from "../common/kube/kube-event.ts";
import type { Clock } from "../common/runtime/clock.ts";
import type { Claim, Volume } from "./core/objects.ts";
import { type ClaimEventKind, claimEvent, type VolumeEventKind, volumeEvent } from "./sinks/provisioner-events.ts";

type AboutClaim = Pick<Claim, "namespace" | "name" | "uid">;
type AboutVolume = Pick<Volume, "name" | "uid">;

/** Emits events about claims and volumes, one per transition. */
export interface Recorder {
  readonly claim: (claim: AboutClaim, kind: ClaimEventKind, note: string) => void;
  readonly volume: (volume: AboutVolume, kind: VolumeEventKind, note: string) => void;
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

interface Emitted {
  readonly note: string;
  readonly atMs: number;
}

export function createRecorder({ clock, events, nowMs }: RecorderParts): Recorder {
  const emitted = new Map<string, Map<string, Emitted>>();
  const isNew = (uid: string, kind: string, note: string): boolean => {
    const ofObject = emitted.get(uid) ?? new Map<string, Emitted>();
    const [last, atMs] = [ofObject.get(kind), clock.monotonicMs()];
    if (last !== undefined && (last.note === note || atMs - last.atMs < SOONEST_MS)) return false;
    emitted.delete(uid);
    emitted.set(uid, ofObject.set(kind, { note, atMs }));
    for (const oldest of emitted.keys()) {
      if (emitted.size <= MOST_OBJECTS) break;
      emitted.delete(oldest);
    }
    return true;
  };
  const emit = (uid: string, kind: string, event: KubeEvent): void => {
    if (isNew(uid, kind, event.note)) events.emit(event);
  };
  return {
    claim: (claim, kind, note) => emit(claim.uid, kind, claimEvent(claim, kind, { note, nowMs: nowMs() })),
    volume: (volume, kind, note) => emit(volume.uid, kind, volumeEvent(volume, kind, { note, nowMs: nowMs() })),
    forget: (uid) => void emitted.delete(uid),
  };
}
