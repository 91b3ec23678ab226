import * as v from "valibot";
import { parseTimestamp } from "../../../common/storage/timestamp.ts";
import { type Published, publishedIn } from "../../judge/published.ts";

/** A condition as it was published. */
export interface PublishedCondition {
  readonly status: string;
  readonly reason: string;
  /** `lastTransitionTime`, milliseconds since the epoch. */
  readonly sinceMs: number;
}

/** Who says since when a claim is unused. */
export type Author = "mooring" | "kubernetes";

/** What both said of a claim, from a moment on. */
export interface ClaimWords {
  readonly mooring: Published | undefined;
  readonly kubernetes: PublishedCondition | undefined;
  /** `creationTimestamp`, milliseconds since the epoch: the API server tells whole seconds. */
  readonly madeMs: number;
}

/** The words of a claim when they were seen first; nothing once it is gone. */
export interface ClaimState {
  /** Wall clock, milliseconds: it was published by then. */
  readonly seenMs: number;
  readonly words: ClaimWords | "gone";
}

const text = v.string();
const condition = v.record(text, v.nullable(v.union([text, v.number()])));
const claim = v.object({
  metadata: v.object({ uid: text, creationTimestamp: text, annotations: v.optional(v.record(text, text)) }),
  status: v.optional(v.object({ conditions: v.optional(v.array(condition), []) }), { conditions: [] }),
});
const own = v.object({ status: text, reason: v.optional(text, ""), lastTransitionTime: text });

/** Reads both conditions off a claim's JSON. Throws for what is no claim. */
export function readWords(object: unknown): ClaimWords {
  const { metadata, status } = v.parse(claim, object);
  const [kubernetes, mooring] = ["Unused", "mooring.dev/Unused"].map((one) =>
    status.conditions.find(({ type }) => type === one),
  );
  // Nobody but Mooring writes it on real nodes.
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

/** What an author said of a claim, one after the other, each when it was seen first. */
export function saidBy(
  author: Author,
  states: readonly ClaimState[],
): readonly (PublishedCondition & { readonly seenMs: number })[] {
  const said = states.flatMap(({ seenMs, words }) => {
    const said = words === "gone" ? undefined : conditionBy(author, words);
    return said === undefined ? [] : [{ ...said, seenMs }];
  });
  return said.filter((one, index) => index === 0 || !isSame(one, said[index - 1]));
}

function conditionBy(author: Author, { mooring, kubernetes }: ClaimWords): PublishedCondition | undefined {
  if (author === "kubernetes") return kubernetes;
  return mooring && { status: mooring.isUnused ? "True" : "False", reason: mooring.reason, sinceMs: mooring.sinceMs };
}

function isSame(one: PublishedCondition, other: PublishedCondition | undefined): boolean {
  return one.status === other?.status && one.reason === other.reason && one.sinceMs === other.sinceMs;
}
