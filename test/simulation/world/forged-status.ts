import type { ApiObject, Json, JsonObject } from "../engine/api/objects.ts";
import { secondsText } from "./time.ts";

/** Conditions that another client writes into the status of a claim; `none` removes the condition. */
export const FORGED_CONDITIONS = [
  "unused",
  "mounted",
  "referenced",
  "reason-of-the-other",
  "unknown-reason",
  "unknown-status",
  "without-time",
  "none",
  "staged",
  "not-staged",
  "other-type",
] as const;

/** Annotations that another client writes into a claim; `none` removes them. */
export const FORGED_ANNOTATIONS = [
  "unused-since",
  "mounted-on",
  "mounted-on-more",
  "last-use",
  "forged-gap",
  "of-another-claim",
  "garbage",
  "long",
  "none",
] as const;

export type ForgedPart =
  | { readonly condition: (typeof FORGED_CONDITIONS)[number] }
  | { readonly annotation: (typeof FORGED_ANNOTATIONS)[number] };

/** The values of a forged status. */
export interface Forging {
  readonly part: ForgedPart;
  /** The time that it states, by the API server's clock. */
  readonly atMs: number;
  /** An existing node. */
  readonly node: string;
}

const UNUSED = "mooring.dev/Unused";
const STAGED = "mooring.dev/Staged";
const OURS = ["mooring.dev/unused-since", "mooring.dev/mounted-on", "mooring.dev/last-use"] as const;
const NOBODY = "somebody-who-never-was";

/** The claim with the forged status. */
export function withForged(claim: ApiObject, forging: Forging): ApiObject {
  const { part } = forging;
  return "condition" in part
    ? withCondition(claim, part.condition, secondsText(forging.atMs))
    : withAnnotations(claim, annotationsOf(claim.metadata.uid, part.annotation, forging));
}

type Fields = Readonly<Record<string, string>>;

const CONDITIONS: Readonly<Record<(typeof FORGED_CONDITIONS)[number], Fields>> = {
  unused: { type: UNUSED, status: "True", reason: "Unmounted" },
  mounted: { type: UNUSED, status: "False", reason: "Mounted" },
  referenced: { type: UNUSED, status: "False", reason: "Referenced" },
  "reason-of-the-other": { type: UNUSED, status: "False", reason: "Unmounted" },
  "unknown-reason": { type: UNUSED, status: "True", reason: "Tidied" },
  "unknown-status": { type: UNUSED, status: "Maybe", reason: "Unmounted" },
  "without-time": { type: UNUSED, status: "True", reason: "Unmounted" },
  none: { type: UNUSED },
  staged: { type: STAGED, status: "True", reason: "Staged" },
  "not-staged": { type: STAGED },
  "other-type": { type: "mooring.dev/Idle", status: "True", reason: "Unmounted" },
};

/** Without a status the condition is removed. */
function withCondition(claim: ApiObject, which: (typeof FORGED_CONDITIONS)[number], time: string): ApiObject {
  const fields = CONDITIONS[which];
  const status = isObject(claim.status) ? claim.status : {};
  const all = Array.isArray(status.conditions) ? status.conditions : [];
  const others = all.filter((one) => !isObject(one) || one.type !== fields.type);
  const times = which === "without-time" ? {} : { lastTransitionTime: time };
  const own = fields.status === undefined ? [] : [{ ...fields, message: "Tidied up", ...times }];
  return { ...claim, status: { ...status, conditions: [...others, ...own] } };
}

/** An annotation without a value is removed. */
function annotationsOf(uid: string, which: (typeof FORGED_ANNOTATIONS)[number], { atMs, node }: Forging): JsonObject {
  const [since, mountedOn, lastUse] = OURS;
  const time = secondsText(atMs);
  const use = (claimUID: string, pod: string): string => {
    const named = { claimUID, release: `${node}/${pod}/${time}`, node, pod: `shop/${pod}`, podUID: pod };
    return JSON.stringify({ ...named, releasedAt: time, uncertaintyMs: 1, evidence: "mount-table" });
  };
  const nodes = (claimUID: string, more: boolean): string =>
    JSON.stringify({ claimUID, nodes: [node, NOBODY], ...(more && { more }) });
  const gap = { claimUID: uid, blindGap: { from: "1970-01-01T00:00:00Z", to: time } };
  const all = (text: string): JsonObject => Object.fromEntries(OURS.map((name) => [name, text]));
  const forged: Readonly<Record<typeof which, JsonObject>> = {
    "unused-since": { [since]: time },
    "mounted-on": { [mountedOn]: nodes(uid, false) },
    "mounted-on-more": { [mountedOn]: nodes(uid, true) },
    "last-use": { [lastUse]: use(uid, NOBODY) },
    "forged-gap": { [lastUse]: JSON.stringify(gap) },
    "of-another-claim": { [since]: time, [mountedOn]: nodes("another", false), [lastUse]: use("another", NOBODY) },
    garbage: all(`{"claimUID":"${uid}"`),
    long: { [lastUse]: use(uid, "x".repeat(20_000)), [mountedOn]: nodes(`${uid}${" ".repeat(20_000)}`, false) },
    none: Object.fromEntries(OURS.map((name) => [name, undefined])),
  };
  return forged[which];
}

function withAnnotations(claim: ApiObject, changed: JsonObject): ApiObject {
  const annotations = Object.entries({ ...claim.metadata.annotations, ...changed }).filter(
    ([, text]) => text !== undefined,
  );
  return { ...claim, metadata: { ...claim.metadata, annotations: Object.fromEntries(annotations) } };
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
