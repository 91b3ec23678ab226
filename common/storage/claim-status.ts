import * as v from "valibot";
import { CENTURY_MS, formatMillisecondsUp, formatSecondsUp, parseTimestamp } from "./timestamp.ts";

/** The field manager that owns Mooring's condition and annotations, by server-side apply. */
export const FIELD_MANAGER = "mooring-aggregator";
/** The condition that answers since when a claim is unused. */
export const CONDITION_TYPE = "mooring.dev/Unused";
/** The condition of a claim that is unused and still staged: the device of its volume is mounted on a node, and no pod has it. */
export const STAGED_TYPE = "mooring.dev/Staged";
/** Present exactly while the claim is unused and was seen in use before: RFC 3339, equal to the condition's time. */
export const UNUSED_SINCE = "mooring.dev/unused-since";
/** JSON: the nodes where a pod has it mounted; present exactly while the reason is `Mounted`. */
export const MOUNTED_ON = "mooring.dev/mounted-on";
/** JSON: the last real use, and an unobserved time after it. */
export const LAST_USE = "mooring.dev/last-use";
/** `mounted-on` contains at most so many names. */
export const MAX_NODES = 32;

/** Why a claim counts as in use or unused. */
export type UnusedReason = "Mounted" | "Referenced" | "Unmounted" | "NoPodUsing" | "NodeGone" | "NeverObservedInUse";

/** How the end of a use is known: from the mount table, from the pod only, or assumed with its node. */
export type Evidence = "mount-table" | "pod-status" | "node-gone";

/** The last real use of the claim. */
export interface LastUse {
  /** Identifies the unmount record, so that a lost answer does not lead to a second write. */
  readonly id: string;
  readonly node: string | undefined;
  /** `namespace/name` where it is known, else the UID; undefined for a use that ended unobserved. */
  readonly pod: string | undefined;
  readonly podUid: string | undefined;
  /** When it had ended at the latest, milliseconds since the epoch. */
  readonly byMs: number;
  /** By how much that may be later than the truth at most; undefined when that is unknown. */
  readonly widthMs: number | undefined;
  readonly evidence: Evidence;
}

/** The uncertainty of a time that is rounded up, both in whole milliseconds: rounding does not move the earliest end. */
export function wholeUncertaintyMs(byMs: number, widthMs: number): number {
  return Math.ceil(Math.ceil(byMs) - byMs + widthMs);
}

/** The nodes that had the claim mounted; `more` when there were too many to store. */
export interface MountedOn {
  readonly nodes: readonly string[];
  readonly more: boolean;
}

/**
 * A time after the last known use in which the claim may have been used unobserved. Milliseconds since the epoch: `fromMs` never too
 * late, `toMs` never too early.
 */
