import { Docket } from "../../judge/docket.ts";
import type { Published, PublishedUse } from "../../judge/published.ts";
import type { Case, Moment, Use } from "../../judge/record.ts";

/** Known to the millisecond. */
export function at(ms: number): Moment {
  return { afterMs: ms, byMs: ms };
}

/** A use from 10 s to 20 s that, by default, every process could observe. */
export function useOf(use: Partial<Use> & { readonly endMs?: number | undefined } = {}): Use {
  const { endMs = 20_000, ...others } = use;
  const usual = { node: "n1", pod: "shop/web", podUid: "web", isShown: true, isKnown: true, isScanned: undefined };
  const end = { endedMs: endMs, ended: at(endMs), promisedEnd: at(endMs) };
  return { ...usual, ...end, beganMs: 10_000, excuse: undefined, unobserved: undefined, unnamed: undefined, ...others };
}

/** The same, and it lasts. */
export function ongoing(use: Partial<Use> = {}): Use {
  return useOf({ endedMs: undefined, ended: undefined, promisedEnd: undefined, ...use });
}

/** A claim that was created at 1 s. */
export function caseOf(found: Partial<Case> = {}): Case {
  const usual = { name: "data", made: at(1_000), namedBy: [], lookalikes: [], dispute: undefined };
  return { ...usual, uses: [useOf()], ...found };
}

/** `True` since 21 s, by a use that ended at 20.5 s at the latest. */
export function unused(said: Partial<Published> = {}): Published {
  const usual = { claimUid: "uid", isUnused: true, isInUse: false, reason: "Unmounted", message: "", sinceMs: 21_000 };
  return {
    ...usual,
    lastUse: lastUse(),
    mountedOn: [],
    ...{ hasMore: false, unusedSince: undefined, gap: undefined, staged: undefined },
    ...said,
  };
}

export function inUse(said: Partial<Published> = {}): Published {
  return unused({ isUnused: false, isInUse: true, reason: "Mounted", sinceMs: 11_000, lastUse: undefined, ...said });
}

export function lastUse(use: Partial<PublishedUse> = {}): PublishedUse {
  const user = { node: "n1", pod: "shop/web", podUid: "web" };
  const end = { endedByMs: 20_500, uncertaintyMs: 600, evidence: "mount-table" };
  return { unmountRecord: "r1", ...user, ...end, hasGap: false, ...use };
}

/** The broken promises and the excuses. */
export function judged(judge: (docket: Docket) => void): readonly string[] {
  const docket = new Docket();
  judge(docket);
  const excuses = Object.values(docket.chances).flatMap(({ excused }) => Object.keys(excused));
  return [...docket.broken.map(({ promise }) => promise), ...excuses.map((why) => `excused: ${why}`)];
}
