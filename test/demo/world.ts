import type { ControlPlane } from "../rig/control-plane/control-plane.ts";
import type { RealNode } from "../rig/node/real-node.ts";
import type { Owner } from "../rig/process/owner.ts";
import type { Starvation } from "../rig/process/starvation.ts";
import type { ClusterApi } from "../rig/stand-in/cluster-api.ts";
import type { Moment } from "../rig/stand-in/kubelet.ts";

/** A node of the story. */
export type Place = 0 | 1;

/** The stage of the story: a cluster with two nodes, real or stand-in kubelets, and Mooring. */
export interface World {
  readonly owner: Owner;
  readonly plane: ControlPlane;
  readonly api: ClusterApi;
  /** The names of the nodes. */
  readonly nodes: readonly [string, string];
  /** The longest wait for anything that a step expects. Milliseconds. */
  readonly limitMs: number;
  /** How long the machine was too busy since the world began. */
  readonly starvation: Starvation;
  /** Runs a pod until its node has the claim mounted. */
  readonly runPod: (pod: NewPod) => Promise<PodInUse>;
  /** The aggregator, or the leader of several. */
  readonly aggregator: MooringPart;
  /** The agent of each node. */
  readonly agents: readonly [MooringPart, MooringPart];
  /** A node without the leading aggregator: while its kubelet hangs, the leader still serves its lists. */
  readonly spareNode: () => Promise<Place>;
  /** Undefined where nodes cannot lose their power. */
  readonly power: Power | undefined;
  /** Nodes with a pool of the provisioner; empty without the provisioner. */
  readonly poolNodes: readonly RealNode[];
  /** The output of `npm run claims` for the story's claims. */
  readonly listClaims: () => Promise<string>;
  /** Commands for a user who wants to check around. */
  readonly inspectCommands: () => Promise<readonly string[]>;
}

/** A pod to run. */
export interface NewPod {
  readonly claim: string;
  readonly on: Place;
  readonly name: string;
  /**
   * Why the mount outlives the pod object on a real node, where a mount otherwise ends within seconds: its kubelet hangs, or the driver is
   * slow. The driver finishes within milliseconds of `unmount`. A stand-in kubelet needs no reason.
   */
  readonly keptBy?: "kubelet" | "driver";
}

/** A pod that has its claim mounted. */
export interface PodInUse {
  /** Deletes the pod object at once, as `kubectl delete --force` does. The mount stays. */
  readonly forceDelete: () => Promise<void>;
  /** Whether its container still writes to the volume; undefined where no container runs. */
  readonly isWriting: () => Promise<boolean | undefined>;
  /** Lets the kubelet unmount the volume, and returns the time. */
  readonly unmount: () => Promise<Moment>;
}

/** A part of Mooring that can be killed. */
export interface MooringPart {
  /** `kill -9`. It restarts only with `back`, or too late to see what happens right after the kill. */
  readonly kill: () => Promise<void>;
  /** Restarts it, or waits until its supervisor has. */
  readonly back: () => Promise<void>;
}

/** The power of the nodes. */
export interface Power {
  /** Everything on a node ends at once; its disk stays. Returns the time. */
  readonly cut: (on: Place) => Promise<Moment>;
  /** Boots a node, and waits until its agent works. */
  readonly restore: (on: Place) => Promise<void>;
}
