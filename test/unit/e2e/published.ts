import type { ClaimState, ClaimStatuses, PublishedCondition } from "../../e2e/scenarios/claim-states.ts";
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

function published(fields: Partial<Published>): Published {
  const usual = { claimUid: "uid", message: "", lastUse: undefined, mountedOn: [], staged: undefined };
  const others = { hasMore: false, unusedSince: undefined, gap: undefined };
  const isInUse = fields.isUnused !== true;
  return { ...usual, ...others, isUnused: false, isInUse, reason: "Mounted", sinceMs: 3_000, ...fields };
}

export const idle = published({ isUnused: true, reason: "NeverObservedInUse", sinceMs: 1_000 });
export const inUse = published({});

export function unused(sinceMs: number, fields: Partial<Published> = {}): Published {
  return published({ isUnused: true, reason: "Unmounted", sinceMs, lastUse: publishedEnd(), ...fields });
}

/** Mooring's statuses, and when each was first observed. */
export function mooring(...all: readonly (readonly [seenMs: number, status: Published])[]): ClaimState[] {
  return all.map(([seenMs, one]) => ({ seenMs, statuses: statusesOf({ mooring: one }) }));
}

/** Kubernetes' conditions, and when each was first observed. */
export function kubernetes(
  ...all: readonly (readonly [seenMs: number, condition: PublishedCondition])[]
): ClaimState[] {
  return all.map(([seenMs, one]) => ({ seenMs, statuses: statusesOf({ kubernetes: one, mooring: unused(11_000) }) }));
}

export function statusesOf(some: Partial<ClaimStatuses>): ClaimStatuses {
  return { mooring: undefined, kubernetes: undefined, madeMs: 1_000, ...some };
}

export function gone(seenMs: number): ClaimState {
  return { seenMs, statuses: "gone" };
}
