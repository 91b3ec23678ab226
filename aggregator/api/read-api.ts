import { earliestMsOf } from "../../common/kube/server-clock.ts";
import type { Claim } from "../../common/storage/claim.ts";
import { formatMillisecondsUp } from "../../common/storage/timestamp.ts";
import type { VolumeIdentity } from "../../common/storage/volume-identity.ts";
import { claimEntryOf, volumeEntryOf } from "../core/api/list-entries.ts";
import { nodeEntryOf } from "../core/api/node-entry.ts";
import { claimsOf, type Fact } from "../core/claims/attribution.ts";
import type { ClaimFacts } from "../core/claims/decide.ts";
import type { Volume } from "../core/cluster-objects.ts";
import type { NodeView } from "../core/nodes/node-view.ts";
import {
  claimOfVolume,
  type IdleStagings,
  identitiesOf,
  idleStagings,
  mayMount,
  type VolumeUse,
  volumeUse,
} from "../core/volumes/use.ts";
import type { AgentStates } from "../nodes/agent-states.ts";
import type { FleetState } from "../nodes/fleet-state.ts";
import type { SharedParts } from "../sources/cluster.ts";
import type { Listed, ListHead, ListSource } from "../sources/list-stream.ts";

interface ReadApiParts extends SharedParts {
  readonly fleet: FleetState;
  readonly agentStates: Pick<AgentStates, "of" | "assumedEnd">;
  readonly claimFacts: (key: string) => ClaimFacts | undefined;
  readonly isDeletionHeld: (claim: Claim) => boolean;
  readonly unreported: () => number;
  readonly signal: AbortSignal;
}

/** `/v1/claims`, `/v1/volumes` and `/v1/nodes`. */
export class ReadApi implements ListSource {
  readonly signal: AbortSignal;
  readonly #parts: ReadApiParts;
  readonly #stagings = new Map<string, IdleStagings>();

  constructor(parts: ReadApiParts) {
    this.#parts = parts;
    this.signal = parts.signal;
  }

  /** A report with changes was accepted. */
  onReport(view: NodeView): void {
    const { cluster, fleet } = this.#parts;
    this.#stagings.set(view.node, idleStagings(this.#stagings.get(view.node), view, cluster));
    if (this.#stagings.size <= fleet.nodes().length) return;
    for (const node of this.#stagings.keys()) if (fleet.view(node) === undefined) this.#stagings.delete(node);
  }

  objects(kind: Parameters<ListSource["objects"]>[0]): Iterable<Listed> {
    const { client, cluster } = this.#parts;
    const nodeEntry = (name: string) => nodeEntryOf(name, this.#parts, client.serverTime()?.latestMs ?? 0);
    if (kind === "NodeList") return this.#nodeNames().map((name) => ({ name, entry: () => nodeEntry(name) }));
    if (kind === "VolumeList")
      return Iterator.from(cluster.allVolumes()).map((one) => ({ name: one.key, entry: () => this.#volumeEntry(one) }));
    return Iterator.from(cluster.claims()).map(({ key, namespace, name }) => {
      return { namespace, name, entry: () => this.#claimEntry(key) };
    });
  }

  head(): ListHead {
    const { cluster, client, agentStates, unreported } = this.#parts;
    const names = this.#nodeNames();
    const stale = names.filter((name) => agentStates.of(name).kind === "Stale").length;
    return {
      cluster: cluster.uid() ?? null,
      serverTime: formatMillisecondsUp(Math.floor(earliestMsOf(client.serverTime()) ?? 0)),
      nodes: { total: names.length, stale, unreported: unreported() },
    };
  }

  /** Every Node of the cluster, and every node that has reported: either may exist without the other. */
  #nodeNames(): readonly string[] {
    const { cluster, fleet } = this.#parts;
    return [...new Set([...cluster.nodeNames(), ...fleet.nodes()])];
  }

  /** Where mounts count: the last report of a node that is Gone no longer does. */
  #useOf(identities: readonly VolumeIdentity[], isOwn: (fact: Fact) => boolean): VolumeUse {
    const { agentStates, fleet } = this.#parts;
    const shown = fleet.shownOf(identities, isOwn);
    return volumeUse(shown.filter(({ view }) => agentStates.assumedEnd(view.node) === undefined));
  }

  #claimEntry(key: string): object | undefined {
    const { cluster, claimFacts, isDeletionHeld } = this.#parts;
    const facts = claimFacts(key);
    if (facts === undefined) return undefined;
    const { claim } = facts;
    const { volume } = claim;
    const identities = volume === undefined ? [] : identitiesOf(volume, cluster.volumeByName(volume)?.csi);
    const referring = new Set(facts.references);
    const observed = {
      ...facts,
      phaseSince: cluster.claimPhaseSince(claim),
      use: this.#useOf(identities, (fact) => claimsOf(fact, cluster).some(({ uid }) => uid === claim.uid)),
      references: cluster.podsOf(key).filter((pod) => referring.has(pod.key) && !pod.isTerminal),
      isDeletionHeld: isDeletionHeld(claim),
    };
    return claimEntryOf(observed, this.#parts);
  }

  #volumeEntry(volume: Volume): object {
    const { cluster, client } = this.#parts;
    const pods = volume.claim === undefined ? [] : cluster.podsOf(volume.claim.key);
    const observed = {
      volume,
      claimUse: claimOfVolume(volume, cluster.claim)?.status,
      phaseSince: cluster.phaseSince(volume),
      use: this.#useOf(identitiesOf(volume.key, volume.csi), (fact) => mayMount(fact, volume, cluster)),
      references: pods.filter(({ isTerminal }) => !isTerminal),
      attached: cluster.nodesWith(volume).toSorted(),
      idleSince: (node: string) => this.#stagings.get(node)?.sinceMs.get(volume.uid),
      nowMs: earliestMsOf(client.serverTime()) ?? 0,
    };
    return volumeEntryOf(observed, this.#parts);
  }
}