export interface Gap {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Mooring's answer for one claim, as stored in its status. */
export interface ClaimStatus {
  readonly unused: boolean;
  readonly reason: UnusedReason;
  readonly message: string;
  /** `lastTransitionTime`, milliseconds since the epoch. */
  readonly sinceMs: number;
  readonly mountedOn: MountedOn | undefined;
  readonly lastUse: LastUse | undefined;
  /** Of an unused claim only. `sinceMs` is its end where the claim counts as used until then. */
  readonly gap?: Gap | undefined;
  /** Where the volume of an unused claim is still staged, for people to read; undefined where it is not, or protection is off. */
  readonly staged?: string | undefined;
}

const REASONS = ["Mounted", "Referenced", "Unmounted", "NoPodUsing", "NodeGone", "NeverObservedInUse"] as const;

/** The reasons of a claim in use; the others are those of an unused one. */
const IN_USE: ReadonlySet<UnusedReason> = new Set<UnusedReason>(["Mounted", "Referenced"]);

const condition = v.object({
  status: v.picklist(["True", "False"]),
  reason: v.picklist(REASONS),
  message: v.optional(v.string(), ""),
  lastTransitionTime: v.string(),
});

/** Longer than any text that Mooring writes: users may write texts to their claims, and no more of one is kept or logged. */
const shortText = (most: number) => v.pipe(v.string(), v.maxLength(most));
/** Never empty: decisions have a meaning of their own for that. */
const nodeName = v.pipe(shortText(253), v.minLength(1));
const uidText = shortText(128);

const mountedOn = v.object({
  claimUID: uidText,
  nodes: v.pipe(v.array(nodeName), v.maxLength(MAX_NODES)),
  more: v.optional(v.boolean(), false),
});

const lastUse = v.object({
  claimUID: uidText,
  // An ID that Mooring makes of a boot, a pod and a volume is longer than one that an agent may report.
  release: shortText(1_024),
  node: v.optional(nodeName),
  pod: v.optional(shortText(2 * 253 + 1)),
  podUID: v.optional(uidText),
  releasedAt: shortText(64),
  uncertaintyMs: v.nullable(v.pipe(v.number(), v.minValue(0), v.ltValue(CENTURY_MS))),
  evidence: v.picklist(["mount-table", "pod-status", "node-gone"]),
});

const time = v.pipe(
  v.string(),
  v.transform((text) => parseTimestamp(text) ?? Number.NaN),
  v.finite(),
);

const storedGap = v.object({
  claimUID: uidText,
  blindGap: v.pipe(
    v.object({ from: time, to: time }),
    v.check(({ from, to }) => from <= to),
  ),
});

/** The parts of a claim that contain its status. */
export interface StatusFields {
  readonly uid: string;
  /** When the claim was created, rounded down to seconds. */
  readonly createdAtMs?: number | undefined;
  /** Mooring's condition, undecoded; undefined when the claim has none. */
  readonly condition: unknown;
  /** The condition `mooring.dev/Staged`, undecoded. */
  readonly staged?: unknown;
  readonly annotations: Readonly<Record<string, string>>;
}

/** The earliest valid time of a condition: the claim's creation, of which less than a second is cut off. */
export function earliestSinceMs({ createdAtMs }: Pick<StatusFields, "createdAtMs">): number {
  return createdAtMs === undefined ? Number.NEGATIVE_INFINITY : createdAtMs + 1_000;
}

/**
 * Reads a claim's status. Users who may edit claims can copy or forge annotations, so they count only beside Mooring's condition and
 * with the claim's own UID. A condition that Mooring cannot have written is ignored, such as one that a restored backup brought from an
 * earlier claim.
 */
export function readClaimStatus(fields: StatusFields): ClaimStatus | undefined {
  const { uid, condition: raw, annotations } = fields;
  const own = v.safeParse(condition, raw);
  const sinceMs = own.success ? parseTimestamp(own.output.lastTransitionTime) : undefined;
  if (!own.success || sinceMs === undefined || sinceMs < earliestSinceMs(fields)) return undefined;
  const { status, reason, message } = own.output;
  const unused = status === "True";
  if (unused === IN_USE.has(reason)) return undefined;
  return {
    unused,
    reason,
    message,
    sinceMs,
    mountedOn: reason === "Mounted" ? readMountedOn(uid, annotations[MOUNTED_ON]) : undefined,
    lastUse: readOwnUse(fields),
    ...(unused ? readGap(uid, annotations[LAST_USE]) : {}),
    ...readStaged(fields.staged),
  };
}

/** No use is older than the claim. */
function readOwnUse({ uid, createdAtMs = 0, annotations }: StatusFields): LastUse | undefined {
  const use = readLastUse(uid, annotations[LAST_USE]);
  return use !== undefined && use.byMs < createdAtMs ? undefined : use;
}

const stagedCondition = v.object({ status: v.literal("True"), message: v.optional(v.string(), "") });

/** Sets the property only where there is a value: nearly all claims have none. */
function readStaged(condition: unknown): Pick<ClaimStatus, "staged"> {
  const staged = v.safeParse(stagedCondition, condition);
  return staged.success ? { staged: staged.output.message } : {};
}

/**
 * The condition `Staged` for a status; empty where none has to be written. One that is stored and no longer true is written as such:
 * Mooring then owns it, also where another client wrote it before, and the next write removes it.
 */
export function writeStaged(
  { staged, sinceMs }: ClaimStatus,
  stored: ClaimStatus | undefined,
): readonly Readonly<Record<string, string>>[] {
  const lastTransitionTime = formatSecondsUp(sinceMs);
  const common = { type: STAGED_TYPE, lastTransitionTime };
  if (staged !== undefined) return [{ ...common, status: "True", reason: "Staged", message: staged }];
  if (stored?.staged === undefined) return [];
  return [{ ...common, status: "False", reason: "NotStaged", message: "No node has the volume staged" }];
}

function readMountedOn(uid: string, text: string | undefined): MountedOn | undefined {
  const result = v.safeParse(mountedOn, parseJson(text));
  if (!result.success || result.output.claimUID !== uid) return undefined;
  // V8 reserves space for sixteen more entries in a list that grew; a copy has none to spare, and every claim in use has one.
  return { nodes: result.output.nodes.slice(), more: result.output.more };
}

/** The last use in an annotation of the claim with that UID; undefined where it is another claim's, or invalid. */
export function readLastUse(uid: string, text: string | undefined): LastUse | undefined {
  const result = v.safeParse(lastUse, parseJson(text));
  const byMs = result.success ? parseTimestamp(result.output.releasedAt) : undefined;
  if (!result.success || result.output.claimUID !== uid || byMs === undefined) return undefined;
  const { release, node, pod, podUID, uncertaintyMs, evidence } = result.output;
  return {
    id: release,
    node,
    pod,
    podUid: podUID,
    byMs,
    widthMs: uncertaintyMs ?? undefined,
    evidence,
  };
}

/** Sets the property only where there is a value: nearly all claims have none. */
export function readGap(uid: string, text: string | undefined): Pick<ClaimStatus, "gap"> {
  if (text?.includes('"blindGap"') !== true) return {};
  const result = v.safeParse(storedGap, parseJson(text));
  if (!result.success || result.output.claimUID !== uid) return {};
  const { from, to } = result.output.blindGap;
  return { gap: { fromMs: from, toMs: to } };
}

/** More than the longest annotation that Mooring writes, with 32 nodes. Characters. */
const LONGEST_ANNOTATION = 16_384;

/** Parses an annotation; undefined where it is longer than what Mooring writes, or no JSON. */
export function parseJson(text: string | undefined): unknown {
  if (text === undefined || text.length > LONGEST_ANNOTATION) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Mooring's condition and annotations for a status, as they are written. Times are rounded up. */
export function writeClaimStatus(
  uid: string,
  status: ClaimStatus,
): { readonly condition: Readonly<Record<string, string>>; readonly annotations: Readonly<Record<string, string>> } {
  const since = formatSecondsUp(status.sinceMs);
  return {
    condition: {
      type: CONDITION_TYPE,
      status: status.unused ? "True" : "False",
      reason: status.reason,
      message: status.message,
      lastTransitionTime: since,
    },
    annotations: {
      ...(hasUnusedSince(status) ? { [UNUSED_SINCE]: since } : {}),
      ...(status.mountedOn === undefined ? {} : { [MOUNTED_ON]: mountedOnText(uid, status.mountedOn) }),
      ...(hasLastUse(status) ? { [LAST_USE]: lastUseText(uid, status) } : {}),
    },
  };
}

/** True for a status that has the annotation `last-use`. */
export function hasLastUse({ lastUse, gap }: Pick<ClaimStatus, "lastUse" | "gap">): boolean {
  return lastUse !== undefined || gap !== undefined;
}

/** True for a status that has the annotation `unused-since`. */
export function hasUnusedSince({ unused, reason }: ClaimStatus): boolean {
  return unused && reason !== "NeverObservedInUse";
}

function mountedOnText(uid: string, { nodes, more }: MountedOn): string {
  return JSON.stringify({ claimUID: uid, nodes, ...(more ? { more } : {}) });
}

/** The annotation `last-use` of the claim with that UID. */
export function lastUseText(uid: string, { lastUse: use, gap }: Pick<ClaimStatus, "lastUse" | "gap">): string {
  return JSON.stringify({
    claimUID: uid,
    ...(use && {
      release: use.id,
      // JSON leaves out what is undefined.
      node: use.node,
      pod: use.pod,
      podUID: use.podUid,
      releasedAt: formatMillisecondsUp(use.byMs),
      uncertaintyMs: use.widthMs === undefined ? null : wholeUncertaintyMs(use.byMs, use.widthMs),
      evidence: use.evidence,
    }),
    ...(gap && {
      blindGap: { from: formatMillisecondsUp(Math.floor(gap.fromMs)), to: formatMillisecondsUp(gap.toMs) },
    }),
  });
}
