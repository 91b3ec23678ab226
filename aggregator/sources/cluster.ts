import type { KubeParts } from "../../common/kube/client.ts";
import type { Informer } from "../../common/kube/informer.ts";
import type { Stored } from "../../common/kube/store.ts";
import { runTogether } from "../../common/runtime/lifecycle.ts";
import { boundedLabel } from "../../common/runtime/metrics.ts";
import type { Claim } from "../../common/storage/claim.ts";
import type { PhaseSince } from "../../common/storage/phase-since.ts";
import type { Directory } from "../core/attribution.ts";
import type { BindingMode } from "../core/bind-latency.ts";
import type { EndedPod, Node, Pod, Volume } from "../core/cluster-objects.ts";
import type { ClaimKind, VolumeKind } from "../core/counted-storage.ts";
import { type Misfits, NamedVolumes } from "../core/named-volumes.ts";
import type { AgentAccount } from "../core/reporter.ts";
import { MOST_CLASSES, type StorageTotals } from "../core/storage-totals.ts";
import type { PodWatch } from "../core/watch-history.ts";
import { type ClaimListener, type Claims, createClaims } from "./claims.ts";
import { createNodes, type NodeListener, type Nodes } from "./nodes.ts";
import { createPods, type PodListener, type Pods } from "./pods.ts";
import { createStorageClasses, type StorageClasses } from "./storage-classes.ts";
import { createVolumes, type VolumeListener, type Volumes } from "./volumes.ts";

/** Whom the cluster tells. Listeners only note what changed. */
export type ClusterListener = PodListener & ClaimListener & NodeListener & VolumeListener;

