import * as v from "valibot";
import { volumeEntry } from "../common/storage/list-lines.ts";
import { lastUseIn } from "./last-use.ts";
import type { Names, VolumeView } from "./volume-view.ts";

/** Decodes a line of `/v1/volumes`; undefined for anything else. */
export function readVolumeEntry(raw: unknown): VolumeView | undefined {
  const result = v.safeParse(volumeEntry, raw);
  if (!result.success) return undefined;
  const { phaseSince: ms, phaseSinceFrom: from, live, ...entry } = result.output;
  return {
    name: entry.name,
    uid: entry.uid,
    phase: entry.phase,
    since: ms === undefined || from === null ? undefined : { ms, from },
    storageClass: entry.storageClass,
    capacity: entry.capacity,
    reclaimPolicy: entry.reclaimPolicy,
    driver: entry.driver,
    claim: entry.claim ?? undefined,
    mountedOn: nodesIn(live.mountedOn),
    stagedOn: nodesIn(live.stagedOn),
    attachedTo: live.attachedTo,
    lastUse: lastUseIn(entry.lastUse),
  };
}

function nodesIn({ items, omitted }: v.InferOutput<typeof volumeEntry>["live"]["mountedOn" | "stagedOn"]): Names {
  return { items: items.map(({ node }) => node), omitted };
}
