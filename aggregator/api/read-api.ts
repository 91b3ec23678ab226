import type { KubeParts } from "../../common/kube/client.ts";
import type { Route } from "../../common/runtime/http-server.ts";
import { formatMillisecondsUp } from "../../common/storage/timestamp.ts";
import { claimEntryOf } from "../core/api/claim-entry.ts";
import type { EntryLookup } from "../core/api/entry-parts.ts";
import { asksFor } from "../core/api/list-filter.ts";
import { nodeEntryOf } from "../core/api/node-entry.ts";
import { volumeEntryOf } from "../core/api/volume-entry.ts";
import type { DecidedClaim } from "../core/claims/evidence.ts";
import { type IdleStagings, idleStagings } from "../core/nodes/idle-staging.ts";
import type { NodeView } from "../core/nodes/node-view.ts";
import type { AgentStates } from "../nodes/agent-states.ts";
import type { FleetState } from "../nodes/fleet-state.ts";
import type { Cluster } from "../sources/cluster.ts";
import { type ListHead, type ListSpec, listRoutes } from "../sources/list-stream.ts";
import { claimObservation, type ObservationSources, volumeObservation } from "../sources/observations.ts";

/** What the read API answers from. */
interface ReadApiParts extends Pick<KubeParts, "clock" | "client">, Pick<ObservationSources, "isDeletionHeld"> {
  readonly cluster: Cluster;
  readonly fleet: FleetState;
  readonly agentStates: Pick<AgentStates, "of" | "assumedEnd">;
  /** What the claim's status depends on now. */
  readonly claimFacts: (key: string) => DecidedClaim | undefined;
  /** How many nodes are expected to report and have not since leading began. */
  readonly unreported: () => number;
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
    this.#stagings.set(view.node, idleStagings(this.#stagings.get(view.node), view, cluster));
    if (this.#stagings.size <= fleet.size) return;
    for (const node of this.#stagings.keys()) if (fleet.view(node) === undefined) this.#stagings.delete(node);
  }

  /** An aborted signal cuts the lists that are under way. */
  routes(signal: AbortSignal): readonly Route[] {
    const specs = [
      { path: "/v1/claims", kind: "ClaimList", entries: this.#claims() },
      { path: "/v1/volumes", kind: "VolumeList", entries: this.#volumes() },
      { path: "/v1/nodes", kind: "NodeList", entries: this.#nodes() },
    ] as const;
    const lists = specs.map((spec) => ({ ...spec, parameters: LISTS[spec.path] }));
    return listRoutes(lists, { clock: this.#parts.clock, head: () => this.#head() }, signal);
  }

  #claims(): ListSpec["entries"] {
    const { cluster, claimFacts } = this.#parts;
    const [sources, lookup] = [this.#sources(), this.#lookup()];
    return function* (filter) {
      for (const { key, namespace, name } of cluster.claims()) {
        const isAsked = asksFor(filter, "namespace", namespace) && asksFor(filter, "name", name);
        const facts = isAsked ? claimFacts(key) : undefined;
        yield facts && claimEntryOf(claimObservation(facts, sources), lookup);
      }
    };
  }

  #volumes(): ListSpec["entries"] {
    const { cluster } = this.#parts;
    const [sources, lookup] = [this.#sources(), this.#lookup()];
    return function* (filter) {
      for (const volume of cluster.allVolumes())
        yield asksFor(filter, "name", volume.key)
          ? volumeEntryOf(volumeObservation(volume, sources), lookup)
          : undefined;
    };
  }

  #nodes(): ListSpec["entries"] {
    const { cluster, fleet, agentStates, client } = this.#parts;
    const names = (): Iterable<string> => this.#nodeNames();
    const entryOf = (name: string): object => {
      const [object, view, agentState] = [cluster.node(name), fleet.view(name), agentStates.of(name)];
      const lastReportAgeMs = fleet.lastReportAgeMs(name);
      return nodeEntryOf({ name, object, view, lastReportAgeMs, agentState }, client.serverTime()?.latestMs ?? 0);
    };
    return function* (filter) {
      for (const name of names()) yield asksFor(filter, "name", name) ? entryOf(name) : undefined;
    };
  }

  #head(): ListHead | undefined {
    const { clusterUid, client, agentStates, unreported } = this.#parts;
    if (client.serverTime() === undefined) return undefined;
    const names = [...this.#nodeNames()];
    const stale = names.filter((name) => agentStates.of(name).kind === "Stale").length;
    return {
      cluster: clusterUid() ?? null,
      serverTime: formatMillisecondsUp(Math.floor(this.#earliestMs())),
      nodes: { total: names.length, stale, unreported: unreported() },
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
    const { agentStates, fleet } = this.#parts;
    return {
      ...this.#parts,
      isOver: (node) => agentStates.assumedEnd(node) !== undefined,
      viewsOf: (volumes) => fleet.viewsOf(volumes),
      earliestMs: () => this.#earliestMs(),
      idleSince: (node, uid) => this.#stagings.get(node)?.get(uid),
    };
  }

  #lookup(): EntryLookup {
    const { cluster, fleet, agentStates } = this.#parts;
    return {
      stateOf: (node) => agentStates.of(node).kind,
      isKnown: (node) => fleet.view(node) !== undefined,
      podName: (uid) => cluster.podByUid(uid)?.key,
      isPodThere: cluster.isPodThere,
    };
  }
}
