import * as v from "valibot";
import { formatMillisecondsUp, formatSecondsUp, parseTimestamp } from "./timestamp.ts";

/** The condition that answers since when a claim is unused. */
export const CONDITION_TYPE = "mooring.dev/Unused";
/** Present exactly while the claim is unused and was seen in use before: RFC 3339, equal to the condition's time. */
export const UNUSED_SINCE = "mooring.dev/unused-since";
/** JSON: the nodes with a use-hold; present exactly while the reason is `Mounted`. */
export const MOUNTED_ON = "mooring.dev/mounted-on";
/** JSON: the last real use. */
export const LAST_USE = "mooring.dev/last-use";
/** No more names than this are kept in `mounted-on`. */
export const MAX_NODES = 32;

/** Why a claim counts as used or unused. */
export type UnusedReason = "Mounted" | "Referenced" | "Unmounted" | "NoPodUsing" | "NodeGone" | "NeverObservedInUse";

/** What the end of a use was known from: read in the mount table, known from the pod only, or assumed with its node. */
export type Evidence = "mount-table" | "pod-status" | "node-gone";

/** The last time that somebody really used the claim. */
export interface LastUse {
  /** Identifies the release, so that a lost answer does not write it twice. */
  readonly releaseId: string;
  readonly node: string | undefined;
  /** `namespace/name` where it is known, else the UID; nothing for a use that ended while nobody watched. */
  readonly pod: string | undefined;
  readonly podUid: string | undefined;
  /** Milliseconds since the epoch; never earlier than the truth. */
  readonly releasedAtMs: number;
  /** By how much at most the truth may be earlier; nothing when that is not known. */
  readonly uncertaintyMs: number | undefined;
  readonly evidence: Evidence;
}

/** The nodes that had the claim mounted; `more` when there were too many to keep. */
export interface MountedOn {
  readonly nodes: readonly string[];
  readonly more: boolean;
}

/** Mooring's answer for one claim, as it stands in the claim's status. */
export interface ClaimStatus {
  readonly unused: boolean;
  readonly reason: UnusedReason;
  readonly message: string;
  /** `lastTransitionTime`, milliseconds since the epoch. */
  readonly sinceMs: number;
  readonly mountedOn: MountedOn | undefined;
  readonly lastUse: LastUse | undefined;
}

const REASONS = ["Mounted", "Referenced", "Unmounted", "NoPodUsing", "NodeGone", "NeverObservedInUse"] as const;

const condition = v.object({
  status: v.picklist(["True", "False"]),
  reason: v.picklist(REASONS),
  message: v.optional(v.string(), ""),
  lastTransitionTime: v.string(),
});

const mountedOn = v.object({
  claimUID: v.string(),
  nodes: v.pipe(v.array(v.string()), v.maxLength(MAX_NODES)),
  more: v.optional(v.boolean(), false),
});

const lastUse = v.object({
  claimUID: v.string(),
  release: v.string(),
  node: v.optional(v.string()),
  pod: v.optional(v.string()),
  podUID: v.optional(v.string()),
  releasedAt: v.string(),
  uncertaintyMs: v.nullable(v.pipe(v.number(), v.minValue(0))),
  evidence: v.picklist(["mount-table", "pod-status", "node-gone"]),
});

/** The parts of a claim that hold its status. */
export interface StatusFields {
  readonly uid: string;
  /** Our condition, undecoded; nothing when the claim has none. */
  readonly condition: unknown;
  readonly annotations: Readonly<Record<string, string>>;
}

/**
 * Reads a claim's status. Annotations can be copied or forged by whoever may edit claims: they mean something only beside our
 * condition and with the claim's own UID.
 */
export function readClaimStatus({ uid, condition: raw, annotations }: StatusFields): ClaimStatus | undefined {
  const own = v.safeParse(condition, raw);
  const sinceMs = own.success ? parseTimestamp(own.output.lastTransitionTime) : undefined;
  if (!own.success || sinceMs === undefined) return undefined;
  const { status, reason, message } = own.output;
  return {
    unused: status === "True",
    reason,
    message,
    sinceMs,
    mountedOn: reason === "Mounted" ? readMountedOn(uid, annotations[MOUNTED_ON]) : undefined,
    lastUse: readLastUse(uid, annotations[LAST_USE]),
  };
}

function readMountedOn(uid: string, text: string | undefined): MountedOn | undefined {
  const result = v.safeParse(mountedOn, parseJson(text));
  if (!result.success || result.output.claimUID !== uid) return undefined;
  return { nodes: result.output.nodes, more: result.output.more };
}

function readLastUse(uid: string, text: string | undefined): LastUse | undefined {
  const result = v.safeParse(lastUse, parseJson(text));
  const releasedAtMs = result.success ? parseTimestamp(result.output.releasedAt) : undefined;
  if (!result.success || result.output.claimUID !== uid || releasedAtMs === undefined) return undefined;
  const { release, node, pod, podUID, uncertaintyMs, evidence } = result.output;
  return {
    releaseId: release,
    node,
    pod,
    podUid: podUID,
    releasedAtMs,
    uncertaintyMs: uncertaintyMs ?? undefined,
    evidence,
  };
}

function parseJson(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Our condition and annotations for a status, as they are written. Times are rounded up. */
export function writeClaimStatus(
  uid: string,
  status: ClaimStatus,
): { readonly condition: Readonly<Record<string, string>>; readonly annotations: Readonly<Record<string, string>> } {
  const since = formatSecondsUp(status.sinceMs);
  const wasUsed = status.unused && status.reason !== "NeverObservedInUse";
  return {
    condition: {
      type: CONDITION_TYPE,
      status: status.unused ? "True" : "False",
      reason: status.reason,
      message: status.message,
      lastTransitionTime: since,
    },
    annotations: {
      ...(wasUsed ? { [UNUSED_SINCE]: since } : {}),
      ...(status.mountedOn === undefined ? {} : { [MOUNTED_ON]: mountedOnText(uid, status.mountedOn) }),
      ...(status.lastUse === undefined ? {} : { [LAST_USE]: lastUseText(uid, status.lastUse) }),
    },
  };
}

function mountedOnText(uid: string, { nodes, more }: MountedOn): string {
  return JSON.stringify({ claimUID: uid, nodes, ...(more ? { more } : {}) });
}

function lastUseText(uid: string, use: LastUse): string {
  return JSON.stringify({
    claimUID: uid,
    release: use.releaseId,
    // JSON leaves out what is undefined.
    node: use.node,
    pod: use.pod,
    podUID: use.podUid,
    releasedAt: formatMillisecondsUp(use.releasedAtMs),
    uncertaintyMs: use.uncertaintyMs === undefined ? null : Math.ceil(use.uncertaintyMs),
    evidence: use.evidence,
  });
}
