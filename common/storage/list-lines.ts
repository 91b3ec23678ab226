import * as v from "valibot";
import { parseTimestamp } from "./timestamp.ts";

/**
 * The contract of the aggregator's lists: a header line, one line for each entry, and a last line that says that the list is complete.
 * New fields may be added; a field that is renamed, removed or means something else makes it v3. The aggregator writes the input of a
 * schema, a reader gets the output.
 */
export const LIST_API_VERSION = "api.mooring.dev/v2";
export const LIST_CONTENT_TYPE = "application/x-ndjson";

const text = v.string();
const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
/** RFC 3339; read as milliseconds since the epoch. */
const time = v.pipe(
  text,
  v.transform((value) => parseTimestamp(value)),
  v.number(),
);
/** `null` means unknown or not applicable. */
const textOrNull = v.pipe(
  v.nullable(text),
  v.transform((value) => value ?? undefined),
);
const timeOrNull = v.pipe(
  v.nullable(time),
  v.transform((value) => value ?? undefined),
);

/** The first ones, and how many more there are: thousands of nodes may have a volume mounted. */
function capped<const S extends v.GenericSchema>(item: S) {
  return v.object({ items: v.array(item), omitted: count });
}

/** The first line. */
export const listHeader = v.object({
  apiVersion: v.literal(LIST_API_VERSION),
  kind: v.picklist(["ClaimList", "VolumeList", "NodeList"]),
  /** UID of the namespace kube-system, which identifies the cluster. */
  cluster: textOrNull,
  /** The API server's wall clock at the earliest, so that an age is too short rather than too long. */
  serverTime: time,
  nodes: v.object({
    total: count,
    /** Their reports have stopped. */
    stale: count,
    /** They have not reported since the aggregator began to lead, and still have time to. */
    unreported: count,
  }),
});

/** The last line. A stream without it is incomplete. */
export const listEnd = v.object({ complete: v.literal(true), entries: count });

/** Nodes that have a volume mounted by their last reports, and the pods; a pod is `gone` when the API does not have it. */
const mountedOn = capped(
  v.object({
    node: text,
    state: text,
    pods: capped(v.object({ uid: text, name: v.nullable(text), gone: v.boolean() })),
  }),
);

/** The nodes of the annotation. */
const storedNodes = v.nullable(v.object({ nodes: v.array(text), more: v.boolean() }));

const phaseSince = {
  phaseSince: timeOrNull,
  phaseSinceFrom: v.nullable(v.picklist(["api", "created", "first-seen"])),
};

/** The last use that is over, and the time in which it may have been used unobserved since. */
const lastUse = {
  lastUse: v.nullable(
    v.object({
      release: text,
      node: textOrNull,
      pod: textOrNull,
      podUid: textOrNull,
      releasedAt: time,
      uncertaintyMs: v.nullable(v.number()),
      evidence: v.picklist(["mount-table", "pod-status", "node-gone"]),
    }),
  ),
  blindGap: v.nullable(v.object({ from: time, to: time })),
};

/** A line of `/v1/claims`. */
export const claimEntry = v.object({
  namespace: text,
  name: text,
  uid: text,
  phase: text,
  ...phaseSince,
  deleting: v.boolean(),
  /** It is being deleted, and protection alone keeps it. */
  deletionHeld: v.boolean(),
  storageClass: textOrNull,
  capacity: textOrNull,
  volume: textOrNull,
  status: v.picklist(["Mounted", "Referenced", "Unused", "NotWatched", "NotBound"]),
  /** Begin of `status`. */
  since: timeOrNull,
  /** As stored on the claim. */
  condition: v.nullable(
    v.object({
      status: v.picklist(["True", "False"]),
      reason: v.picklist(["Mounted", "Referenced", "Unmounted", "NoPodUsing", "NodeGone", "NeverObservedInUse"]),
      message: text,
      since: time,
    }),
  ),
  ...lastUse,
  mountedOn: storedNodes,
  /** What is known beyond the stored status. */
  live: v.object({
    mountedOn,
    stagedOn: capped(v.object({ node: text, state: text })),
    references: capped(v.object({ pod: text, node: v.nullable(text) })),
    /** Nodes that have to report before it may become unused, their states, and why. */
    pendingNodes: capped(v.object({ node: text, state: text, why: text })),
    /** The aggregator's watch of pods is interrupted, and the claim waits for it, too. */
    podsUnwatched: v.optional(v.boolean()),
  }),
  /** No use is known, but the claim waits for a pending node, or for the watch of pods. */
  pending: v.boolean(),
  /** Kubernetes' own condition. */
  kubernetes: v.nullable(v.object({ unused: v.boolean(), since: timeOrNull })),
  unusedWhileMounted: v.boolean(),
});

/** A line of `/v1/volumes`. */
export const volumeEntry = v.object({
  name: text,
  uid: text,
  phase: text,
  ...phaseSince,
  storageClass: textOrNull,
  capacity: textOrNull,
  reclaimPolicy: textOrNull,
  driver: textOrNull,
  claim: v.nullable(v.object({ namespace: text, name: text, uid: text })),
  live: v.object({
    mountedOn,
    /** `leaked`: staged without a use for so long that no kubelet will unstage it. */
    stagedOn: capped(v.object({ node: text, state: text, unusedSince: timeOrNull, leaked: v.boolean() })),
    attachedTo: capped(text),
  }),
  leaked: v.boolean(),
  /** Mounted or staged on a node although it is not Bound. */
  stillMounted: v.boolean(),
  mountedOn: storedNodes,
  ...lastUse,
});

/** A line as it is written. */
export type ListHeader = v.InferInput<typeof listHeader>;
export type ListEnd = v.InferInput<typeof listEnd>;
export type ClaimEntry = v.InferInput<typeof claimEntry>;
export type VolumeEntry = v.InferInput<typeof volumeEntry>;
