import type { Published } from "../judge/published.ts";

/** The input of the judge: what really happened in a campaign, and what was published. Wall clock, milliseconds since the epoch. */
export interface CrashRecord {
  readonly uses: readonly TrueUse[];
  readonly claims: readonly ClaimHistory[];
  readonly uptimes: Uptimes;
  readonly checkpoints: readonly Checkpoint[];
  readonly kills: readonly Kill[];
}

/** A span of time; both ends are uncertain and excluded. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A pod's use of a claim on a node, as the mounter knows it. */
export interface TrueUse {
  readonly claim: string;
  /** `namespace/name` */
  readonly pod: string;
  readonly podUid: string;
  readonly node: string;
  /** Before the request that creates the pod. */
  readonly askedMs: number;
  /** From before the first mount call to after the last. */
  readonly mounted: Span;
  /** Around the call that ended the use; undefined while it lasts. */
  readonly unmounted: Span | undefined;
  /** After the pod's object was gone; undefined while it exists. */
  readonly removedMs: number | undefined;
}

/** Every stored status of a claim, in the order of the store. */
export interface ClaimHistory {
  readonly claim: string;
  readonly states: readonly StoredState[];
}

/** The status of a claim since a write. */
export interface StoredState {
  /** An upper bound of the time at which it was stored. */
  readonly seenMs: number;
  /** Undefined while Mooring has written nothing. */
  readonly published: Published | undefined;
}

/** When processes were up: a span begins when the process answers as ready, and ends before it is killed. */
export interface Uptimes {
  /** By node. */
  readonly agents: Readonly<Record<string, readonly Span[]>>;
  /** Any running replica, leader or not. */
  readonly aggregators: readonly Span[];
  /** A leader that the Service reaches. */
  readonly leaders: readonly Span[];
  readonly apiServer: readonly Span[];
}

/** A moment at which the end of a use has to be published: of one claim, or of all after every process was up again. */
export interface Checkpoint {
  readonly atMs: number;
  readonly claim: string | "all";
}

/** The role of a killed process. */
export type Victim = "agent of node-a" | "agent of node-b" | "leader" | "standby" | "kube-apiserver";

export interface Kill {
  readonly victim: Victim;
  /** The process. */
  readonly name: string;
  readonly atMs: number;
}