/** Pods, claims, volumes and nodes as the API server has them, each a moment old. */
export interface Cluster extends Directory {
  readonly claim: (key: string) => Claim | undefined;
  readonly claims: () => Iterable<Claim>;
  readonly allVolumes: () => Iterable<Volume>;
  readonly volumeByName: (name: string) => (Volume & Stored) | undefined;
  readonly node: (name: string) => Node | undefined;
  readonly nodeNames: () => readonly string[];
  /** Nodes that the volume, or another one with its handle, is attached to or in use on by the API. */
  readonly nodesWith: (volume: Volume) => readonly string[];
  /** A pod of Mooring's agent that is not over is bound to the node. */
  readonly hasAgentPod: (node: string) => boolean;
  /** What is stored of some claim or volume names the node as one that had it mounted. */
  readonly isStoredHolder: (node: string) => boolean;
  /** Keys of the claims whose last use, by their stored status, is only assumed to have ended with this node. */
  readonly assumedOn: (node: string) => Iterable<string>;
  readonly podsOf: (claimKey: string) => readonly Pod[];
  /** What the node's agent has to look at, since the affinity of pods' PVs is not known to admit it. */
  readonly misfits: (node: string) => Misfits;
  readonly podName: (uid: string) => string;
  readonly isPodThere: (uid: string) => boolean;
  /** Finished pods that are still there: of each nobody knows here for how long it has been over. */
  readonly finishedPods: () => readonly EndedPod[];
  /** The watch of all pods: since when nothing was missed. Nothing before the first list. */
  readonly podsWatchedSince: () => PodWatch | undefined;
  /** Up to which resource version what pods did has been told; nothing while they have to be listed anew. */
  readonly podsReached: () => string | undefined;
  /** False while the watch of all pods is interrupted: a pod may use a claim, and is not known. */
  readonly arePodsCurrent: () => boolean;
  /** The claims here are those of the API server up to this resource version; nothing while they have to be listed anew. */
  readonly claimsReached: () => string | undefined;
  /** False while claims or volumes have to be listed anew. */
  readonly areBindingsListed: () => boolean;
  /** Since when they are in their phase; undefined where it is not known. */
  readonly phaseSince: (volume: Volume) => PhaseSince | undefined;
  readonly claimPhaseSince: (claim: Claim) => PhaseSince | undefined;
  readonly storage: Storage;
  /** The collections that have not been listed yet. */
  readonly unsynced: () => readonly string[];
  /** What is watched, by the names of the API. */
  readonly informers: Readonly<Record<string, Informer<Stored>>>;
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** What metrics tell of claims and volumes. */
export interface Storage {
  readonly volumes: StorageTotals<VolumeKind>;
  readonly claims: StorageTotals<ClaimKind>;
  /** Keys of the claims in phase Pending. */
  readonly pending: ReadonlySet<string>;
  readonly bindingOf: (storageClass: string | undefined) => BindingMode | undefined;
}

interface ClusterParts extends KubeParts {
  readonly agents: AgentAccount;
}

export function createCluster(parts: ClusterParts, listener: ClusterListener): Cluster {
  const isClaimThere = (key: string): boolean => !claims.informer.hasSynced() || claims.informer.get(key) !== undefined;
  const claimUid = (key: string): string | undefined => claims.informer.get(key)?.uid;
  const pods = createPods({ ...parts, isClaimThere, claimUid }, listener);
  const classLabel = boundedLabel(MOST_CLASSES);
  const volumes = createVolumes({ ...parts, classLabel }, listener);
  const nodes = createNodes(parts, { ...listener, volumes });
  const claims = createClaims({ ...parts, classLabel }, tellingPods(listener, pods));
  const storageClasses = createStorageClasses(parts);
  const informers: readonly (readonly [string, Informer<Stored>])[] = [
    ["pods", pods.informer],
    ["persistentvolumes", volumes.informer],
    ["nodes", nodes.informer],
    ["volumeattachments", nodes.attachments],
    ["persistentvolumeclaims", claims.informer],
  ];
  return {
    claim: claims.informer.get,
    claims: claims.informer.all,
    allVolumes: volumes.informer.all,
    node: nodes.informer.get,
    nodeNames: nodes.names,
    nodesWith: nodes.withVolume,
    misfits: misfitsIn({ pods, claims, volumes, nodes }),
    isStoredHolder: (node) => claims.isStoredHolder(node) || volumes.isMarkedOn(node),
    assumedOn: claims.assumedOn,
    ...podWords(pods),
    claimsReached: claims.informer.resourceVersion,
    areBindingsListed: () => [claims, volumes].every(({ informer }) => informer.resourceVersion() !== undefined),
    ...storageWords({ claims, volumes }, storageClasses),
    volumeByName: volumes.informer.get,
    volumesByHandle: volumes.byHandle,
    unsynced: () => informers.filter(([, { hasSynced }]) => !hasSynced()).map(([name]) => name),
    informers: Object.fromEntries(informers),
    run: (signal) =>
      runTogether(
        // Whoever may not read storage classes does all the rest.
        [...informers.map(([, { run }]) => run), storageClasses.run],
        signal,
      ),
  };
}

/** Pods that name a claim which is gone do not have the next one of its name. */
function tellingPods(listener: ClusterListener, pods: Pods): ClusterListener {
  return {
    ...listener,
    onClaimGone: (claim) => {
      pods.onClaimGone(claim.key);
      listener.onClaimGone(claim);
    },
  };
}

/** What is told of claims and volumes as storage. */
function storageWords({ claims, volumes }: Pick<Sources, "claims" | "volumes">, { bindingOf }: StorageClasses) {
  const claimPhaseSince = (claim: Claim): PhaseSince | undefined => {
    const volume = claim.volume === undefined ? undefined : volumes.informer.get(claim.volume);
    return claims.phaseSince(claim, { volume, volumeSince: volume && volumes.phaseSince(volume) });
  };
  return {
    phaseSince: volumes.phaseSince,
    claimPhaseSince,
    storage: { volumes: volumes.totals, claims: claims.totals, pending: claims.pending, bindingOf },
  };
}

interface Sources {
  readonly pods: Pods;
  readonly claims: Claims;
  readonly volumes: Volumes;
  readonly nodes: Nodes;
}

function misfitsIn({ pods, claims, volumes, nodes }: Sources): Cluster["misfits"] {
  const named = new NamedVolumes();
  const [claim, volume] = [claims.informer.get, volumes.informer.get];
  return (name) => named.of({ node: nodes.informer.get(name), pods: pods.wantingOn(name), claim, volume });
}

/** What the cluster tells of its pods. */
function podWords(pods: Pods) {
  return {
    knewClaim: pods.knewClaim,
    hasAgentPod: pods.isAgentOn,
    podsOf: pods.ofClaim,
    podName: pods.nameOf,
    podByUid: pods.byUid,
    isPodThere: pods.isThere,
    finishedPods: pods.finished,
    podsWatchedSince: pods.watchedSince,
    podsReached: pods.informer.resourceVersion,
    arePodsCurrent: pods.informer.isCurrent,
  };
}
