import type { ProtectionMode } from "../engine/api/protection.ts";
import type { NextClaim } from "../world/claims.ts";
import type { ForgedPart } from "../world/forged-status.ts";
import type { VolumeKind } from "../world/kubelet-paths.ts";
import type { PodVolume, ReclaimPolicy } from "../world/objects.ts";
import type { Zone } from "../world/placement.ts";
import type { PodPace } from "../world/pods.ts";
import type { ReadDamage } from "../world/table-read.ts";
import type { NetworkFault } from "../world/weather.ts";
import type { TempoName } from "./tempo.ts";

/**
 * One step of a plan: a plain value, so that a plan can be shortened, printed and played again. Nodes, pods and replicas are numbers
 * that are taken modulo how many there are: what a step means does not depend on the steps before it more than it must.
 */
export type Step = {
  /** True time that passes after it, milliseconds. */
  readonly thenMs: number;
} & Happening;

/** What happens in a step. Nodes are counted from 0. */
export type Happening =
  | { readonly kind: "rest" }
  /** All that goes wrong ends, and nothing does until the next step: what stands in the statuses has to become true. */
  | { readonly kind: "recover" }
  | { readonly kind: "new-pod"; readonly node: number; readonly volumes: readonly PodVolume[]; readonly pace: PodPace }
  /** The containers of a pod end by themselves. */
  | { readonly kind: "pod-ends"; readonly pick: number }
  | { readonly kind: "delete-pod"; readonly pick: number; readonly isForced: boolean }
  /** A pod that is on no node until so much time has passed, and as long as a claim that it names is being deleted or not there. */
  | {
      readonly kind: "waiting-pod";
      readonly node: number;
      readonly volumes: readonly PodVolume[];
      readonly pace: PodPace;
      readonly forMs: number;
    }
  | { readonly kind: "delete-claim"; readonly pick: number; readonly next: NextClaim | undefined }
  /** Somebody sets the override on a claim, with its own UID, with that of another claim, or with too little of its own. */
  | { readonly kind: "force-release"; readonly pick: number; readonly uid: "own" | "other" | "short" }
  /** An administrator takes the finalizer of a claim that is being deleted away by hand. */
  | { readonly kind: "take-finalizer"; readonly pick: number }
  /** Somebody at the node unmounts what a running pod uses; the kubelet may mount it again. */
  | { readonly kind: "unmount-behind"; readonly pick: number; readonly againAfterMs: number | undefined }
  /** Mounts that are nobody's volume come and go, or change their options. */
  | { readonly kind: "other-mounts"; readonly node: number; readonly count: number }
  | { readonly kind: "freeze-kubelet"; readonly node: number; readonly forMs: number }
  | { readonly kind: "power-cut"; readonly node: number; readonly forMs: number; readonly lostWrites: number }
  /** A snapshot of the machine is put back: clocks go back within the boot, and so may what is on its disk. */
  | { readonly kind: "put-back"; readonly node: number; readonly byMs: number; readonly lostWrites: number }
  | { readonly kind: "suspend-node"; readonly node: number; readonly forMs: number }
  | { readonly kind: "cut-off-node"; readonly node: number; readonly forMs: number }
  | { readonly kind: "delete-node"; readonly node: number; readonly forMs: number }
  | { readonly kind: "out-of-service"; readonly node: number; readonly forMs: number; readonly isOff: boolean }
  /** Node 0 and up; the machine of the aggregators is -1. */
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
  /** All agents and aggregators are replaced by a new version. */
  | { readonly kind: "upgrade-all" }
  /** `from`: a node, or -1 for the aggregators, or -2 for all. */
  | {
      readonly kind: "network";
      readonly fault: NetworkFault;
      readonly from: number;
      readonly to: "api" | "aggregator" | "both";
      readonly probability: number;
      readonly forMs: number;
    }
  /** For a time the API server answers 403 to what Mooring has a role for; `from` as above. */
  | { readonly kind: "lose-rights"; readonly right: LostRight; readonly from: number; readonly forMs: number }
  /** Somebody edits the Lease by which a leader is elected, or deletes it. */
  | { readonly kind: "tamper-lease"; readonly how: LeaseEdit }
  /** Another replica comes to lead while writes to claims are refused: what was decided is stored by neither of them. */
  | {
      readonly kind: "refuse-writes-and-change-leader";
      readonly status: 409 | 422 | 500 | 503;
      readonly how: "stop" | "crash" | "pause";
      readonly forMs: number;
    }
  /** Somebody who may write the status of a claim's volume says that it was bound at another time than now. */
  | { readonly kind: "forge-binding"; readonly pick: number; readonly byMs: number }
  /** Somebody who may write the status of a claim forges Mooring's condition or annotations, with a time so long ago. */
  | { readonly kind: "forge-status"; readonly pick: number; readonly part: ForgedPart; readonly agoMs: number }
  /** The wall clock of an API server, or with -1 of all, is stepped, and stepped back after a time, where there is one. */
  | {
      readonly kind: "step-api-clock";
      readonly server: number;
      readonly byMs: number;
      readonly backAfterMs: number | undefined;
    }
  /** An administrator makes a backup of etcd, and puts it back after a time: nobody is served for as long as `downMs` meanwhile. */
  | { readonly kind: "restore-etcd"; readonly afterMs: number; readonly downMs: number }
  /** Another replica leads, and what comes to it first are copies of earlier reports that were on their way. */
  | { readonly kind: "late-copies" }
  | { readonly kind: "restart-api"; readonly forMs: number }
  | { readonly kind: "compact-api" }
  | { readonly kind: "lagging-watches"; readonly lagMs: number; readonly forMs: number }
  /** The node affinity of a claim's volume becomes that zone, or none. */
  | { readonly kind: "move-volume"; readonly pick: number; readonly zone: Zone | undefined }
  | { readonly kind: "relabel-node"; readonly node: number; readonly zone: Zone }
  /** The attach-detach controller attaches a claim's volume to a node, whatever its affinity, and detaches it after a time. */
  | { readonly kind: "attach-volume"; readonly pick: number; readonly node: number; readonly forMs: number }
  /** For a time no policy confines what agents may do to pods: they may not use the right. */
  | { readonly kind: "no-policy"; readonly forMs: number }
  /** For a time a node's kubelet does not take over that somebody else fails a pod, and writes its own view over it so long after. */
  | { readonly kind: "take-back"; readonly node: number; readonly afterMs: number; readonly forMs: number }
  /** For a time an owner makes the pod anew on the same node whenever it is over. */
  | {
      readonly kind: "pinned-pods";
      readonly node: number;
      readonly claim: number;
      readonly pace: PodPace;
      readonly forMs: number;
    }
  /** The next process of that role that comes by this place dies there, after so many that do not. */
  | { readonly kind: "crash-at"; readonly site: string; readonly skip: number };

