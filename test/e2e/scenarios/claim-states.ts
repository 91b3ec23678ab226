import * as v from "valibot";
import { parseTimestamp } from "../../../common/storage/timestamp.ts";
import { type Published, publishedIn } from "../../judge/published.ts";

/** A published condition. */
export interface PublishedCondition {
  readonly status: string;
  readonly reason: string;
  /** `lastTransitionTime`, milliseconds since the epoch. */
  readonly sinceMs: number;
}

/** The author of a condition that says since when a claim is unused. */
export type Author = "mooring" | "kubernetes";

/** What both authors have published of a claim. */
export interface ClaimStatuses {
  readonly mooring: Published | undefined;
  readonly kubernetes: PublishedCondition | undefined;
  /** `creationTimestamp`, milliseconds since the epoch: the API server stores whole seconds. */
  readonly madeMs: number;
}

/** A state of a claim. */
export interface ClaimState {
  /** When it was first observed: it was published by then. Wall clock, milliseconds. */
  readonly seenMs: number;
  readonly statuses: ClaimStatuses | "gone";
}

const text = v.string();
const condition = v.record(text, v.nullable(v.union([text, v.number()])));
const claim = v.object({
  metadata: v.object({ uid: text, creationTimestamp: text, annotations: v.optional(v.record(text, text)) }),
  status: v.optional(v.object({ conditions: v.optional(v.array(condition), []) }), { conditions: [] }),
});
const own = v.object({ status: text, reason: v.optional(text, ""), lastTransitionTime: text });

/** Reads both conditions from a claim's JSON. Throws where the JSON is no claim. */
export function readStatuses(object: unknown): ClaimStatuses {
  const { metadata, status } = v.parse(claim, object);
  const [kubernetes, mooring] = ["Unused", "mooring.dev/Unused"].map((one) =>
    status.conditions.find(({ type }) => type === one),
  );
  // No other client writes it on real nodes.
  if (mooring !== undefined) readCondition(v.parse(own, mooring));
  return {
    mooring: publishedIn({ metadata, status }),
    kubernetes: kubernetes && readCondition(v.parse(own, kubernetes)),
    madeMs: timeIn(metadata.creationTimestamp),
  };
}

function readCondition({ status, reason, lastTransitionTime }: v.InferOutput<typeof own>): PublishedCondition {
  return { status, reason, sinceMs: timeIn(lastTransitionTime) };
}

function timeIn(time: string): number {
  const ms = parseTimestamp(time);
  if (ms === undefined) throw new TypeError(`no time: ${time}`);
  return ms;
}

/** An author's conditions, in order, and when each was first observed. */
export function conditionsBy(
  author: Author,
  states: readonly ClaimState[],
): readonly (PublishedCondition & { readonly seenMs: number })[] {
  const all = states.flatMap(({ seenMs, statuses }) => {
    const condition = statuses === "gone" ? undefined : conditionBy(author, statuses);
    return condition === undefined ? [] : [{ ...condition, seenMs }];
  });
  return all.filter((one, index) => index === 0 || !isSame(one, all[index - 1]));
}

function conditionBy(author: Author, { mooring, kubernetes }: ClaimStatuses): PublishedCondition | undefined {
  if (author === "kubernetes") return kubernetes;
  return mooring && { status: mooring.isUnused ? "True" : "False", reason: mooring.reason, sinceMs: mooring.sinceMs };
}

function isSame(one: PublishedCondition, other: PublishedCondition | undefined): boolean {
  return one.status === other?.status && one.reason === other.reason && one.sinceMs === other.sinceMs;
}
