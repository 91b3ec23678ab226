/** JSON as an object. */
type Json = null | boolean | number | string | readonly Json[] | JsonObject;

interface JsonObject {
  readonly [key: string]: Json | undefined;
}

/** A claim, or the part of it that a write contains. */
export interface ClaimObject {
  readonly metadata: { readonly uid: string; readonly annotations?: JsonObject | undefined };
  readonly status?: Json | undefined;
}

/** A claim's status as any client reads it. Times are milliseconds since the epoch. */
export interface Published {
  readonly claimUid: string;
  readonly isUnused: boolean;
  /** The condition's status is `False`. After another client's write it may be neither `True` nor `False`. */
  readonly isInUse: boolean;
  readonly reason: string;
  readonly message: string;
  readonly sinceMs: number;
  readonly lastUse: PublishedUse | undefined;
  readonly mountedOn: readonly string[];
  /** More nodes have it mounted than `mountedOn` lists. */
  readonly hasMore: boolean;
  /** The annotation that repeats the time, as it is stored. */
  readonly unusedSince: string | undefined;
  /** Unobserved time, as JSON; also present where no last use is known. */
  readonly gap: string | undefined;
  /** The message of the condition `Staged`: where the volume is staged. Undefined unless that condition is `True`. */
  readonly staged: string | undefined;
}

export interface PublishedUse {
  /** ID of the unmount record. */
  readonly unmountRecord: string;
  readonly node: string | undefined;
  /** `namespace/name` */
  readonly pod: string | undefined;
  readonly podUid: string | undefined;
  /** When the use had ended at the latest. */
  readonly endedByMs: number;
  /** Undefined where the status says that it is not known. */
  readonly uncertaintyMs: number | undefined;
  readonly evidence: string;
  readonly hasGap: boolean;
}

/** Reads Mooring's condition and annotations, which other clients may have written. Undefined without a condition that has a time. */
export function publishedIn(claim: ClaimObject): Published | undefined {
  const condition = conditionIn(claim, "mooring.dev/Unused");
  if (condition === undefined) return undefined;
  const { uid, annotations = {} } = claim.metadata;
  const sinceMs = instantIn(textIn(condition.lastTransitionTime));
  if (sinceMs === undefined) return undefined;
  const mounted = objectIn(jsonIn(annotations["mooring.dev/mounted-on"]));
  const last = objectIn(jsonIn(annotations[LAST_USE]));
  return {
    claimUid: uid,
    isUnused: condition.status === "True",
    isInUse: condition.status === "False",
    reason: textIn(condition.reason) ?? "",
    message: textIn(condition.message) ?? "",
    sinceMs,
    lastUse: lastUseOf(claim),
    staged: stagedIn(claim),
    hasMore: mounted.claimUID === uid && mounted.more === true,
    unusedSince: textIn(annotations["mooring.dev/unused-since"]),
    gap: JSON.stringify(last.blindGap),
    mountedOn: mounted.claimUID === uid && Array.isArray(mounted.nodes) ? mounted.nodes.map(String) : [],
  };
}

const LAST_USE = "mooring.dev/last-use";

/** The last use by the annotation, whatever the condition says. */
export function lastUseOf({ metadata: { uid, annotations = {} } }: ClaimObject): PublishedUse | undefined {
  return lastUseIn(uid, objectIn(jsonIn(annotations[LAST_USE])));
}

/** The message of the condition `Staged`; undefined unless its status is `True`. */
export function stagedIn(claim: ClaimObject): string | undefined {
  const condition = conditionIn(claim, "mooring.dev/Staged");
  return condition?.status === "True" ? (textIn(condition.message) ?? "") : undefined;
}

function conditionIn({ status }: ClaimObject, wanted: string): JsonObject | undefined {
  const { conditions } = objectIn(status);
  return Array.isArray(conditions) ? conditions.map(objectIn).find(({ type }) => type === wanted) : undefined;
}

function lastUseIn(claimUid: string, use: JsonObject): PublishedUse | undefined {
  const endedByMs = instantIn(textIn(use.releasedAt));
  if (use.claimUID !== claimUid || endedByMs === undefined) return undefined;
  return {
    unmountRecord: textIn(use.release) ?? "",
    node: textIn(use.node),
    pod: textIn(use.pod),
    podUid: textIn(use.podUID),
    endedByMs,
    uncertaintyMs: typeof use.uncertaintyMs === "number" ? use.uncertaintyMs : undefined,
    evidence: textIn(use.evidence) ?? "",
    hasGap: use.blindGap !== undefined,
  };
}

function textIn(value: Json | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function objectIn(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function jsonIn(value: Json | undefined): Json | undefined {
  if (typeof value !== "string") return undefined;
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}

/** RFC 3339 in UTC, as the API server stores times. */
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/;

function instantIn(text: string | undefined): number | undefined {
  const ms = text !== undefined && INSTANT.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
