import type { Published } from "../judge/published.ts";

/** What really happened in a campaign, and what was published meanwhile: all that is judged. Wall clock, milliseconds since the epoch. */
export interface CrashRecord {
  readonly uses: readonly TrueUse[];
  readonly claims: readonly ClaimHistory[];
  readonly lives: Lives;
  readonly checkpoints: readonly Checkpoint[];
  readonly kills: readonly Kill[];
}

/** What was going on between two moments, neither of them included for sure. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A pod's use of a claim on a node, as the one who mounted and unmounted it knows. */
export interface TrueUse {
  readonly claim: string;
  /** `namespace/name` */
  readonly pod: string;
  readonly podUid: string;
  readonly node: string;
  /** Before the pod's object was asked for. */
  readonly askedMs: number;
  /** From before the first call that mounts to after the last. */
  readonly mounted: Span;
  /** Around the call that ended it; nothing as long as it goes on. */
  readonly unmounted: Span | undefined;
  /** After the pod's object was gone; nothing as long as it is there. */
  readonly removedMs: number | undefined;
}

/** All that Mooring had stored of a claim, in the order in which the API server stored it. */
export interface ClaimHistory {
  readonly claim: string;
  readonly states: readonly StoredState[];
}

/** What stands in a claim's status from a write on. */
export interface StoredState {
  /** The write was stored before this moment. */
  readonly seenMs: number;
  /** Nothing as long as Mooring has said nothing. */
  readonly words: Published | undefined;
}

/** When processes were up: a span begins when one answered that it is ready, and ends before it was killed. */
export interface Lives {
  /** By node. */
  readonly agents: Readonly<Record<string, readonly Span[]>>;
  /** Any replica that watches, whether it leads or not. */
  readonly aggregators: readonly Span[];
  /** One that leads and is reached by the Service. */
  readonly leaders: readonly Span[];
  readonly apiServer: readonly Span[];
}

/** A moment at which the end of a use had been awaited to be told: of one claim, or of all after everybody was up again. */
export interface Checkpoint {
  readonly atMs: number;
  readonly claim: string | "all";
}

/** Who is killed. */
export type Victim = "agent of node-a" | "agent of node-b" | "leader" | "standby" | "kube-apiserver";

export interface Kill {
  readonly victim: Victim;
  /** The process. */
  readonly name: string;
  readonly atMs: number;
}
