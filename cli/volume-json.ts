import { formatMillisecondsUp, formatSecondsUp } from "../common/storage/timestamp.ts";
import { lastUseOf, sourceOf } from "./claim-json.ts";
import type { VolumeListing } from "./volume-source.ts";
import type { Names, VolumeView } from "./volume-view.ts";

/** Version of the schema below. A new field does not change it; a renamed or removed field, or one with a new meaning, makes it v2. */
const SHAPE = { apiVersion: "cli.mooring.dev/v1", kind: "VolumeViewList" } as const;

/** The volumes as JSON for programs: every field is always present, `null` means unknown. Times are RFC 3339 in UTC. */
export function volumesJson({ items, nowMs, source }: VolumeListing): string {
  const list = {
    ...SHAPE,
    serverTime: nowMs === undefined ? null : formatMillisecondsUp(nowMs),
    source: sourceOf(source),
    nodes: source.kind === "aggregator" ? source.nodes : null,
    items: items.map(itemOf),
  };
  return `${JSON.stringify(list, undefined, 2)}\n`;
}

function itemOf({ since, lastUse, ...volume }: VolumeView): object {
  return {
    name: volume.name,
    uid: volume.uid,
    phase: volume.phase,
    phaseSince: since === undefined ? null : formatSecondsUp(since.ms),
    phaseSinceFrom: since?.from ?? null,
    storageClass: volume.storageClass ?? null,
    capacity: volume.capacity ?? null,
    reclaimPolicy: volume.reclaimPolicy ?? null,
    driver: volume.driver ?? null,
    claim: volume.claim ?? null,
    mountedOn: namesOf(volume.mountedOn),
    stagedOn: namesOf(volume.stagedOn),
    attachedTo: namesOf(volume.attachedTo),
    lastUse: lastUse === undefined ? null : lastUseOf(lastUse),
  };
}

function namesOf(names: Names | undefined): object | null {
  return names === undefined ? null : { nodes: names.items, more: names.omitted !== 0 };
}