/** What a role lets Mooring do. */
export const RIGHTS = ["write-claims", "read", "write-events", "use-leases", "label-pods"] as const;
export type LostRight = (typeof RIGHTS)[number];

/** What somebody makes of a Lease. `locked`: a holder who does not exist, for as long as can be written. */
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

/** What befalls a node's disk. */
export type DiskStep = "full" | "read-only" | "torn" | "slow" | "wiped" | "older";

export type StepKind = Step["kind"];

/** How a world begins. */
export interface Setup {
  readonly tempo: TempoName;
  readonly nodes: readonly NodeSetup[];
  readonly claims: readonly ClaimSetup[];
  readonly replicas: number;
  /** Wall clocks of API servers minus true time, milliseconds; one each. */
  readonly serverOffsetsMs: readonly number[];
  /** A world that is about deletions of claims, and in which mode; nothing for any other, where protection is off. */
  readonly protection?: ProtectionMode | undefined;
  /** Agents fail pods that wait on a node which their volume excludes. */
  readonly isEnforcing?: boolean | undefined;
  /** What those agents do besides. */
  readonly affinity?: AffinitySetup | undefined;
}

/** Settings of the agents that are off unless told. */
export interface AffinitySetup {
  readonly rejectAttached: boolean;
  readonly deleteReverted: boolean;
  readonly deleteRejected: boolean;
}

export interface NodeSetup {
  readonly hasAgent: boolean;
  readonly isOldKernel: boolean;
  /** Its agent keeps nothing that outlives it. */
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
  /** Its volume has the handle of the first claim's. */
  readonly sharesHandle: boolean;
  /** Retain unless told. */
  readonly reclaim?: ReclaimPolicy | undefined;
}

/** All that decides a world: with the seed, which decides delays and the order of what happens at once, it replays exactly. */
export interface Plan {
  readonly seed: number;
  /** Nothing goes wrong in it: then Mooring has to be exact, and to write no more than it must. */
  readonly isCalm: boolean;
  readonly setup: Setup;
  readonly steps: readonly Step[];
}

/** Takes over a plan that was printed: it is ours, so only its outline is looked at. */
export function readPlan(value: unknown): Plan {
  if (!isPlan(value)) throw new Error("this is no plan");
  return value;
}

function isPlan(value: unknown): value is Plan {
  return typeof value === "object" && value !== null && "seed" in value && "setup" in value && "steps" in value;
}
