import * as v from "valibot";
import { parseTimestamp } from "../../../common/storage/timestamp.ts";
import type { Expected, Truth } from "./scenario.ts";

/** What Mooring's annotation tells of the last use. */
interface ToldUse {
  readonly node: string | undefined;
  readonly pod: string | undefined;
  readonly podUid: string | undefined;
  readonly releasedAtMs: number;
  /** By how much the true end may be earlier; nothing when the mount was not seen. */
  readonly uncertaintyMs: number | undefined;
  readonly evidence: string;
}

const use = v.object({
  node: v.optional(v.string()),
  pod: v.optional(v.string()),
  podUID: v.optional(v.string()),
  releasedAt: v.string(),
  uncertaintyMs: v.nullable(v.number()),
  evidence: v.string(),
});
/** Of a claim whose last use nobody saw, if there was one. */
const gap = v.object({ releasedAt: v.optional(v.undefined()), blindGap: v.object({}) });

/** What is wrong with what the annotation tells of the last use, each a sentence. Throws for one that cannot be read. */
export function useFaults(
  { evidence, isSeen }: Exclude<Expected, "gone">,
  truth: Truth | undefined,
  text: string | undefined,
): readonly string[] {
  const told = readToldUse(text);
  if (evidence === "none") return told === undefined ? [] : [`a last use is told of, by ${told.evidence}`];
  if (told === undefined) return evidence === "any" ? [] : ["no last use is told of"];
  const wasSeen = told.uncertaintyMs !== undefined;
  return [
    ...(evidence === "any" || told.evidence === evidence
      ? []
      : [`it is known by ${told.evidence}, not by ${evidence}`]),
    ...(isSeen === undefined || wasSeen === isSeen ? [] : [`its mount was ${wasSeen ? "" : "not "}seen`]),
    ...(truth === undefined ? [] : [...userFaults(told, truth.users, isSeen !== true), ...spanFaults(told, truth)]),
  ];
}

/** Who is named has to be right; only of a mount that no read need have shown something may be missing. */
function userFaults({ node, pod, podUid }: ToldUse, users: Truth["users"], mayBeMissing: boolean): readonly string[] {
  const fits = (told: string | undefined, real: string): boolean =>
    told === real || (told === undefined && mayBeMissing);
  const isRight = users.some((user) => fits(node, user.node) && fits(pod, user.pod) && fits(podUid, user.podUid));
  return isRight ? [] : [`it is said to be ${pod ?? "a pod"} on ${node ?? "a node"} that used it`];
}

/** The interval has to hold the true end of whoever is named, and to end no sooner than the last use. */
function spanFaults({ podUid, releasedAtMs, uncertaintyMs }: ToldUse, truth: Truth): readonly string[] {
  const { byMs } = truth.users.find((user) => user.podUid === podUid) ?? truth;
  const earlyMs = truth.afterMs - releasedAtMs;
  const longMs = uncertaintyMs === undefined ? 0 : releasedAtMs - uncertaintyMs - byMs;
  return [
    ...(earlyMs > 0 ? [`the last use is said to have ended ${seconds(earlyMs)} before the end`] : []),
    ...(longMs > 0 ? [`the last use is said to have lasted ${seconds(longMs)} longer than it did`] : []),
  ];
}

function readToldUse(text: string | undefined): ToldUse | undefined {
  if (text === undefined) return undefined;
  const told = v.parse(v.union([use, gap]), JSON.parse(text));
  if (told.releasedAt === undefined) return undefined;
  const { node, pod, podUID: podUid, releasedAt, uncertaintyMs, evidence } = told;
  const releasedAtMs = parseTimestamp(releasedAt);
  if (releasedAtMs === undefined) throw new TypeError(`no time: ${releasedAt}`);
  return { node, pod, podUid, releasedAtMs, uncertaintyMs: uncertaintyMs ?? undefined, evidence };
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(3)} s`;
}
