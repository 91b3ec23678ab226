import type { ControlPlane } from "../rig/control-plane/control-plane.ts";
import type { RealNode } from "../rig/node/real-node.ts";
import type { Owner } from "../rig/process/owner.ts";
import type { Starvation } from "../rig/process/starvation.ts";
import type { ClusterApi } from "../rig/stand-in/cluster-api.ts";
import type { Moment } from "../rig/stand-in/kubelet.ts";

/** A node of the story. */
export type Place = 0 | 1;

/** What the story is played on: a cluster with two nodes and Mooring on it. Its kubelets are real, or stood in for. */
export interface World {
  readonly owner: Owner;
  readonly plane: ControlPlane;
  readonly api: ClusterApi;
  /** The nodes' names. */
  readonly nodes: readonly [string, string];
  /** Longest wait for anything that a step expects. Milliseconds. */
  readonly limitMs: number;
  /** What the machine made everybody wait since the world began. */
  readonly starvation: Starvation;
  /** Runs a pod until its node has the claim mounted. */
  readonly runPod: (pod: NewPod) => Promise<PodInUse>;
  /** The aggregator, or the one of several that leads. */
  readonly aggregator: MooringPart;
  /** The agent of each node. */
  readonly agents: readonly [MooringPart, MooringPart];
  /** A node whose loss is not that of the leading aggregator, too. While its kubelet hangs, the leader's lists can be asked for. */
  readonly spareNode: () => Promise<Place>;
  /** Nothing where nodes cannot lose their power. */
  readonly power: Power | undefined;
  /** Nodes with a pool of the provisioner; none where it was not asked for. */
  readonly poolNodes: readonly RealNode[];
  /** What `npm run claims` prints of the story's claims. */
  readonly listClaims: () => Promise<string>;
  /** Commands with which a person can look around. */
  readonly waysToLook: () => Promise<readonly string[]>;
}

/** A pod to run. */
export interface NewPod {
  readonly claim: string;
  readonly on: Place;
  readonly name: string;
  /**
   * Why the mount outlives the pod object on a real node, which gives up a mount within seconds: its kubelet hangs, or the driver takes
   * its time. The latter ends within milliseconds of `unmount`. A stand-in kubelet needs no reason.
   */
  readonly keptBy?: "kubelet" | "driver";
}

/** A pod that has its claim mounted. */
export interface PodInUse {
  /** Deletes the pod object at once, as `kubectl delete --force` does. The mount stays. */
  readonly forceDelete: () => Promise<void>;
  /** Whether its container goes on writing to the volume; nothing where no container runs. */
  readonly isWriting: () => Promise<boolean | undefined>;
  /** Lets the kubelet unmount the volume, and says when it did. */
  readonly unmount: () => Promise<Moment>;
}

/** A part of Mooring that can be killed. */
export interface MooringPart {
  /** `kill -9`. Nothing starts it again before `back`, or not so soon that it sees what is done right after this. */
  readonly kill: () => Promise<void>;
  /** Has it working again, or waits until whoever is in charge of it has. */
  readonly back: () => Promise<void>;
}

/** The power of the nodes. */
export interface Power {
  /** All that runs on a node ends at once; its disk stays. Says when. */
  readonly cut: (on: Place) => Promise<Moment>;
  /** Boots a node, and waits until its agent works. */
  readonly restore: (on: Place) => Promise<void>;
}
