/**
 * The facts about a claim, by kernels, kubelets and the API server alone. Each world has an adapter that makes these values. Times are
 * milliseconds by the world's own clock; only a `Moment` is by the API servers' clocks, as published times are.
 */

/** Between `afterMs` and `byMs`: milliseconds since the epoch by the API servers' clocks. */
export interface Moment {
  readonly afterMs: number;
  readonly byMs: number;
}

/** A pod's use of a claim on a node, from the first of its mounts to the last. */
export interface Use {
  readonly node: string;
  /** `namespace/name` */
  readonly pod: string;
  readonly podUid: string;
  /** False where no mount table shows it. */
  readonly isShown: boolean;
  /** True where a scan had to show the mount, so that the status has to state an uncertainty; false where no scan can have shown it. */
  readonly isScanned: boolean | undefined;
  /** It had begun by then. */
  readonly beganMs: number;
  /** When its last mount ended; undefined while it has one. */
  readonly ended: Moment | undefined;
  /** The end that Mooring promises to know: `ended`, or the end of the pod in the API where no mount table shows the use. */
  readonly promisedEnd: Moment | undefined;
  /** The same by the world's own clock. */
  readonly endedMs: number | undefined;
  /** A leader had the time to write it: its watch showed the pod, or an agent reported the mount. */
  readonly isKnown: boolean;
  /** Why the status may ignore it until everything works again. */
  readonly excuse: string | undefined;
  /** Why no agent and no replica can have observed it. */
  readonly unobserved: string | undefined;
  /** Why the status may have its end without its pod, or not at all. */
  readonly unnamed: string | undefined;
}

/** Another client's write into a claim's status. */
export interface Forgery {
  /** By the world's own clock. */
  readonly atMs: number;
  /** The condition's time after the write. */
  readonly sinceMs: number | undefined;
  /** The unmount record of the last use after the write. */
  readonly unmountRecord: string | undefined;
  /** The nodes in `mounted-on` after the write. */
  readonly mountedOn?: readonly string[] | undefined;
}

/** A claim and all that used it. */
export interface Case {
  readonly name: string;
  readonly made: Moment;
  readonly uses: readonly Use[];
  /** UIDs of the pods that named it, whether they used it or not. */
  readonly namedBy: readonly string[];
  /**
   * UIDs of pods that Mooring may take for its users. They used an earlier claim of its name or volume; or they had an inline volume with
   * the name of its PersistentVolume and are gone, or are so new that no watch shows them.
   */
  readonly lookalikes: readonly string[];
  /** Nodes that ever had such a pod: an end that names no pod may be the end of its mount. */
  readonly lookalikesOn?: readonly string[] | undefined;
  /** Why it is open which mounts are this claim's, or when they ended. */
  readonly dispute: string | undefined;
  /** The status may lack uses that had ended by then: the last use was lost when etcd was restored. Milliseconds. */
  readonly forgetsUntilMs?: number | undefined;
  /** Writes of other clients into its status. */
  readonly forged?: readonly Forgery[] | undefined;
  /** The leader has not had the time to repair the last of them. */
  readonly isJustForged?: boolean | undefined;
}

/** The status that a claim has to have once everything has worked for long enough. */
export interface Scene {
  /** Mounts on nodes with an agent. */
  readonly mounts: readonly string[];
  /** Pods that name the claim and are not over. */
  readonly references: readonly string[];
  /** One of them lost its mount when its node was booted again. The claim may count as mounted until that pod is over or mounts again. */
  readonly isInterrupted?: boolean | undefined;
  /** Nodes with an agent on which the volume is staged; empty where Mooring does not report staging. */
  readonly stagedOn: readonly string[];
  /** The last end of a use or of a pod that named the claim, or else the claim's creation. */
  readonly last: Moment;
  /** How much later than `last` the time may be; undefined where faults allow any time. */
  readonly mayBeLateMs: number | undefined;
  /** Nodes without an agent: no report from them can end a mount. */
  readonly withoutAgent?: readonly string[] | undefined;
  /** The status has to name the last user. */
  readonly isLastNamed: boolean;
}

export function describeUse({ pod, node, beganMs, endedMs, promisedEnd }: Use): string {
  const until = endedMs === undefined ? "goes on" : `ended at ${Math.round(endedMs)}`;
  const counts = promisedEnd === undefined ? "" : `, which is ${Math.round(promisedEnd.afterMs)}`;
  return `the use by ${pod} on ${node} that began at ${Math.round(beganMs)} ${until}${counts}`;
}
