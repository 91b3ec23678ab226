import { createHash } from "node:crypto";

/** How many objects a cluster under measurement has; everything follows from the number of its nodes. */
export interface Sizes {
  readonly nodes: number;
  readonly pods: number;
  readonly claims: number;
  readonly namespaces: number;
}

/** The largest cluster that Mooring is built for (docs/install.md: sizes). */
const FULL_NODES = 5_000;
const NAMESPACES_PER_NODE = 0.08;
export const PODS_PER_NODE = 30;
export const CLAIMS_PER_NODE = 40;
/** The pods of a node that use one claim each, and those that use two. */
const SINGLE = 16;
const DOUBLE = 2;
/** The pod of a node that is its agent's. */
const AGENT = SINGLE + DOUBLE;
export const AGENT_NAMESPACE = "mooring-agents";
/** Finished pods of a node that still exist, as of jobs; they name no claim. */
const FINISHED = 3;
/** This many claims of a node are in use; the others were used once, or never. */
export const USED_PER_NODE = SINGLE + 2 * DOUBLE;
/** This many of them are on a block device, which the kubelet stages before it mounts it: 30 mounted volumes on each node. */
export const STAGED_PER_NODE = 10;

/** A cluster of this fraction of the full size, of one node at least. */
export function sizesOf(fraction: number): Sizes {
  const nodes = Math.max(1, Math.round(FULL_NODES * fraction));
  return {
    nodes,
    pods: nodes * PODS_PER_NODE,
    claims: nodes * CLAIMS_PER_NODE,
    namespaces: Math.max(1, Math.round(nodes * NAMESPACES_PER_NODE)),
  };
}

/** The nodes, from the first on, that have claims with a condition when this many claims are to have none. */
export function writtenNodesOf({ nodes }: Sizes, bareClaims: number): number {
  return Math.max(0, nodes - Math.ceil(bareClaims / CLAIMS_PER_NODE));
}

/** A claim by its number, with its volume. */
export interface ClaimPlace {
  readonly index: number;
  readonly node: number;
  readonly namespace: string;
  readonly name: string;
  readonly isUsed: boolean;
  readonly isStaged: boolean;
  readonly volume: string;
  readonly handle: string;
}

/** A pod by its number. */
export interface PodPlace {
  readonly index: number;
  readonly node: number;
  readonly namespace: string;
  readonly name: string;
  /** Numbers of the claims that it uses. */
  readonly claims: readonly number[];
  readonly isFinished: boolean;
  readonly isAgent: boolean;
}

/** The number of the pod that is a node's agent. */
export function agentPodOf(node: number): number {
  return node * PODS_PER_NODE + AGENT;
}

export function nodeName(node: number): string {
  return `worker-${String(node).padStart(5, "0")}.eu-central-1.compute.internal`;
}

/** The same for every run, so that a node's simulated agent is of the boot that its Node object names. */
export function bootIdOf(node: number): string {
  return uuidOf(`boot of ${node}`);
}

export function namespaceName(namespace: number): string {
  return `team-${String(namespace).padStart(4, "0")}`;
}

export function claimPlace(index: number, { namespaces }: Sizes): ClaimPlace {
  const node = Math.floor(index / CLAIMS_PER_NODE);
  const slot = index % CLAIMS_PER_NODE;
  return {
    index,
    node,
    namespace: namespaceName(node % namespaces),
    name: `data-${workload(index)}-0`,
    isUsed: slot < USED_PER_NODE,
    isStaged: slot < STAGED_PER_NODE,
    volume: `pvc-${uuidOf(`volume of ${index}`)}`,
    handle: `vol-${digestOf(`handle of ${index}`).slice(0, 17)}`,
  };
}

/** The number in a claim's name; undefined for any other name. */
export function claimIndexIn(name: string): number | undefined {
  const number = /^data-.*-(\d+)-0$/.exec(name)?.[1];
  return number === undefined ? undefined : Number(number);
}

export function podPlace(index: number, { namespaces }: Sizes): PodPlace {
  const node = Math.floor(index / PODS_PER_NODE);
  const slot = index % PODS_PER_NODE;
  const isAgent = slot === AGENT;
  return {
    index,
    node,
    namespace: isAgent ? AGENT_NAMESPACE : namespaceName(node % namespaces),
    name: `${isAgent ? "mooring-agent" : workload(index)}-${digestOf(`pod ${index}`).slice(0, 5)}`,
    claims: claimSlots(slot).map((claim) => node * CLAIMS_PER_NODE + claim),
    isFinished: slot >= PODS_PER_NODE - FINISHED,
    isAgent,
  };
}

/** Numbers of a node's claims that are attached to it, staged and in use. */
export function stagedClaimsOf(node: number): readonly number[] {
  return Array.from({ length: STAGED_PER_NODE }, (_, slot) => node * CLAIMS_PER_NODE + slot);
}

function claimSlots(slot: number): readonly number[] {
  if (slot < SINGLE) return [slot];
  if (slot >= SINGLE + DOUBLE) return [];
  const first = SINGLE + 2 * (slot - SINGLE);
  return [first, first + 1];
}

const NAMES = ["orders", "payments", "search-index", "session-cache", "billing", "metrics-store", "inbox", "catalogue"];

function workload(index: number): string {
  return `${NAMES[index % NAMES.length]}-${String(index).padStart(6, "0")}`;
}

/** SHA-256 in hexadecimal: looks random, and is the same for every run. */
export function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Looks like a UID, and is the same for every run. */
export function uuidOf(text: string): string {
  return digestOf(text).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, "$1-$2-$3-$4-$5");
}
