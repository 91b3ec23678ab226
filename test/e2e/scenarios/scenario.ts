import type { Stage } from "./stage.ts";

/** The end of the true last use of a claim: not before the one, not after the other. Wall clock, milliseconds. */
export interface Truth {
  readonly afterMs: number;
  readonly byMs: number;
  /** Where something stood still that Mooring needs: when it was back. From there on it has its usual time. */
  readonly outageUntilMs?: number;
}

/** What Mooring is to say in the end; `gone` where the claim is deleted with its use. */
export type Expected =
  | {
      readonly status: "True" | "False";
      readonly reason: "Unmounted" | "NoPodUsing" | "NodeGone" | "NeverObservedInUse" | "Mounted" | "Referenced";
    }
  | "gone";

/** A story of a claim, and what is to be known of it at its end. */
export interface Scenario {
  /** A sentence. */
  readonly name: string;
  readonly expected: Expected;
  /** How long it may take, milliseconds; as any other test unless told. */
  readonly limitMs?: number;
  /**
   * Makes the claim, whose name ends with `-data`, and all that uses it; returns when the last use is over. The answer comes from an
   * oracle that shares nothing with Mooring; nothing where the claim was never used, or still is.
   */
  readonly play: (stage: Stage, claim: string) => Promise<Truth | undefined>;
}
