import type { KubeClient } from "../../common/kube/client.ts";
import type { Clock } from "../../common/runtime/clock.ts";
import type { Route } from "../../common/runtime/http-server.ts";
import type { Claim } from "../../common/storage/claim.ts";
import { formatMillisecondsUp } from "../../common/storage/timestamp.ts";
import type { AgentState } from "../core/agent-state.ts";
import { claimEntryOf } from "../core/claim-entry.ts";
import type { DecidedClaim } from "../core/claim-facts.ts";
import type { EntryLookup } from "../core/entry-parts.ts";
import { type IdleStagings, idleStagings, NO_STAGINGS } from "../core/idle-staging.ts";
import { asksFor } from "../core/list-filter.ts";
import { nodeEntryOf } from "../core/node-entry.ts";
import type { NodeView } from "../core/node-view.ts";
import { volumeEntryOf } from "../core/volume-entry.ts";
import type { FleetState } from "../nodes/fleet-state.ts";
import type { Cluster } from "../sources/cluster.ts";
import { type ListHead, type ListSpec, listRoutes } from "../sources/list-stream.ts";
import { claimObservation, type ObservationSources, volumeObservation } from "../sources/observations.ts";

/** What the read API answers from. */
export interface ReadApiParts {
  readonly clock: Clock;
  readonly client: Pick<KubeClient, "serverTime">;
  readonly cluster: Cluster;
  readonly fleet: FleetState;
  readonly agentStateOf: (node: string) => AgentState;
  /** The node's mounts count as ended. */
  readonly isOver: (node: string) => boolean;
  /** What the claim's status depends on now. */
  readonly claimFacts: (key: string) => DecidedClaim | undefined;
  /** How many nodes are expected to report and have not since leading began. */
  readonly unreported: () => number;
  /** The claim is being deleted, and protection alone keeps it. */
  readonly isDeletionHeld: (claim: Claim) => boolean;
  readonly clusterUid: () => string | undefined;
}

/** The paths of the lists, and the query parameters that they accept. */
export const LISTS = {
  "/v1/claims": ["namespace", "name"],
  "/v1/volumes": ["name"],
  "/v1/nodes": ["name"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** `/v1/claims`, `/v1/volumes` and `/v1/nodes`. */
export class ReadApi {
  readonly #parts: ReadApiParts;
  readonly #stagings = new Map<string, IdleStagings>();

  constructor(parts: ReadApiParts) {
    this.#parts = parts;
  }

  /** A report with changes was accepted. */
  onReport(view: NodeView): void {
    const { cluster, fleet } = this.#parts;
    this.#stagings.set(view.node, idleStagings(this.#stagings.get(view.node) ?? NO_STAGINGS, view, cluster));
    if (this.#stagings.size <= fleet.size) return;
    for (const node of this.#stagings.keys()) if (fleet.view(node) === undefined) this.#stagings.delete(node);
  }

  /** An aborted signal cuts the lists that are under way. */
  routes(signal: AbortSignal): readonly Route[] {
    const specs = [this.#claims(), this.#volumes(), this.#nodes()];
    return listRoutes(specs, { clock: this.#parts.clock, head: () => this.#head() }, signal);
  }

  #claims(): ListSpec {
    const { cluster, claimFacts } = this.#parts;
    const [sources, lookup] = [this.#sources(), this.#lookup()];
    const entries: ListSpec["entries"] = function* (filter) {
      for (const { key, namespace, name } of cluster.claims()) {
        const isAsked = asksFor(filter, "namespace", namespace) && asksFor(filter, "name", name);
        const facts = isAsked ? claimFacts(key) : undefined;
        yield facts && claimEntryOf(claimObservation(facts, sources), lookup);
      }
    };
    return { path: "/v1/claims", kind: "ClaimList", parameters: LISTS["/v1/claims"], entries };
  }

  #volumes(): ListSpec {
    const { cluster } = this.#parts;
    const [sources, lookup] = [this.#sources(), this.#lookup()];
    const entries: ListSpec["entries"] = function* (filter) {
      for (const volume of cluster.allVolumes())
        yield asksFor(filter, "name", volume.key)
          ? volumeEntryOf(volumeObservation(volume, sources), lookup)
          : undefined;
    };
    return { path: "/v1/volumes", kind: "VolumeList", parameters: LISTS["/v1/volumes"], entries };
  }

  #nodes(): ListSpec {
    const { cluster, fleet, agentStateOf, client } = this.#parts;
    const names = (): Iterable<string> => this.#nodeNames();
    const entryOf = (name: string): object => {
      const [object, view, agentState] = [cluster.node(name), fleet.view(name), agentStateOf(name)];
      const lastReportAgeMs = fleet.lastReportAgeMs(name);
      return nodeEntryOf({ name, object, view, lastReportAgeMs, agentState }, client.serverTime()?.latestMs ?? 0);
    };
    const entries: ListSpec["entries"] = function* (filter) {
      for (const name of names()) yield asksFor(filter, "name", name) ? entryOf(name) : undefined;
    };
    return { path: "/v1/nodes", kind: "NodeList", parameters: LISTS["/v1/nodes"], entries };
  }

  #head(): ListHead | undefined {
    const { clusterUid, client, agentStateOf, unreported } = this.#parts;
    if (client.serverTime() === undefined) return undefined;
    let [total, stale] = [0, 0];
    for (const name of this.#nodeNames()) {
      total += 1;
      if (agentStateOf(name).kind === "Stale") stale += 1;
    }
    return {
      cluster: clusterUid() ?? null,
      serverTime: formatMillisecondsUp(Math.floor(this.#earliestMs())),
      nodes: { total, stale, unreported: unreported() },
    };
  }

  /** Every Node of the cluster, and every node that has reported: either may exist without the other. */
  #nodeNames(): ReadonlySet<string> {
    const { cluster, fleet } = this.#parts;
    return new Set([...cluster.nodeNames(), ...fleet.nodes()]);
  }

  #earliestMs(): number {
    const time = this.#parts.client.serverTime();
    return time === undefined ? 0 : time.latestMs - time.widthMs;
  }

  #sources(): ObservationSources {
    const { fleet } = this.#parts;
    return {
      ...this.#parts,
      viewsOf: (volumes) => fleet.viewsOf(volumes),
      earliestMs: () => this.#earliestMs(),
      idleSince: (node, uid) => this.#stagings.get(node)?.get(uid),
    };
  }

  #lookup(): EntryLookup {
    const { cluster, fleet, agentStateOf } = this.#parts;
    return {
      stateOf: (node) => agentStateOf(node).kind,
      isKnown: (node) => fleet.view(node) !== undefined,
      podName: (uid) => cluster.podByUid(uid)?.key,
      isPodThere: cluster.isPodThere,
    };
  }
}
