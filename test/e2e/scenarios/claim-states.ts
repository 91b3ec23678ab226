import * as v from "valibot";
import { parseTimestamp } from "../../../common/storage/timestamp.ts";

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
export interface ClaimWords extends Readonly<Record<Author, PublishedCondition | undefined>> {
  /** Mooring's annotation on the last use as it is, for whoever looks for the cause of a fault. */
  readonly lastUse: string | undefined;
}

/** The words of a claim when they were seen first; nothing once it is gone. */
export interface ClaimState {
  /** Wall clock, milliseconds: it was published by then. */
  readonly seenMs: number;
  readonly words: ClaimWords | "gone";
}

const TYPES = { mooring: "mooring.dev/Unused", kubernetes: "Unused" } as const satisfies Record<Author, string>;

const condition = v.object({
  type: v.string(),
  status: v.string(),
  reason: v.optional(v.string(), ""),
  lastTransitionTime: v.string(),
});
const LAST_USE = "mooring.dev/last-use";
const claim = v.object({
  metadata: v.optional(v.object({ annotations: v.optional(v.record(v.string(), v.string()), {}) }), {
    annotations: {},
  }),
  status: v.optional(v.object({ conditions: v.optional(v.array(condition), []) }), { conditions: [] }),
});

/** Reads both conditions off a claim's JSON, by a reading of its own. Throws for what is no claim. */
export function readWords(object: unknown): ClaimWords {
  const { metadata, status } = v.parse(claim, object);
  const { conditions } = status;
  const published = (type: string): PublishedCondition | undefined => {
    const found = conditions.find((one) => one.type === type);
    if (found === undefined) return undefined;
    const sinceMs = parseTimestamp(found.lastTransitionTime);
    if (sinceMs === undefined) throw new TypeError(`no time: ${found.lastTransitionTime}`);
    return { status: found.status, reason: found.reason, sinceMs };
  };
  return {
    mooring: published(TYPES.mooring),
    kubernetes: published(TYPES.kubernetes),
    lastUse: metadata.annotations[LAST_USE],
  };
}

/** What an author said of a claim, one after the other, each when it was seen first. */
export function saidBy(
  author: Author,
  states: readonly ClaimState[],
): readonly (PublishedCondition & { readonly seenMs: number })[] {
  const said = states.flatMap(({ seenMs, words }) => {
    const condition = words === "gone" ? undefined : words[author];
    return condition === undefined ? [] : [{ ...condition, seenMs }];
  });
  return said.filter((one, index) => index === 0 || !isSame(one, said[index - 1]));
}

function isSame(one: PublishedCondition, other: PublishedCondition | undefined): boolean {
  return one.status === other?.status && one.reason === other.reason && one.sinceMs === other.sinceMs;
}
