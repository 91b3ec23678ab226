import type { Stage } from "./stage.ts";

/** Between `afterMs` and `byMs`. Wall clock, milliseconds. */
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
  /** From here on it used the claim without a pause, as far as is known. */
  readonly beganMs: number;
  /** False where no mount table shows the use: the volume is mounted nowhere, or the pod only named the claim. */
  readonly isShown: boolean;
}

/** The end of the true last use of a claim. */
export interface Truth extends Moment {
  /** The claim in question, where it is not the one of `play`. */
  readonly claim?: string;
  /** When an outage of something that Mooring needs was over. From then on Mooring has its usual time. */
  readonly outageUntilMs?: number;
  /** How long a setting makes Mooring wait, in addition to its usual time. */
  readonly waitsMs?: number;
  /** A busy machine made the use longer: a scan may have shown a mount that was to be too short for any scan. */
  readonly isDrawnOut?: boolean;
  readonly users: readonly UserEnd[];
}

/** The last status that Mooring has to publish; `gone` where the claim is deleted with its use. */
export type Expected =
  | {
      /** Why it is unused. */
      readonly reason: "Unmounted" | "NoPodUsing" | "NodeGone" | "NeverObservedInUse";
      /** Evidence of the last use; `none` where none has to be published, `any` where its pod may have gone unobserved. */
      readonly evidence: "mount-table" | "pod-status" | "node-gone" | "none" | "any";
      /** Whether a scan must have shown the mount, or cannot have; undefined where both are possible. */
      readonly isScanned?: boolean | undefined;
    }
  | "gone";

/** The usual status: the last mount ended, and scans had shown it. */
export const UNMOUNTED = { reason: "Unmounted", evidence: "mount-table", isScanned: true } as const;
/** The same for a mount that no scan showed, or only one of an earlier boot. */
export const UNMOUNTED_UNSCANNED = { ...UNMOUNTED, isScanned: false } as const;

/** A story of a claim, and the status that is expected at its end. */
export interface Scenario {
  /** A sentence. */
  readonly name: string;
  readonly expected: Expected;
  /**
   * Makes the claim, whose name ends with `-data`, and all that uses it; returns when the last use is over. The answer comes from an
   * oracle that shares nothing with Mooring; undefined where the claim was never used.
   */
  readonly play: (stage: Stage, claim: string) => Promise<Truth | undefined>;
}
