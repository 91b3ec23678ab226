/** JSON as an object. */
type Json = null | boolean | number | string | readonly Json[] | JsonObject;

interface JsonObject {
  readonly [key: string]: Json | undefined;
}

/** A claim, or as much of one as is written. */
export interface Stated {
  readonly metadata: { readonly uid: string; readonly annotations?: JsonObject | undefined };
  readonly status?: Json | undefined;
}

/** What stands in a claim's status, as anybody reads it. Milliseconds since the epoch. */
export interface Published {
  readonly claimUid: string;
  readonly isUnused: boolean;
  /** It says that it is in use; what somebody else makes of the condition may say neither. */
  readonly isInUse: boolean;
  readonly reason: string;
  readonly message: string;
  readonly sinceMs: number;
  readonly lastUse: PublishedUse | undefined;
  readonly mountedOn: readonly string[];
  /** There were more of these. */
  readonly hasMore: boolean;
  /** The annotation that repeats the time; whatever text stands there. */
  readonly unusedSince: string | undefined;
  /** In which time it went unobserved, as JSON; also where no last use is known. */
  readonly blindGap: string | undefined;
  /** What the condition beside it says of where the volume is staged; nothing while it is not true. */
  readonly staged: string | undefined;
}

export interface PublishedUse {
  readonly release: string;
  readonly node: string | undefined;
  /** `namespace/name` */
  readonly pod: string | undefined;
  readonly podUid: string | undefined;
  readonly releasedAtMs: number;
  /** Nothing when it is not known. */
  readonly uncertaintyMs: number | undefined;
  readonly evidence: string;
  readonly hasBlindGap: boolean;
}

/** Reads the condition by its name in README; nothing while there is none, or one that tells no time. Others may have written there, too. */
export function publishedIn(claim: Stated): Published | undefined {
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
    blindGap: JSON.stringify(last.blindGap),
    mountedOn: mounted.claimUID === uid && Array.isArray(mounted.nodes) ? mounted.nodes.map(String) : [],
  };
}

const LAST_USE = "mooring.dev/last-use";

/** Who used it last by the annotation, whatever stands in the condition. */
export function lastUseOf({ metadata: { uid, annotations = {} } }: Stated): PublishedUse | undefined {
  return lastUseIn(uid, objectIn(jsonIn(annotations[LAST_USE])));
}

/** The message of the condition by which a claim is kept that is only staged; nothing where it is not true. */
export function stagedIn(claim: Stated): string | undefined {
  const condition = conditionIn(claim, "mooring.dev/Staged");
  return condition?.status === "True" ? (textIn(condition.message) ?? "") : undefined;
}

function conditionIn({ status }: Stated, wanted: string): JsonObject | undefined {
  const { conditions } = objectIn(status);
  return Array.isArray(conditions) ? conditions.map(objectIn).find(({ type }) => type === wanted) : undefined;
}

function lastUseIn(claimUid: string, use: JsonObject): PublishedUse | undefined {
  const releasedAtMs = instantIn(textIn(use.releasedAt));
  if (use.claimUID !== claimUid || releasedAtMs === undefined) return undefined;
  return {
    release: textIn(use.release) ?? "",
    node: textIn(use.node),
    pod: textIn(use.pod),
    podUid: textIn(use.podUID),
    releasedAtMs,
    uncertaintyMs: typeof use.uncertaintyMs === "number" ? use.uncertaintyMs : undefined,
    evidence: textIn(use.evidence) ?? "",
    hasBlindGap: use.blindGap !== undefined,
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
