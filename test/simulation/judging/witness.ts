import { RESTORED } from "../../judge/forged.ts";
import type { Case, Moment, Scene, Use } from "../../judge/record.ts";
import { EXACT_MS } from "../../judge/rest.ts";
import type { Use as TrueUse } from "../truth.ts";
import { type ClaimRecord, claimNamesOf, meansClaim } from "../world/claims.ts";
import { scansOf } from "../world/health.ts";
import type { PodRecord } from "../world/pods.ts";
import { stagedSince } from "../world/staging.ts";
import type { World } from "../world/world.ts";
import { Forgeries } from "./forgeries.ts";

/** Without faults, a watch shows the end of a pod, and a scan shows a mount, within this time. Milliseconds. */
const SEEN_MS = 2_000;
/** Without faults, the leader has written what it learned this long ago. Milliseconds. */
export const WRITES_MS = 3_000;

interface Known {
  readonly byMs: number;
  readonly forMs: number;
}

/** Gives the judge the facts of a world, from the record of its kernels and kubelets and from the times of all faults. */
export class Witness {
  readonly forgeries: Forgeries;
  readonly #world: World;
  /** Uses that a leader had the time to write. */
  readonly #known = new WeakSet<TrueUse>();
  /** Uses that an agent had the time to report to a leader. */
  readonly #reported = new WeakSet<TrueUse>();

  constructor(world: World) {
    this.#world = world;
    this.forgeries = new Forgeries(world);
  }

  caseOf(claim: ClaimRecord): Case {
    const { cluster, truth, now } = this.#world;
    const pods = cluster.pods.all.filter((pod) => claimNamesOf(pod).includes(claim.name));
    return {
      name: claim.name,
      made: this.moment(cluster.claims.madeAt(claim.uid) ?? now),
      uses: truth.usesOf(claim.uid).map((use) => this.useOf(use)),
      namedBy: pods.map(({ uid }) => uid),
      ...this.#lookalikesOf(claim),
      dispute: this.#disputeOf(claim),
      forgetsUntilMs: this.#world.backups.lostUntil(claim.uid),
      forged: this.forgeries.of(claim.uid),
      isJustForged: this.forgeries.isNew(claim.uid),
    };
  }

  sceneOf(claim: ClaimRecord, exactFromMs: number): Scene {
    const { cluster, nodes, protection, truth } = this.#world;
    const watched = nodes.filter(({ agentPodUid }) => agentPodUid !== undefined);
    const uses = truth.usesOf(claim.uid);
    const mounts = uses.filter((use) => {
      return use.isShown && this.#endOf(use) === undefined && watched.some(({ name }) => name === use.node);
    });
    const staged = watched.filter((node) => stagedSince(node, claim.volume) !== undefined);
    const references = this.#referencesOf(claim);
    const pods = cluster.pods.all.filter((pod) => claimNamesOf(pod).includes(claim.name));
    const ends = [...uses.map(({ endedAt }) => endedAt ?? 0), ...pods.map(({ overAt }) => overAt ?? 0)];
    const last = Math.max(cluster.claims.madeAt(claim.uid) ?? 0, ...ends);
    return {
      mounts: mounts.map(({ pod, node }) => `${pod} has it mounted on ${node}`),
      references: references.map(({ key }) => `${key} refers to it`),
      // By whichever claim the pod had the volume: a recreated claim gets the pods of the one before.
      isInterrupted: truth.all.some(({ podUid, endedAt, claimUid }) => {
        const isOfVolume = cluster.claims.byUid(claimUid)?.volume.pv === claim.volume.pv;
        return endedAt !== undefined && isOfVolume && references.some(({ uid }) => uid === podUid);
      }),
      stagedOn: protection === "off" ? [] : staged.map(({ name }) => name),
      last: this.moment(last),
      mayBeLateMs: last >= exactFromMs ? EXACT_MS : undefined,
      withoutAgent: nodes.filter((node) => !watched.includes(node)).map(({ name }) => name),
      isLastNamed: last >= exactFromMs,
    };
  }

  /** True time as the API servers' clocks show it: they may differ, and Mooring may use any of them. */
  readonly moment = (trueMs: number): Moment => {
    const { engine, apiClocks } = this.#world;
    const wallMs = engine.trueWallMs() - engine.scheduler.nowMs() + trueMs;
    return { afterMs: wallMs + apiClocks.leastSince(trueMs), byMs: wallMs + apiClocks.most };
  };

