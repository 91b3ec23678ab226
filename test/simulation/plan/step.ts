import type { ProtectionMode } from "../engine/api/protection.ts";
import type { NextClaim } from "../world/claims.ts";
import type { NetworkFault } from "../world/fault-injector.ts";
import type { ForgedPart } from "../world/forged-status.ts";
import type { VolumeKind } from "../world/kubelet-paths.ts";
import type { PodVolume, ReclaimPolicy } from "../world/objects.ts";
import type { Zone } from "../world/placement.ts";
import type { PodPace } from "../world/pods.ts";
import type { ReadDamage } from "../world/table-read.ts";
import type { TempoName } from "./tempo.ts";

/**
 * One step of a plan: a plain value, so that a plan can be shortened, printed and replayed. Nodes, pods and replicas are indexes modulo
 * their number, so that a step depends as little as possible on the steps before it.
 */
export type Step = {
  /** True time after the step, in milliseconds. */
  readonly thenMs: number;
} & StepAction;

/** The action of a step. Node indexes start at 0. */
export type StepAction =
  | { readonly kind: "rest" }
  /** All faults end, and none starts until the next step: every status has to become right. */
  | { readonly kind: "recover" }
  | { readonly kind: "new-pod"; readonly node: number; readonly volumes: readonly PodVolume[]; readonly pace: PodPace }
  /** The containers of a pod end by themselves. */
  | { readonly kind: "pod-ends"; readonly pick: number }
  | { readonly kind: "delete-pod"; readonly pick: number; readonly isForced: boolean }
  /** A pod without a node for this long, and as long as one of its claims is missing or being deleted. */
  | {
      readonly kind: "waiting-pod";
      readonly node: number;
      readonly volumes: readonly PodVolume[];
      readonly pace: PodPace;
      readonly forMs: number;
    }
  | { readonly kind: "delete-claim"; readonly pick: number; readonly next: NextClaim | undefined }
  /** A user sets the override on a claim: with its own UID, with that of another claim, or with too few characters. */
  | { readonly kind: "force-release"; readonly pick: number; readonly uid: "own" | "other" | "short" }
  /** An administrator removes the finalizer of a deleted claim by hand. */
  | { readonly kind: "take-finalizer"; readonly pick: number }
  /** An administrator unmounts a running pod's volume on the node; the kubelet may mount it again. */
  | { readonly kind: "unmount-behind"; readonly pick: number; readonly againAfterMs: number | undefined }
  /** Mounts that are no volumes come and go, or change their options. */
  | { readonly kind: "other-mounts"; readonly node: number; readonly count: number }
  | { readonly kind: "freeze-kubelet"; readonly node: number; readonly forMs: number }
  | { readonly kind: "power-cut"; readonly node: number; readonly forMs: number; readonly lostWrites: number }
  /** A snapshot of the machine is restored: clocks go back within the boot, and the disk may, too. */
  | { readonly kind: "put-back"; readonly node: number; readonly byMs: number; readonly lostWrites: number }
  | { readonly kind: "suspend-node"; readonly node: number; readonly forMs: number }
  | { readonly kind: "cut-off-node"; readonly node: number; readonly forMs: number }
  | { readonly kind: "delete-node"; readonly node: number; readonly forMs: number }
  | { readonly kind: "out-of-service"; readonly node: number; readonly forMs: number; readonly isOff: boolean }
  /** Nodes start at 0; -1 is the machine of the aggregators. */
  | { readonly kind: "step-clock"; readonly node: number; readonly byMs: number }
  | { readonly kind: "drift-clock"; readonly node: number; readonly ppm: number }
  | { readonly kind: "crash-agent"; readonly node: number }
  | { readonly kind: "pause-agent"; readonly node: number; readonly forMs: number }
  | { readonly kind: "roll-agent"; readonly node: number; readonly isSurge: boolean }
  | { readonly kind: "remove-agent"; readonly node: number; readonly forMs: number }
  | { readonly kind: "damaged-reads"; readonly node: number; readonly damage: readonly ReadDamage[] }
  | { readonly kind: "slow-reads"; readonly node: number; readonly readMs: number; readonly forMs: number }
  | { readonly kind: "disk"; readonly node: number; readonly fault: DiskStep; readonly forMs: number }
  | { readonly kind: "crash-aggregator"; readonly replica: number; readonly forMs: number }
  | { readonly kind: "pause-aggregator"; readonly replica: number; readonly forMs: number }
  | { readonly kind: "stop-aggregators"; readonly forMs: number }
  /** All agents and aggregators are upgraded. */
  | { readonly kind: "upgrade-all" }
  /** `from`: a node, -1 for the aggregators, or -2 for all. */
  | {
      readonly kind: "network";
      readonly fault: NetworkFault;
      readonly from: number;
      readonly to: "api" | "aggregator" | "both";
      readonly probability: number;
      readonly forMs: number;
    }
  /** For a while the API server answers 403 although Mooring has the role; `from` as above. */
  | { readonly kind: "lose-rights"; readonly right: LostRight; readonly from: number; readonly forMs: number }
  /** Another client edits or deletes the leader election Lease. */
  | { readonly kind: "tamper-lease"; readonly how: LeaseEdit }
  /** Another replica starts to lead while the API server refuses writes to claims: neither replica stores the decisions. */
  | {
      readonly kind: "refuse-writes-and-change-leader";
      readonly status: 409 | 422 | 500 | 503;
      readonly how: "stop" | "crash" | "pause";
      readonly forMs: number;
    }
  /** Another client writes that the claim's volume was bound at another time. */
  | { readonly kind: "forge-binding"; readonly pick: number; readonly byMs: number }
  /** Another client forges Mooring's condition or annotations on a claim, with a time this long ago. */
  | { readonly kind: "forge-status"; readonly pick: number; readonly part: ForgedPart; readonly agoMs: number }
  /** The wall clock of one API server, or with -1 of all, steps, and steps back after `backAfterMs`, if given. */
  | {
      readonly kind: "step-api-clock";
      readonly server: number;
      readonly byMs: number;
      readonly backAfterMs: number | undefined;
    }
  /** An administrator backs up etcd and restores it after `afterMs`; the API servers are down for `downMs`. */
  | { readonly kind: "restore-etcd"; readonly afterMs: number; readonly downMs: number }
  /** Another replica leads, and first receives delayed copies of earlier reports. */
  | { readonly kind: "late-copies" }
  | { readonly kind: "restart-api"; readonly forMs: number }
  | { readonly kind: "compact-api" }
  | { readonly kind: "lagging-watches"; readonly lagMs: number; readonly forMs: number }
  /** The node affinity of a claim's volume becomes that zone, or none. */
  | { readonly kind: "move-volume"; readonly pick: number; readonly zone: Zone | undefined }
  | { readonly kind: "relabel-node"; readonly node: number; readonly zone: Zone }
  /** The attach-detach controller attaches a claim's volume to a node, whatever its affinity, and detaches it after a while. */
  | { readonly kind: "attach-volume"; readonly pick: number; readonly node: number; readonly forMs: number }
  /** For a while no policy limits what agents may do to pods, so that agents must not use the permission. */
  | { readonly kind: "no-policy"; readonly forMs: number }
  /** For a while a node's kubelet overwrites a rejection with its own status after `afterMs`. */
  | { readonly kind: "take-back"; readonly node: number; readonly afterMs: number; readonly forMs: number }
  /** For a while an owner recreates the pod on the same node whenever it is over. */
  | {
      readonly kind: "pinned-pods";
      readonly node: number;
      readonly claim: number;
      readonly pace: PodPace;
      readonly forMs: number;
    }
  /** The next process that visits this site dies there, after `skip` visits. */
  | { readonly kind: "crash-at"; readonly site: string; readonly skip: number };

