import type { ClaimState, ClaimWords, PublishedCondition } from "../../e2e/scenarios/claim-states.ts";
import type { Truth, UserEnd } from "../../e2e/scenarios/scenario.ts";
import type { Published, PublishedUse } from "../../judge/published.ts";

/** Statuses of a claim that was created at the first second of the epoch, and used by `WEB`. All times are milliseconds since the epoch. */

const ENDED = { afterMs: 10_000, byMs: 10_010 };
export const WEB: UserEnd = {
  ...ENDED,
  ...{ node: "node-1", pod: "default/web", podUid: "uid-1", beganMs: 3_000, isShown: true },
};
export const TRUTH: Truth = { ...ENDED, users: [WEB] };

/** An end of the use by `WEB` from 9.900 to 10.100 s. */
export function publishedEnd(use: Partial<PublishedUse> = {}): PublishedUse {
  const { node, pod, podUid } = WEB;
  const end = { endedByMs: 10_100, uncertaintyMs: 200, evidence: "mount-table", hasGap: false };
  return { unmountRecord: "r1", node, pod, podUid, ...end, ...use };
}

function published(words: Partial<Published>): Published {
  const usual = { claimUid: "uid", message: "", lastUse: undefined, mountedOn: [], staged: undefined };
  const others = { hasMore: false, unusedSince: undefined, gap: undefined };
  const isInUse = words.isUnused !== true;
  return { ...usual, ...others, isUnused: false, isInUse, reason: "Mounted", sinceMs: 3_000, ...words };
}

export const idle = published({ isUnused: true, reason: "NeverObservedInUse", sinceMs: 1_000 });
export const inUse = published({});

export function unused(sinceMs: number, words: Partial<Published> = {}): Published {
  return published({ isUnused: true, reason: "Unmounted", sinceMs, lastUse: publishedEnd(), ...words });
}

/** Mooring's statuses, and when each was first observed. */
export function mooring(...said: readonly (readonly [seenMs: number, words: Published])[]): ClaimState[] {
  return said.map(([seenMs, one]) => ({ seenMs, words: wordsOf({ mooring: one }) }));
}

/** Kubernetes' conditions, and when each was first observed. */
export function kubernetes(...said: readonly (readonly [seenMs: number, words: PublishedCondition])[]): ClaimState[] {
  return said.map(([seenMs, one]) => ({ seenMs, words: wordsOf({ kubernetes: one, mooring: unused(11_000) }) }));
}

export function wordsOf(words: Partial<ClaimWords>): ClaimWords {
  return { mooring: undefined, kubernetes: undefined, madeMs: 1_000, ...words };
}

export function gone(seenMs: number): ClaimState {
  return { seenMs, words: "gone" };
}
