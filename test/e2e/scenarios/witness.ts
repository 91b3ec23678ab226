import type { Case, Moment, Scene, Use } from "../../judge/record.ts";
import type { Starvation } from "../../rig/process/starvation.ts";
import type { ClaimState } from "./claim-states.ts";
import type { Expected, Truth, UserEnd } from "./scenario.ts";

/**
 * A published time may be this much later than the true end, rounding to whole seconds included, plus the time that the machine was too
 * busy. Milliseconds.
 */
export const BUDGET_MS = 1_500;

/** The input of the verdict. */
export interface Found {
  readonly expected: Expected;
  /** Undefined where the claim was never used. */
  readonly truth: Truth | undefined;
  readonly states: readonly ClaimState[];
  readonly starvation: Starvation;
}

/** Gives the judge the uses of a claim, by the records of the kernels, the drivers and the machine. */
export function caseOf(found: Found): Case {
  const users = found.truth?.users ?? [];
  return {
    name: "the claim",
    made: madeAt(found.states),
    uses: users.map((user) => useOf(user, found)),
    // A pod that only named it is among the users.
    namedBy: [],
    lookalikes: [],
    dispute: undefined,
  };
}

/** The status that the claim has to have once its time is `sinceMs`. */
export function sceneOf({ truth, states, starvation }: Found, { uses }: Case, sinceMs: number): Scene {
  const { outageUntilMs = 0, waitsMs = 0 } = truth ?? {};
  const end = truth ?? madeAt(states);
  // The machine may also be too busy while Mooring waits, which then ends later.
  const byMs = Math.max(end.byMs, outageUntilMs);
  return {
    ...{ mounts: [], references: [], stagedOn: [] },
    last: { afterMs: end.afterMs, byMs: byMs + waitsMs },
    mayBeLateMs: BUDGET_MS + starvation(byMs, sinceMs),
    // Where no scan had to show a mount, its pod may not be known.
    isLastNamed: uses.every(({ isScanned }) => isScanned === true),
  };
}

/** From when on a use that lasts until `atMs` has to be published. */
export function dueFromMs({ beganMs }: Pick<Use, "beganMs">, atMs: number, starvation: Starvation): number {
  return beganMs + BUDGET_MS + starvation(beganMs, atMs);
}

/** The API server stores whole seconds; the claim was observed soon after. */
function madeAt(states: readonly ClaimState[]): Moment {
  const [first] = states;
  if (first === undefined || first.statuses === "gone") return { afterMs: 0, byMs: 0 };
  return { afterMs: first.statuses.madeMs, byMs: first.seenMs };
}

function useOf(user: UserEnd, found: Found): Use {
  const { node, pod, podUid, isShown, beganMs, afterMs, byMs } = user;
  const ended = { afterMs, byMs };
  const isOpen = found.expected !== "gone" && found.expected.evidence === "any";
  return {
    ...{ node, pod, podUid, isShown, beganMs, ended, promisedEnd: ended, endedMs: afterMs },
    isScanned: isScanned(user, found),
    isKnown: false,
    ...{ excuse: undefined, unobserved: undefined },
    unnamed: isOpen ? "the scenario leaves the last user open" : undefined,
  };
}

function isScanned(user: UserEnd, { expected, truth, starvation }: Found): boolean | undefined {
  if (expected === "gone" || truth?.isDrawnOut === true || wasHidden(user, starvation)) return undefined;
  return expected.isScanned;
}

/** The machine was too busy for most of the use, and the rest is shorter than a scan may need. */
function wasHidden({ beganMs, byMs }: UserEnd, starvation: Starvation): boolean {
  const starvedMs = starvation(beganMs, byMs);
  const leftMs = byMs - beganMs - starvedMs;
  return leftMs < starvedMs && leftMs < BUDGET_MS;
}
