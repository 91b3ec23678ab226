import type { Stage } from "./stage.ts";

/** Not before the one, not after the other. Wall clock, milliseconds. */
export interface Moment {
  readonly afterMs: number;
  readonly byMs: number;
}

/** A pod that used a claim, and when its own use ended. */
export interface UserEnd extends Moment {
  readonly node: string;
  /** `namespace/name` */
  readonly pod: string;
  readonly podUid: string;
  /** From here on it used it without a pause, as far as is known. */
  readonly beganMs: number;
  /** False where no mount table shows the use: the volume is mounted nowhere, or the pod only named the claim. */
  readonly isShown: boolean;
}

/** The end of the true last use of a claim. */
export interface Truth extends Moment {
  /** The claim that it is about, where that is not the one that the scenario was told to make. */
  readonly claim?: string;
  /** Where something stood still that Mooring needs: when it was back. From there on it has its usual time. */
  readonly outageUntilMs?: number;
  /** Where Mooring is told to wait before it looks: for how long, on top of its usual time. */
  readonly waitsMs?: number;
  /** The machine drew the use out: a scan may have shown a mount that none was to show. */
  readonly isDrawnOut?: boolean;
  readonly users: readonly UserEnd[];
}

/** What Mooring is to say in the end; `gone` where the claim is deleted with its use. */
export type Expected =
  | {
      /** Why it is unused. */
      readonly reason: "Unmounted" | "NoPodUsing" | "NodeGone" | "NeverObservedInUse";
      /** What the last use is known by; `none` where none is to be told of, `any` where whose it was may have been in sight of nobody. */
      readonly evidence: "mount-table" | "pod-status" | "node-gone" | "none" | "any";
      /** Whether a read must have shown the mount, or cannot have shown it; nothing where both may be. */
      readonly isSeen?: boolean | undefined;
    }
  | "gone";

/** What is to be said of most: the last mount ended, and reads had shown it. */
export const UNMOUNTED = { reason: "Unmounted", evidence: "mount-table", isSeen: true } as const;
/** The same of one that no scan showed, or only in a boot that is over. */
export const UNMOUNTED_UNSEEN = { ...UNMOUNTED, isSeen: false } as const;

/** A story of a claim, and what is to be known of it at its end. */
export interface Scenario {
  /** A sentence. */
  readonly name: string;
  readonly expected: Expected;
  /**
   * Makes the claim, whose name ends with `-data`, and all that uses it; returns when the last use is over. The answer comes from an
   * oracle that shares nothing with Mooring; nothing where the claim was never used.
   */
  readonly play: (stage: Stage, claim: string) => Promise<Truth | undefined>;
}
