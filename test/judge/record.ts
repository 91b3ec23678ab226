/**
 * What happened to a claim, told by kernels, kubelets and the API server alone. Each world has an adapter that makes these values. Times are
 * milliseconds of a clock of the world's own; only moments are by the API servers' clocks, as published times are.
 */

/** Not before the one, not after the other: milliseconds since the epoch by the clocks of the API servers. */
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
  /** A scan had to show its mount: how sure its end is has to be told. False where none can have; nothing where both may be. */
  readonly isScanned: boolean | undefined;
  /** It had begun by then. */
  readonly beganMs: number;
  /** When its last mount went; nothing while there is one. */
  readonly ended: Moment | undefined;
  /** Its end as far as it is promised to be known: that, or when the API said that its pod was over where no mount table is read. */
  readonly promisedEnd: Moment | undefined;
  /** The same by the world's own clock. */
  readonly endedMs: number | undefined;
  /** Its pod or its mount was in sight of all who are to tell of it, for so long that they have. */
  readonly isKnown: boolean;
  /** Why it may be left out of account until everything works again; nothing where there is no reason. */
  readonly excuse: string | undefined;
  /** Why nobody can ever know of it. */
  readonly unseen: string | undefined;
  /** Why nobody need tell whose use it was. */
  readonly forgotten: string | undefined;
}

/** What somebody else wrote into a claim's status, or took away from it. */
export interface Forgery {
  /** When, by the world's own clock. */
  readonly atMs: number;
  /** The time that stood there then; nothing where none did. */
  readonly sinceMs: number | undefined;
  /** What was said to be the last use. */
  readonly release: string | undefined;
  /** On which nodes it was said to be mounted; missing where on none. */
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
   * UIDs of pods that may be taken for its users: they used an earlier claim of its name or volume, or had a volume of their own under the
   * name of its PersistentVolume and are gone, or so new that no watch shows it.
   */
  readonly lookalikes: readonly string[];
  /** Nodes where such a pod ever was: an end that names no pod may be that of its mount. */
  readonly lookalikesOn?: readonly string[] | undefined;
  /** Why it is a matter of opinion whose mounts are this claim's, or when they ended; nothing where it is none. */
  readonly dispute: string | undefined;
  /** Uses that had ended by then may be forgotten: who used it last went back with the store. Milliseconds. */
  readonly forgetsUntilMs?: number | undefined;
  /** What others wrote into its status; missing where nobody does. */
  readonly forged?: readonly Forgery[] | undefined;
  /** The last of them has just been made: nobody has had the time to put it right. */
  readonly isJustForged?: boolean | undefined;
}

/** What is to stand in a claim's status once everything has worked for long enough. */
export interface Scene {
  /** Mounts that a node with an agent shows. */
  readonly mounts: readonly string[];
  /** Pods that name the claim and are not over. */
  readonly references: readonly string[];
  /** One of them lost its mount when its node was booted again: until it is over, or mounts again, it may count as mounted. */
  readonly isInterrupted?: boolean | undefined;
  /** Nodes with an agent on which the device is mounted; nothing where nobody is to tell that. */
  readonly stagedOn: readonly string[];
  /** The last end of a use or of a pod that named the claim, or the begin of the claim. */
  readonly last: Moment;
  /** How much later than that its time may be; nothing where not all had worked for long enough when that happened. */
  readonly mayBeLateMs: number | undefined;
  /** Nodes without an agent: none of them can tell that the claim is not mounted there. */
  readonly agentless?: readonly string[] | undefined;
  /** Who used it last has to be named. */
  readonly isLastNamed: boolean;
}

export function describeUse({ pod, node, beganMs, endedMs, promisedEnd }: Use): string {
  const until = endedMs === undefined ? "goes on" : `ended at ${Math.round(endedMs)}`;
  const counts = promisedEnd === undefined ? "" : `, which is ${Math.round(promisedEnd.afterMs)}`;
  return `the use by ${pod} on ${node} that began at ${Math.round(beganMs)} ${until}${counts}`;
}
