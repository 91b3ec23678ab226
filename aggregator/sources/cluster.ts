import type { KubeParts } from "../../common/kube/client.ts";
import type { Informer } from "../../common/kube/informer.ts";
import type { Stored } from "../../common/kube/store.ts";
import type { InternalErrors } from "../../common/runtime/internal-errors.ts";
import { runTogether } from "../../common/runtime/lifecycle.ts";
import { boundedLabel, type Metrics } from "../../common/runtime/metrics.ts";
import type { Claim } from "../../common/storage/claim.ts";
import type { PhaseSince } from "../../common/storage/phase-since.ts";
import type { BindingMode } from "../core/claims/binding.ts";
import type { Node, Volume } from "../core/cluster-objects.ts";
import { type ClaimKind, MOST_CLASSES, type StorageTotals, type VolumeKind } from "../core/metrics/storage-totals.ts";
import type { AgentAccount } from "../core/reports/reporter.ts";
import { type Misfits, NamedVolumes } from "../core/volumes/named-volumes.ts";
import { type Claims, createClaims } from "./claims.ts";
import type { ClusterListener } from "./cluster-listener.ts";
import { createNodes, type Nodes } from "./nodes.ts";
import { createPods, type PodLookups, type Pods } from "./pods.ts";
import { createStorageClasses } from "./storage-classes.ts";
import { createVolumes, type Volumes } from "./volumes.ts";

/** What all of an aggregator needs from outside; each part names what it uses. */
export interface OutsideParts extends KubeParts {
  readonly metrics: Metrics;
  /** The latest that the API server's clock can show, milliseconds since the epoch. */
  readonly nowMs: () => number;
}

/** The same, with what it has once. */
export interface SharedParts extends Omit<OutsideParts, "metrics"> {
  readonly cluster: Cluster;
  readonly internalErrors: InternalErrors;
}

/** Pods, claims, volumes and nodes as the watches show them. */
export interface Cluster extends PodLookups {
  readonly claim: (key: string) => Claim | undefined;
  readonly claims: () => Iterable<Claim>;
  readonly allVolumes: () => Iterable<Volume>;
  readonly volumeByName: (name: string) => (Volume & Stored) | undefined;
  /** Several volumes may have one handle. */
  readonly volumesByHandle: (driver: string, handleHash: string) => readonly Volume[];
  readonly node: (name: string) => (Node & Stored) | undefined;
  readonly nodeNames: () => readonly string[];
  /** The watch of nodes has come to this resource version; undefined while they have to be listed anew. */
  readonly nodesReached: () => string | undefined;
  /** Lists the nodes anew unless their watch has come to this resource version. */
  readonly ensureNodes: (resourceVersion: string) => void;
  /** Nodes that the API shows the volume, or another one with its handle, attached to or in use on. */
  readonly nodesWith: (volume: Volume) => readonly string[];
  /** The stored status of a claim, or a volume's mark, names the node as one that has it mounted. */
  readonly isStoredAsMounted: (node: string) => boolean;
  /** Keys of the claims whose stored last use is assumed to have ended with this node. */
  readonly assumedOn: (node: string) => Iterable<string>;
  /** PVs of the node's pods whose affinity may exclude the node: its agent has to check them. */
  readonly misfits: (node: string) => Misfits;
  /** The claims here are those of the API server at this resource version; undefined while they have to be listed anew. */
  readonly claimsReached: () => string | undefined;
  /** False while the watch of claims or of volumes is interrupted: one that is not known may be there. */
  readonly areBindingsCurrent: () => boolean;
  /** Since when volumes and claims are in their phase; undefined where that is unknown. */
  readonly phaseSince: (volume: Volume) => PhaseSince | undefined;
  readonly claimPhaseSince: (claim: Claim) => PhaseSince | undefined;
  readonly storage: Storage;
  /** The collections that have not been listed yet. */
  readonly unsynced: () => readonly string[];
  /** The informers, by the resource names of the API. */
  readonly informers: Readonly<Record<string, Informer<Stored>>>;
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** What metrics show of claims and volumes. */
export interface Storage {
  readonly volumes: StorageTotals<VolumeKind>;
  readonly claims: StorageTotals<ClaimKind>;
  /** Keys of the claims in phase Pending. */
  readonly pending: Iterable<string>;
  readonly bindingOf: (storageClass: string | undefined) => BindingMode | undefined;
}

export interface ClusterParts extends Omit<OutsideParts, "metrics"> {
  readonly agents: AgentAccount;
}

export function createCluster(parts: ClusterParts, listener: ClusterListener): Cluster {
  const pods = createPods({ ...parts, claims: () => claims.informer }, listener);
  const classLabel = boundedLabel(MOST_CLASSES);
  const volumes = createVolumes({ ...parts, classLabel }, listener);
  const nodes = createNodes({ ...parts, volumes }, listener);
  const claims = createClaims({ ...parts, classLabel, volumes, pods }, listener);
  const storageClasses = createStorageClasses(parts);
  const informers: Cluster["informers"] = {
    pods: pods.informer,
    persistentvolumes: volumes.informer,
    nodes: nodes.informer,
    volumeattachments: nodes.attachments,
    persistentvolumeclaims: claims.informer,
  };
  return {
    claim: claims.informer.get,
    claims: claims.informer.all,
    allVolumes: volumes.informer.all,
    node: nodes.informer.get,
    nodeNames: () => [...nodes.informer.all()].map(({ key }) => key),
    nodesReached: nodes.informer.resourceVersion,
    ensureNodes: nodes.informer.ensureAtLeast,
    nodesWith: nodes.withVolume,
    misfits: misfitsIn({ pods, claims, volumes, nodes }),
    isStoredAsMounted: (node) =>
      claims.informer.by("mountedOn", node).length > 0 || volumes.informer.by("marked", node).length > 0,
    assumedOn: (node) => claims.informer.by("assumed", node).map(({ key }) => key),
    ...pods.lookups,
    claimsReached: claims.informer.resourceVersion,
    areBindingsCurrent: () => [claims, volumes].every(({ informer }) => informer.isCurrent()),
    phaseSince: volumes.phaseSince,
    claimPhaseSince: claims.phaseSince,
    storage: storageOf({ claims, volumes }, storageClasses),
    volumeByName: volumes.informer.get,
    volumesByHandle: volumes.byHandle,
    unsynced: () => Object.keys(informers).filter((name) => informers[name]?.hasSynced() === false),
    informers,
    // Without the permission to read storage classes everything else works.
    run: (signal) =>
      runTogether(
        [...Object.values(informers), storageClasses].map(({ run }) => run),
        signal,
      ),
  };
}

function storageOf(
  { claims, volumes }: Pick<Sources, "claims" | "volumes">,
  { bindingOf }: Pick<Storage, "bindingOf">,
): Storage {
  return {
    volumes: volumes.totals,
    claims: claims.totals,
    get pending() {
      return claims.informer.by("pending", "Pending").map(({ key }) => key);
    },
    bindingOf,
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
