import type { Case, Moment, Scene, Use } from "../../judge/record.ts";
import type { Starvation } from "../../rig/process/starvation.ts";
import type { ClaimState } from "./claim-states.ts";
import type { Expected, Truth, UserEnd } from "./scenario.ts";

/**
 * How much later than the true end a published time may be, milliseconds; whole seconds, rounded up, are part of it. What the machine made
 * everybody wait meanwhile comes on top.
 */
export const BUDGET_MS = 1_500;

/** What there is to judge. */
export interface Found {
  readonly expected: Expected;
  /** Nothing where the claim was never used. */
  readonly truth: Truth | undefined;
  readonly states: readonly ClaimState[];
  readonly starvation: Starvation;
}

/** Tells the judge who used a claim: by the records of the kernels, the drivers and the machine. */
export function caseOf(found: Found): Case {
  const users = found.truth?.users ?? [];
  return {
    name: "the claim",
    made: madeAt(found.states),
    uses: users.map((user) => useOf(user, found)),
    // Who only named it is among the users.
    namedBy: [],
    lookalikes: [],
    dispute: undefined,
  };
}

/** What is to stand there once what is expected is said, at a time. */
export function sceneOf({ truth, states, starvation }: Found, { uses }: Case, sinceMs: number): Scene {
  const { outageUntilMs = 0, waitsMs = 0 } = truth ?? {};
  const end = truth ?? madeAt(states);
  // The machine may also take its time while Mooring waits: what the wait is for comes later then.
  const byMs = Math.max(end.byMs, outageUntilMs);
  return {
    ...{ mounts: [], references: [], stagedOn: [] },
    last: { afterMs: end.afterMs, byMs: byMs + waitsMs },
    mayBeLateMs: BUDGET_MS + starvation(byMs, sinceMs),
    // Whose mount it was that no scan need have shown, may not be known.
    isLastNamed: uses.every(({ isScanned }) => isScanned === true),
  };
}

/** From here on a use has to be told that is there at a moment. */
export function toldFrom({ beganMs }: Pick<Use, "beganMs">, atMs: number, starvation: Starvation): number {
  return beganMs + BUDGET_MS + starvation(beganMs, atMs);
}

/** The API server tells the second; it was seen soon after. */
function madeAt(states: readonly ClaimState[]): Moment {
  const [first] = states;
  if (first === undefined || first.words === "gone") return { afterMs: 0, byMs: 0 };
  return { afterMs: first.words.madeMs, byMs: first.seenMs };
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
  return expected.isSeen;
}

/** The machine took most of the use away, and left less of it than a scan may need. */
function wasHidden({ beganMs, byMs }: UserEnd, starvation: Starvation): boolean {
  const starvedMs = starvation(beganMs, byMs);
  const leftMs = byMs - beganMs - starvedMs;
  return leftMs < starvedMs && leftMs < BUDGET_MS;
}
