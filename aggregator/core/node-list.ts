import type { NodeFacts } from "../../common/storage/node-facts.ts";
import type { HoldKind } from "../../common/storage/volume-identity.ts";
import type { Node } from "./cluster-objects.ts";
import type { NodeView } from "./node-view.ts";
import type { Standing } from "./standing.ts";

/** What is known of one node when somebody asks. */
export interface NodeStanding {
  readonly name: string;
  /** Its Node object, or nothing when there is none. */
  readonly object: Node | undefined;
  /** What its last accepted report says, or nothing before the first. */
  readonly view: NodeView | undefined;
  readonly lastReportAgeMs: number | undefined;
  readonly standing: Standing;
}

type Known<T> = { readonly [K in keyof T]-?: Exclude<T[K], undefined> | null };

/** A node in the answer of `/v1/nodes`. Every field is always there, `null` is not known. Ages are milliseconds. */
export interface NodeItem {
  readonly name: string;
  readonly standing: Standing["kind"];
  /** Why it is taken for that; for people to read. */
  readonly standingReason: string;
  readonly silent: boolean;
  readonly lastReportAgeMs: number | null;
  readonly bootId: string | null;
  /** Identifies one run of the agent. */
  readonly agentInstance: string | null;
  /** Of the last complete read of the mount table. */
  readonly readBeganAgeMs: number | null;
  readonly readEndedAgeMs: number | null;
  /** By kind. */
  readonly holds: Readonly<Record<HoldKind, number>> | null;
  /** Ends of use that may still change a claim's status. */
  readonly releasesPending: number | null;
  readonly facts: Known<NodeFacts>;
}

/** The answer of `/v1/nodes`. Fields are only ever added. */
export interface NodeList {
  readonly apiVersion: "api.mooring.dev/v1";
  readonly kind: "NodeList";
  readonly items: readonly NodeItem[];
}

/** The nodes by name; `nowMs` is the API server's wall clock, as are the times of the views. */
export function nodeList(nodes: readonly NodeStanding[], nowMs: number): NodeList {
  const items = nodes.map((node) => itemOf(node, nowMs)).toSorted((one, other) => (one.name < other.name ? -1 : 1));
  return { apiVersion: "api.mooring.dev/v1", kind: "NodeList", items };
}

function itemOf({ name, object, view, lastReportAgeMs, standing }: NodeStanding, nowMs: number): NodeItem {
  const ageOf = (atMs: number | undefined): number | null =>
    atMs === undefined ? null : Math.max(0, Math.round(nowMs - atMs));
  return {
    name,
    standing: standing.kind,
    standingReason: standing.why,
    silent: standing.kind === "silent",
    lastReportAgeMs: lastReportAgeMs === undefined ? null : Math.round(lastReportAgeMs),
    bootId: view?.bootId ?? object?.bootId ?? null,
    agentInstance: view?.instance ?? null,
    readBeganAgeMs: ageOf(view?.readBeganMs),
    readEndedAgeMs: ageOf(view?.readEndedMs),
    holds: view === undefined ? null : holdsByKind(view),
    releasesPending: view?.releases.size ?? null,
    facts: factsOf(view?.facts ?? {}, object),
  };
}

function holdsByKind({ holds }: NodeView): Readonly<Record<HoldKind, number>> {
  const counts = { pod: 0, subpath: 0, block: 0, staging: 0 };
  for (const { kind } of holds) counts[kind] += 1;
  return counts;
}

/** An agent in a container cannot see the node's distribution; the kubelet can. */
function factsOf(told: NodeFacts, object: Node | undefined): Known<NodeFacts> {
  return {
    kernel: told.kernel ?? null,
    architecture: told.architecture ?? null,
    distribution: told.distribution ?? object?.distribution ?? null,
    containerRuntime: object?.containerRuntime ?? told.containerRuntime ?? null,
    cgroup: told.cgroup ?? null,
    selinux: told.selinux ?? null,
    apparmor: told.apparmor ?? null,
    mountNamespace: told.mountNamespace ?? null,
  };
}
