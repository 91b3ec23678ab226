import type { NodeFacts } from "../../../common/storage/node-facts.ts";
import type { MountKind } from "../../../common/storage/volume-identity.ts";
import type { Node } from "../cluster-objects.ts";
import type { AgentState } from "../nodes/agent-state.ts";
import type { NodeView } from "../nodes/node-view.ts";

export interface NodeLookup {
  readonly cluster: { readonly node: (name: string) => Node | undefined };
  readonly fleet: {
    readonly view: (name: string) => NodeView | undefined;
    readonly lastReportAgeMs: (name: string) => number | undefined;
  };
  readonly agentStates: { readonly of: (name: string) => AgentState };
}

type Known<T> = { readonly [K in keyof T]-?: Exclude<T[K], undefined> | null };

/** A line of `/v1/nodes`. `null` means unknown, ages are milliseconds. `nowMs` is the API server's wall clock. */
export function nodeEntryOf(name: string, { cluster, fleet, agentStates }: NodeLookup, nowMs: number) {
  const [object, view, agentState] = [cluster.node(name), fleet.view(name), agentStates.of(name)];
  const lastReportAgeMs = fleet.lastReportAgeMs(name);
  const ageOf = (atMs: number | undefined): number | null =>
    atMs === undefined ? null : Math.max(0, Math.round(nowMs - atMs));
  return {
    name,
    state: agentState.kind,
    stateReason: agentState.why,
    lastReportAgeMs: lastReportAgeMs === undefined ? null : Math.round(lastReportAgeMs),
    bootId: view?.bootId ?? object?.bootId ?? null,
    agentInstance: view?.instance ?? null,
    // Of the last complete scan of the mount table.
    scanBeganAgeMs: ageOf(view?.scanBeganMs),
    scanEndedAgeMs: ageOf(view?.scanEndedMs),
    mounts: view === undefined ? null : mountsByKind(view),
    // Unmounts that may still change a claim's status.
    unmountsPending: view?.unmountRecords.size ?? null,
    facts: factsOf(view?.facts ?? {}, object),
  };
}

function mountsByKind({ mountedVolumes }: NodeView): Readonly<Record<MountKind, number>> {
  const counts = { pod: 0, subpath: 0, block: 0, staging: 0 };
  for (const { kind } of mountedVolumes) counts[kind] += 1;
  return counts;
}

/** An agent in a container cannot see the node's distribution; the kubelet can. */
function factsOf(reported: NodeFacts, object: Node | undefined): Known<NodeFacts> {
  return {
    kernel: reported.kernel ?? null,
    architecture: reported.architecture ?? null,
    distribution: reported.distribution ?? object?.distribution ?? null,
    containerRuntime: object?.containerRuntime ?? reported.containerRuntime ?? null,
    cgroup: reported.cgroup ?? null,
    selinux: reported.selinux ?? null,
    apparmor: reported.apparmor ?? null,
    mountNamespace: reported.mountNamespace ?? null,
  };
}
