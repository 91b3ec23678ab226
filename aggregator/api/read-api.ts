import type { Claim } from "../../common/storage/claim.ts";
import { formatMillisecondsUp } from "../../common/storage/timestamp.ts";
import {
  type ClaimObservation,
  claimEntryOf,
  type VolumeObservation,
  volumeEntryOf,
} from "../core/api/list-entries.ts";
import { nodeEntryOf } from "../core/api/node-entry.ts";
import { claimsOf, type Fact } from "../core/claims/attribution.ts";
import type { ClaimFacts } from "../core/claims/decide.ts";
import type { Volume } from "../core/cluster-objects.ts";
import type { NodeView } from "../core/nodes/node-view.ts";
import { claimOfVolume, identitiesOf, idleStagings, mayMount, volumeUse } from "../core/volumes/use.ts";
import type { AgentStates } from "../nodes/agent-states.ts";
import type { FleetState } from "../nodes/fleet-state.ts";
import type { SharedParts } from "../sources/cluster.ts";
import { asksFor, type ListFilter, type ListHead, type ListSource } from "../sources/list-stream.ts";

interface ReadApiParts extends SharedParts {
  readonly fleet: FleetState;
  readonly agentStates: Pick<AgentStates, "of" | "assumedEnd">;
  /** What the claim's status depends on now. */
  readonly claimFacts: (key: string) => ClaimFacts | undefined;
  readonly isDeletionHeld: (claim: Claim) => boolean;
  /** How many nodes are expected to report and have not since leading began. */
  readonly unreported: () => number;
  /** Aborted when this process no longer leads. */
  readonly signal: AbortSignal;
}

/** `/v1/claims`, `/v1/volumes` and `/v1/nodes`. */
export class ReadApi implements ListSource {
  readonly signal: AbortSignal;
  readonly #parts: ReadApiParts;
  readonly #stagings = new Map<string, ReturnType<typeof idleStagings>>();

  constructor(parts: ReadApiParts) {
    this.#parts = parts;
    this.signal = parts.signal;
  }

  /** A report with changes was accepted. */
  onReport(view: NodeView): void {
    const { cluster, fleet } = this.#parts;
    this.#stagings.set(view.node, idleStagings(this.#stagings.get(view.node), view, cluster));
    if (this.#stagings.size <= fleet.size) return;
    for (const node of this.#stagings.keys()) if (fleet.view(node) === undefined) this.#stagings.delete(node);
  }

  entries(kind: Parameters<ListSource["entries"]>[0], filter: ListFilter): Iterable<object | undefined> {
    if (kind === "ClaimList") return this.#claims(filter);
    return kind === "VolumeList" ? this.#volumes(filter) : this.#nodes(filter);
  }

  *#claims(filter: ListFilter): Iterable<object | undefined> {
    const { cluster, claimFacts } = this.#parts;
    for (const { key, namespace, name } of cluster.claims()) {
      const isAsked = asksFor(filter, "namespace", namespace) && asksFor(filter, "name", name);
      const facts = isAsked ? claimFacts(key) : undefined;
      yield facts && claimEntryOf(this.#observeClaim(facts), this.#parts);
    }
  }

  *#volumes(filter: ListFilter): Iterable<object | undefined> {
    for (const volume of this.#parts.cluster.allVolumes())
      yield asksFor(filter, "name", volume.key) ? volumeEntryOf(this.#observeVolume(volume), this.#parts) : undefined;
  }

  *#nodes(filter: ListFilter): Iterable<object | undefined> {
    for (const name of this.#nodeNames()) yield asksFor(filter, "name", name) ? this.#nodeEntry(name) : undefined;
  }

  #nodeEntry(name: string): object {
    const { cluster, fleet, agentStates, client } = this.#parts;
    const [object, view, agentState] = [cluster.node(name), fleet.view(name), agentStates.of(name)];
    const lastReportAgeMs = fleet.lastReportAgeMs(name);
    return nodeEntryOf({ name, object, view, lastReportAgeMs, agentState }, client.serverTime()?.latestMs ?? 0);
  }

  head(): ListHead {
    const { cluster, agentStates, unreported } = this.#parts;
    const names = [...this.#nodeNames()];
    const stale = names.filter((name) => agentStates.of(name).kind === "Stale").length;
    return {
      cluster: cluster.uid() ?? null,
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

  #observeClaim(facts: ClaimFacts): ClaimObservation {
    const { cluster, fleet, isDeletionHeld } = this.#parts;
    const { claim } = facts;
    const { volume } = claim;
    const identities = volume === undefined ? [] : identitiesOf(volume, cluster.volumeByName(volume)?.csi);
    const isOurs = (fact: Fact): boolean => claimsOf(fact, cluster).some(({ uid }) => uid === claim.uid);
    const use = volumeUse(fleet.shownOf(identities, isOurs));
    const [using, referring] = [new Set(facts.usedOn), new Set(facts.references)];
    return {
      ...facts,
      phaseSince: cluster.claimPhaseSince(claim),
      // The last report of a node that is Gone no longer counts.
      use: { ...use, used: use.used.filter(({ node }) => using.has(node)) },
      references: cluster.podsOf(claim.key).filter(({ key, isTerminal }) => referring.has(key) && !isTerminal),
      isDeletionHeld: isDeletionHeld(claim),
    };
  }

  #observeVolume(volume: Volume): VolumeObservation {
    const { cluster, fleet, agentStates } = this.#parts;
    const isOver = (node: string): boolean => agentStates.assumedEnd(node) !== undefined;
    const identities = identitiesOf(volume.key, volume.csi);
    const isOwn = (fact: Fact): boolean => mayMount(fact, volume, cluster);
    const pods = volume.claim === undefined ? [] : cluster.podsOf(volume.claim.key);
    const { used, staged } = volumeUse(fleet.shownOf(identities, isOwn));
    return {
      volume,
      claimUse: claimOfVolume(volume, cluster.claim)?.status,
      phaseSince: cluster.phaseSince(volume),
      use: { used: used.filter(({ node }) => !isOver(node)), staged },
      references: pods.filter(({ isTerminal }) => !isTerminal),
      attached: cluster.nodesWith(volume).toSorted(),
      // A node that is off has nothing to unstage.
      idleSince: (node) => (isOver(node) ? undefined : this.#stagings.get(node)?.sinceMs.get(volume.uid)),
      nowMs: this.#earliestMs(),
    };
  }
}
