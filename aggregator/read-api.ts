import type { KubeClient } from "../common/kube/client.ts";
import type { Clock } from "../common/runtime/clock.ts";
import type { Route } from "../common/runtime/http-server.ts";
import type { Claim } from "../common/storage/claim.ts";
import { formatMillisecondsUp } from "../common/storage/timestamp.ts";
import type { DecidedClaim } from "./core/claim-facts.ts";
import { CLAIM_PARAMETERS } from "./core/claim-query.ts";
import { type IdleStagings, idleStagings, NO_STAGINGS } from "./core/idle-staging.ts";
import type { NodeView } from "./core/node-view.ts";
import type { Standing } from "./core/standing.ts";
import { VOLUME_PARAMETERS } from "./core/volume-query.ts";
import type { FleetState } from "./fleet-state.ts";
import { claimListing } from "./sources/claim-listing.ts";
import type { Cluster } from "./sources/cluster.ts";
import { Pager } from "./sources/list-pager.ts";
import { type ListHead, listRoute } from "./sources/list-route.ts";
import { NODE_PARAMETERS, type NodeSources, nodeListing } from "./sources/node-listing.ts";
import { type VolumeSources, volumeListing } from "./sources/volume-listing.ts";

/** What the read API answers from. */
export interface ReadApiParts {
  readonly clock: Clock;
  readonly client: Pick<KubeClient, "serverTime">;
  readonly cluster: Cluster;
  readonly fleet: FleetState;
  readonly standingOf: (node: string) => Standing;
  /** What the node showed last counts as ended. */
  readonly isOver: (node: string) => boolean;
  readonly claimFacts: (key: string) => DecidedClaim | undefined;
  /** Claims that wait for a node's word, and some that did a moment ago. */
  readonly waitingClaims: () => ReadonlySet<string>;
  /** How many nodes are to report, and have not since leading began. */
  readonly unreported: () => number;
  /** Nothing but protection keeps the claim from going. */
  readonly isDeletionHeld: (claim: Claim) => boolean;
  readonly clusterUid: () => string | undefined;
  /** Everything has been listed from the API server. */
  readonly isSynced: () => boolean;
}

/** Where the lists are. */
export const LIST_PATHS = ["/v1/claims", "/v1/volumes", "/v1/nodes"] as const;

/** `/v1/claims`, `/v1/volumes` and `/v1/nodes`. */
export class ReadApi {
  readonly #parts: ReadApiParts;
  readonly #stagings = new Map<string, IdleStagings>();

  constructor(parts: ReadApiParts) {
    this.#parts = parts;
  }

  /** A report with news was accepted. */
  onReport(view: NodeView): void {
    const { cluster, fleet } = this.#parts;
    this.#stagings.set(view.node, idleStagings(this.#stagings.get(view.node) ?? NO_STAGINGS, view, cluster));
    if (this.#stagings.size <= fleet.size) return;
    for (const node of this.#stagings.keys()) if (fleet.view(node) === undefined) this.#stagings.delete(node);
  }

  /** Pages that are being made when the signal is aborted are not finished. */
  routes(signal: AbortSignal): readonly Route[] {
    const lists = { pager: new Pager(this.#parts.clock, signal), head: () => this.#head() };
    const [volumes, nodes] = [this.#volumeSources(), this.#nodeSources()];
    return [
      listRoute(
        {
          path: "/v1/claims",
          kind: "ClaimList",
          parameters: Object.values(CLAIM_PARAMETERS),
          orderOf: (query) => `claims/${query.one(CLAIM_PARAMETERS.sort) ?? "key"}`,
          open: (query) => claimListing(query, volumes),
        },
        lists,
      ),
      listRoute(
        {
          path: "/v1/volumes",
          kind: "VolumeList",
          parameters: Object.values(VOLUME_PARAMETERS),
          orderOf: () => "volumes",
          open: (query) => volumeListing(query, volumes),
        },
        lists,
      ),
      listRoute(
        {
          path: "/v1/nodes",
          kind: "NodeList",
          parameters: Object.values(NODE_PARAMETERS),
          orderOf: () => "nodes",
          open: (query) => nodeListing(query, nodes),
        },
        lists,
      ),
    ];
  }

  #head(): ListHead | undefined {
    const { isSynced, clusterUid, client, standingOf } = this.#parts;
    if (!isSynced() || client.serverTime() === undefined) return undefined;
    const names = this.#nodeNames();
    return {
      cluster: clusterUid() ?? null,
      serverTime: formatMillisecondsUp(Math.floor(this.#earliestMs())),
      synced: true,
      nodes: {
        total: names.length,
        silent: names.filter((name) => standingOf(name).kind === "silent").length,
        unheard: this.#parts.unreported(),
      },
    };
  }

  #nodeNames(): readonly string[] {
    const { cluster, fleet } = this.#parts;
    return [...new Set([...cluster.nodeNames(), ...fleet.nodes()])];
  }

  #earliestMs(): number {
    const time = this.#parts.client.serverTime();
    return time === undefined ? 0 : time.latestMs - time.widthMs;
  }

  #volumeSources(): VolumeSources {
    const { cluster, fleet, standingOf, claimFacts, waitingClaims, isDeletionHeld, isOver } = this.#parts;
    return {
      cluster,
      isOver,
      claimFacts,
      waitingClaims,
      isDeletionHeld,
      view: (node) => fleet.view(node),
      viewsOf: (volumes) => fleet.viewsOf(volumes),
      words: {
        stateOf: (node) => standingOf(node).kind,
        isKnown: (node) => fleet.view(node) !== undefined,
        podName: (uid) => cluster.podByUid(uid)?.key,
        isPodThere: cluster.isPodThere,
      },
      earliestMs: () => this.#earliestMs(),
      idleSince: (node, uid) => this.#stagings.get(node)?.get(uid),
      idleVolumes: () => new Set([...this.#stagings.values()].flatMap((idle) => [...idle.keys()])),
    };
  }

  #nodeSources(): NodeSources {
    const { cluster, fleet, standingOf, client } = this.#parts;
    return {
      nodeNames: () => this.#nodeNames(),
      stateOf: (name) => standingOf(name).kind,
      standingOf: (name) => ({
        name,
        object: cluster.node(name),
        view: fleet.view(name),
        lastReportAgeMs: fleet.lastReportAgeMs(name),
        standing: standingOf(name),
      }),
      nowMs: () => client.serverTime()?.latestMs ?? 0,
    };
  }
}