  #lookalikesOf({ uid, name, volume }: ClaimRecord): Pick<Case, "lookalikes" | "lookalikesOn"> {
    const { cluster, truth, health, now } = this.#world;
    const inline = cluster.pods.all.filter((pod) => hasInline(pod, volume.pv));
    const unwatched = inline.filter((pod) => {
      const isShown = health.ledBy({ fromMs: pod.madeAt, toMs: now }, SEEN_MS) !== undefined;
      return !(pod.isThere && isShown);
    });
    const earlier = truth.all.filter(({ claimUid }) => {
      const other = cluster.claims.byUid(claimUid);
      return claimUid !== uid && (other?.name === name || other?.volume.pv === volume.pv);
    });
    return {
      lookalikes: [...unwatched.map((pod) => pod.uid), ...earlier.map(({ podUid }) => podUid)],
      lookalikesOn: inline.map(({ node }) => node),
    };
  }

  #disputeOf({ uid, volume }: ClaimRecord): string | undefined {
    const { cluster, unclear, truth, backups } = this.#world;
    const { claims } = cluster;
    // A creation time has no fraction of a second, and a mount may end at any time between two scans.
    const madeAt = (claims.madeAt(uid) ?? 0) - SEEN_MS;
    const isLeftBehind = truth.all.some(({ claimUid, endedAt = Number.POSITIVE_INFINITY }) => {
      return claimUid !== uid && endedAt >= madeAt && claims.byUid(claimUid)?.volume.pv === volume.pv;
    });
    if (backups.isRolledBack(uid)) return RESTORED;
    if (isLeftBehind) return "mounts of an earlier claim of its volume";
    return unclear.has(uid) ? "unmounted under a running pod" : undefined;
  }

  /** Pods that name the claim and are not over. No kubelet starts a pod that reaches its node after the deletion of the claim. */
  #referencesOf(claim: ClaimRecord): readonly PodRecord[] {
    return this.#world.cluster.pods.there.filter((pod) => {
      const isWaiting = claim.isDeleting && pod.node === "";
      return !pod.isOver && !isWaiting && meansClaim(pod, claim);
    });
  }

  useOf(use: TrueUse): Use {
    const { node, pod, podUid, isShown, beganAt } = use;
    const momentOf = (ms: number | undefined): Moment | undefined => (ms === undefined ? undefined : this.moment(ms));
    return {
      ...{ node, pod, podUid, isShown, isScanned: undefined },
      beganMs: beganAt,
      endedMs: this.#endOf(use),
      ended: momentOf(use.endedAt),
      promisedEnd: momentOf(this.#endOf(use)),
      isKnown: this.#isKnownNow(use),
      excuse: this.#excuseOf(use),
      unobserved: this.#isUnobserved(use) ? "unobserved: no agent and no replica saw it" : this.#whyExcludedNode(use),
      unnamed: this.#whyUnnamed(use),
    };
  }

  /**
   * docs/claim-status.md: a node that the volume's affinity now excludes is not a candidate, so that earlier unobserved uses there do not
   * count.
   */
  #whyExcludedNode(use: TrueUse): string | undefined {
    const { cluster, now } = this.#world;
    const pv = cluster.claims.byUid(use.claimUid)?.volume.pv ?? "";
    if (!cluster.placement.wasExcluded(pv, use.node, use.beganAt)) return undefined;
    return this.isKnown(use, { byMs: now, forMs: SEEN_MS }) ? undefined : "unobserved, on an excluded node";
  }

  #whyUnnamed(use: TrueUse): string | undefined {
    const { node: name, beganAt, endedAt = this.#world.now } = use;
    const { nodes, health } = this.#world;
    if (nodes.find((node) => node.name === name)?.disk.isSound !== true) return "the node's journal was lost";
    if (this.#reported.has(use)) return undefined;
    if (health.ledBy({ fromMs: beganAt, toMs: endedAt }, SEEN_MS, reportersOf(name)) === undefined)
      return "no leader had received a report of it";
    this.#reported.add(use);
    return undefined;
  }

  #isKnownNow(use: TrueUse): boolean {
    if (!this.#known.has(use) && this.isKnown(use, { byMs: this.#world.now, forMs: WRITES_MS })) this.#known.add(use);
    return this.#known.has(use);
  }

  /** The end that Mooring promises to know: where no agent scans a mount, the end of the pod in the API. */
  #endOf({ isShown, node, podUid, endedAt }: TrueUse): number | undefined {
    const overAt = this.#world.cluster.pods.byUid(podUid)?.overAt;
    if (isShown && !this.hadNoAgent(node, overAt ?? endedAt)) return endedAt;
    return endedAt === undefined || overAt === undefined ? (endedAt ?? overAt) : Math.min(endedAt, overAt);
  }

  /** The node had no agent at that time, and has been NoAgent for so long that the status of its pods counts. */
  hadNoAgent(node: string, atMs: number | undefined): boolean {
    const { withoutAgent, now, tempo } = this.#world;
    return withoutAgent.some((one) => {
      const isThen = atMs !== undefined && atMs >= one.removedMs && atMs <= one.toMs + tempo.reportsWithinMs;
      return one.node === node && isThen && now >= one.fromMs;
    });
  }

  /** Within the use a leader had no faults for this long, and its watch showed the pod, or an agent without faults reported the mount. */
  isKnown(use: TrueUse, { byMs, forMs }: Known): boolean {
    const { node, podUid, beganAt, endedAt = Number.POSITIVE_INFINITY } = use;
    const { health, cluster } = this.#world;
    const { overAt = byMs } = cluster.pods.byUid(podUid) ?? {};
    const isInTime = beganAt <= overAt;
    if (isInTime && health.ledBy({ fromMs: this.namedMs(use), toMs: Math.min(overAt, byMs) }, forMs) !== undefined)
      return true;
    return health.ledBy({ fromMs: beganAt, toMs: Math.min(endedAt, byMs) }, forMs, reportersOf(node)) !== undefined;
  }

  /** Since when its pod named this claim: a pod may wait for an ephemeral claim that is recreated. */
  namedMs({ podUid, claimUid, beganAt }: Pick<TrueUse, "podUid" | "claimUid" | "beganAt">): number {
    const { pods, claims } = this.#world.cluster;
    return Math.max(pods.byUid(podUid)?.boundAt ?? beganAt, claims.madeAt(claimUid) ?? 0);
  }

  #excuseOf(use: TrueUse): string | undefined {
    const world = this.#world;
    const pod = world.cluster.pods.byUid(use.podUid);
    if (world.wasDeclaredGone(use)) return "node declared gone";
    if (pod?.overAt !== undefined && pod.overAt < use.beganAt) return "mounted after its pod had ended";
    const isByPodOnly = !use.isShown || this.hadNoAgent(use.node, world.now);
    if (isByPodOnly && !this.#isPodWatched(use)) return "no mount to scan, and no watch showed its pod";
    const isGone = pod?.isThere !== true && !this.isKnown(use, { byMs: world.now, forMs: SEEN_MS });
    return isGone && !this.#reports(use.node) ? "its node does not report, and its pod went unseen" : undefined;
  }

  /** The promise is about nodes that report: within `node-stale-after` a leader could receive a report of the node's agent. */
  #reports(node: string): boolean {
    const { health, now, tempo } = this.#world;
    const fromMs = now - tempo.limits.nodeStaleAfterMs;
    return health.ledBy({ fromMs, toMs: now }, SEEN_MS, reportersOf(node)) !== undefined;
  }

  #isPodWatched(use: TrueUse): boolean {
    const { cluster, health, now } = this.#world;
    const overAt = cluster.pods.byUid(use.podUid)?.overAt;
    if (overAt === undefined) return this.isKnown(use, { byMs: now, forMs: SEEN_MS });
    return health.ledBy({ fromMs: overAt - SEEN_MS, toMs: overAt }, SEEN_MS) !== undefined;
  }

  /**
   * docs/claim-status.md: a use between two scans of a pod that no replica saw, or one before the first leader that no scan showed; and a
   * use on a machine with a recreated Node object and an empty disk.
   */
  #isUnobserved({ node: name, podUid, beganAt, endedAt }: TrueUse): boolean {
    const { nodes, cluster, health, now } = this.#world;
    const node = nodes.find((one) => one.name === name);
    if (node === undefined || endedAt === undefined) return false;
    if (endedAt <= (node.disk.emptyAt ?? 0) && cluster.wasRecreated(name)) return true;
    const { madeAt = beganAt, overAt = now } = cluster.pods.byUid(podUid) ?? {};
    if (health.ledBy({ fromMs: madeAt, toMs: overAt }, SEEN_MS) !== undefined) return false;
    const firstMs = health.ledBy({ fromMs: 0, toMs: now }, SEEN_MS) ?? now;
    const isBeforeAll = overAt < firstMs && node.scans.hasNoScanIn({ beganAt, endedAt });
    return isBeforeAll || node.scans.enclose({ beganAt, endedAt });
  }
}

/** What has to be without faults so that a node reports a mount. */
export function reportersOf(node: string): readonly string[] {
  return [`agent-${node}`, scansOf(node)];
}

function hasInline({ volumes }: PodRecord, pv: string): boolean {
  return volumes.some((volume) => volume.by === "inline" && volume.name === pv);
}
