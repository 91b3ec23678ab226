import * as v from "valibot";
import {
  count,
  decodePage,
  heldOn,
  lastUse,
  nullableText,
  nullableTime,
  type Page,
  stagedOn,
  text,
} from "./aggregator-page.ts";
import type { VolumeView } from "./volume-view.ts";

const item = v.object({
  name: text,
  uid: text,
  phase: text,
  phaseSince: nullableTime,
  // An aggregator of before does not tell: its time is the API server's.
  phaseSinceFrom: v.optional(v.nullable(v.picklist(["api", "created", "first-seen"])), "api"),
  storageClass: nullableText,
  capacity: nullableText,
  reclaimPolicy: nullableText,
  driver: nullableText,
  claim: v.nullable(v.object({ namespace: text, name: text, uid: text })),
  live: v.object({ heldOn, stagedOn, attachedTo: v.object({ items: v.array(text), omitted: count }) }),
  lastUse: v.optional(v.nullable(lastUse), null),
});

/** Reads an answer of `/v1/volumes`. */
export function decodeVolumesPage(body: unknown): Page<VolumeView> | undefined {
  return decodePage(body, { kind: "VolumeList", read: readItem });
}

function readItem(raw: unknown): VolumeView | undefined {
  const result = v.safeParse(item, raw);
  if (!result.success) return undefined;
  const { phaseSince: ms, phaseSinceFrom: from, claim, live, lastUse: use, ...volume } = result.output;
  const nodesOf = (list: { readonly items: readonly { readonly node: string }[]; readonly omitted: number }) => ({
    items: list.items.map(({ node }) => node),
    omitted: list.omitted,
  });
  return {
    ...volume,
    since: ms === undefined || from === null ? undefined : { ms, from },
    claim: claim ?? undefined,
    mountedOn: nodesOf(live.heldOn),
    stagedOn: nodesOf(live.stagedOn),
    attachedTo: live.attachedTo,
    lastUse: use ?? undefined,
  };
}