/** The permissions of Mooring's roles. */
export const RIGHTS = ["write-claims", "read", "write-events", "use-leases", "label-pods"] as const;
export type LostRight = (typeof RIGHTS)[number];

/** Edits of a Lease. `locked`: a holder that does not exist, for the longest possible time. */
export const LEASE_EDITS = [
  "other-holder",
  "released",
  "older",
  "newer",
  "locked",
  "without-words",
  "deleted",
] as const;
export type LeaseEdit = (typeof LEASE_EDITS)[number];

/** Faults of a node's disk. */
export type DiskStep = "full" | "read-only" | "torn" | "slow" | "wiped" | "older";

export type StepKind = Step["kind"];

/** The initial state of a world. */
export interface Setup {
  readonly tempo: TempoName;
  readonly nodes: readonly NodeSetup[];
  readonly claims: readonly ClaimSetup[];
  readonly replicas: number;
  /** One offset for each API server: its wall clock minus true time, in milliseconds. */
  readonly serverOffsetsMs: readonly number[];
  /** The protection mode of a world with deletions; undefined for other worlds, in which protection is off. */
  readonly protection?: ProtectionMode | undefined;
  /** Whether agents fail pods that wait on a node which their volume excludes. */
  readonly isEnforcing?: boolean | undefined;
  /** Further settings of those agents. */
  readonly affinity?: AffinitySetup | undefined;
}

/** Agent settings that are off by default. */
export interface AffinitySetup {
  readonly rejectAttached: boolean;
  readonly deleteReverted: boolean;
  readonly deleteRejected: boolean;
}

export interface NodeSetup {
  readonly hasAgent: boolean;
  readonly isOldKernel: boolean;
  /** Its agent has no persistent journal. */
  readonly isForgetful: boolean;
  readonly root: string;
  readonly driftPpm: number;
  readonly slewPpm: number;
  readonly wallOffsetMs: number;
  /** The agent cannot read CLOCK_MONOTONIC_RAW. */
  readonly isSlewed: boolean;
}

export interface ClaimSetup {
  readonly kind: VolumeKind;
  /** Its volume has the same handle as the first claim's. */
  readonly sharesHandle: boolean;
  /** The default is Retain. */
  readonly reclaim?: ReclaimPolicy | undefined;
}

/**
 * Everything that decides a world. Together with the seed, which decides delays and the order of simultaneous events, it replays exactly.
 */
export interface Plan {
  readonly seed: number;
  /** Without faults: Mooring has to be exact, and to make no unnecessary writes. */
  readonly isCalm: boolean;
  readonly setup: Setup;
  readonly steps: readonly Step[];
}

/** Reads a saved plan. It is our own file, so that a check of its outline is enough. */
export function readPlan(value: unknown): Plan {
  if (!isPlan(value)) throw new Error("this is no plan");
  return value;
}

function isPlan(value: unknown): value is Plan {
  return typeof value === "object" && value !== null && "seed" in value && "setup" in value && "steps" in value;
}
