import { claimPhaseSince } from "../../aggregator/core/claims/binding.ts";
import { attachedKey, type EndedPod, type Node, type Pod, type Volume } from "../../aggregator/core/cluster-objects.ts";
import { StorageTotals } from "../../aggregator/core/metrics/storage-totals.ts";
import type { Cluster } from "../../aggregator/sources/cluster.ts";
import type { Stored } from "../../common/kube/store.ts";
import type { Claim } from "../../common/storage/claim.ts";
import { type PhaseSince, phaseSince } from "../../common/storage/phase-since.ts";
import { NOON } from "../unit/aggregator/world.ts";

/** The cluster as the informers would show it, put together by hand. */
export class FakeCluster implements Cluster {
  readonly byKey = new Map<string, Claim>();
  readonly pods = new Map<string, Pod>();
  readonly volumes = new Map<string, Volume>();
  readonly nodes = new Map<string, Node>();

  readonly claim = (key: string): Claim | undefined => this.byKey.get(key);
  readonly claims = (): Iterable<Claim> => this.byKey.values();
  /** When finished pods are seen: they may have been over for long. */
  nowMs = NOON;
  readonly node = (name: string): (Node & Stored) | undefined => {
    const node = this.nodes.get(name);
    return node && { ...node, resourceVersion: "1" };
  };
  readonly nodeNames = (): readonly string[] => [...this.nodes.keys()];
  readonly nodeCount = (): number => this.nodes.size;
  readonly nodesReached = (): string => "1";
  readonly ensureNodes = (): void => {};
  readonly nodesWith = ({ csi }: Volume): readonly string[] =>
    [...this.nodes.values()]
      .filter(({ attached }) => csi && attached?.includes(attachedKey(csi)))
      .map(({ key }) => key);
  readonly hasAgentPod = (node: string): boolean =>
    [...this.pods.values()].some((pod) => pod.isAgent === true && !pod.isTerminal && pod.node === node);
  readonly isStoredAsMounted = (node: string): boolean =>
    [...this.byKey.values()].some(({ status }) => status?.mountedOn?.nodes.includes(node));
  readonly assumedOn = (node: string): readonly string[] =>
    [...this.byKey.values()]
      .filter(({ status }) => status?.lastUse?.evidence === "node-gone" && status.lastUse.node === node)
      .map(({ key }) => key);
  readonly allVolumes = (): Iterable<Volume> => this.volumes.values();
  podsOf = (claimKey: string): readonly Pod[] => [...this.pods.values()].filter((pod) => pod.claims.includes(claimKey));
  readonly podName = (uid: string): string => this.pods.get(uid)?.key ?? uid;
  readonly isPodThere = (uid: string): boolean => this.pods.has(uid);
  readonly podByUid = (uid: string): Pod | undefined => this.pods.get(uid);
  readonly volumeByName = (name: string): (Volume & Stored) | undefined => {
    const volume = this.volumes.get(name);
    return volume && { resourceVersion: "300", ...volume };
  };
  readonly volumesByHandle = (driver: string, handleHash: string): readonly Volume[] =>
    [...this.volumes.values()].filter(({ csi }) => csi?.driver === driver && csi.handleHash === handleHash);
  readonly finishedPods = (): readonly EndedPod[] =>
    [...this.pods.values()]
      .filter(({ isTerminal }) => isTerminal)
      .map((pod) => ({ pod, gone: pod.resourceVersion, seenAtMs: this.nowMs, claimUids: [], wasOver: true }));
  readonly podsWatchedSince = (): undefined => undefined;
  /** Undefined while pods have to be listed again. */
  podsAt: string | undefined = "1000";
  readonly podsReached = (): string | undefined => this.podsAt;
  claimsAt: string | undefined;
  readonly claimsReached = (): string | undefined => this.claimsAt;
  readonly arePodsCurrent = (): boolean => this.podsAt !== undefined;
  isListed = true;
  readonly areBindingsCurrent = (): boolean => this.isListed;
  readonly phaseSince = ({ phaseSinceMs: apiMs, createdAtMs }: Volume): PhaseSince | undefined =>
    phaseSince({ apiMs, createdAtMs, firstSeenMs: undefined });
  readonly claimPhaseSince = (claim: Claim): PhaseSince | undefined => {
    const volume = this.volumes.get(claim.volume ?? "");
    return claimPhaseSince(claim, { volume, volumeSince: volume && this.phaseSince(volume), firstSeenMs: undefined });
  };
  readonly storage: Cluster["storage"] = {
    volumes: new StorageTotals((name) => name, 1_000),
    claims: new StorageTotals((name) => name, 1_000),
    pending: () => [],
    bindingOf: () => undefined,
  };
  readonly uid = (): string => "uid";
  readonly unsynced = (): readonly string[] => [];
  readonly informers = {};
  readonly run = async (): Promise<void> => {};
}
