import { HarnessError } from "../process/errors.ts";

/**
 * 198.18.0.0/15 is set aside for tests of network devices (RFC 2544), so hardly any machine has a route to it. A cluster
 * takes a /20 of it: the first /24 for the machines, one more for the pods of each node.
 */
const RANGE: Subnet = { first: toNumber("198.18.0.0"), bits: 15 };
const CLUSTER_BITS = 20;
const NODE_BITS = 24;

/** How many clusters find room at the same time. */
export const CLUSTER_SLOTS: number = 2 ** (CLUSTER_BITS - RANGE.bits);
/** How many nodes a cluster may have. */
export const NODE_LIMIT: number = 2 ** (NODE_BITS - CLUSTER_BITS) - 1;

/** IPv4 addresses with the same leading bits. */
export interface Subnet {
  /** The first address as a number. */
  readonly first: number;
  readonly bits: number;
}

/** Where a node and its pods are. */
export interface NodeAddresses {
  readonly name: string;
  readonly address: string;
  /** The subnet of its pods: `198.18.1.0/24`. */
  readonly pods: string;
}

/** Who has which address in a cluster. */
export interface AddressPlan {
  /** Of the harness's machine, where the API server listens. */
  readonly host: string;
  /** Of the cluster's DNS server. */
  readonly dns: string;
  /** Length of the prefix that host, DNS and nodes share. */
  readonly prefixBits: number;
  /** Holds the addresses of all pods and nodes. */
  readonly cluster: string;
  readonly nodes: readonly NodeAddresses[];
}

/** The addresses in one of the slots for clusters. Throws a HarnessError for more nodes than a slot has room for. */
export function planAddresses(slot: number, names: readonly string[]): AddressPlan {
  if (names.length > NODE_LIMIT)
    throw new HarnessError(`a cluster has room for ${NODE_LIMIT} nodes, not ${names.length}`);
  const { first } = slotSubnet(slot);
  return {
    host: toText(first + 1),
    dns: toText(first + 2),
    prefixBits: NODE_BITS,
    cluster: `${toText(first)}/${CLUSTER_BITS}`,
    nodes: names.map((name, index) => ({
      name,
      address: toText(first + 11 + index),
      pods: `${toText(first + (index + 1) * 2 ** (32 - NODE_BITS))}/${NODE_BITS}`,
    })),
  };
}

/** The slots that no route of the machine leads to. `destinations` as `ip route` prints them; a default route counts not. */
export function freeSlots(destinations: readonly string[]): readonly number[] {
  const taken = destinations.flatMap((text) => parseSubnet(text) ?? []);
  const slots = Array.from({ length: CLUSTER_SLOTS }, (_, slot) => slot);
  return slots.filter((slot) => !taken.some((subnet) => overlap(subnet, slotSubnet(slot))));
}

/** The subnet in `192.0.2.0/24` or `192.0.2.1`; nothing for another text, `default` and `0.0.0.0/0` among them. */
export function parseSubnet(text: string): Subnet | undefined {
  const match = /^(\d+\.\d+\.\d+\.\d+)(?:\/(\d+))?$/.exec(text);
  const bits = Number(match?.[2] ?? 32);
  return match?.[1] === undefined || bits === 0 ? undefined : { first: toNumber(match[1]), bits };
}

/** Whether a text, such as a rule of a firewall, names an address or a subnet that only clusters have. */
export function namesClusterAddress(text: string): boolean {
  const subnets = (text.match(/[\d.]+(?:\/\d+)?/g) ?? []).flatMap((word) => parseSubnet(word) ?? []);
  return subnets.some((subnet) => subnet.bits >= RANGE.bits && overlap(subnet, RANGE));
}

function slotSubnet(slot: number): Subnet {
  return { first: RANGE.first + slot * 2 ** (32 - CLUSTER_BITS), bits: CLUSTER_BITS };
}

function overlap(a: Subnet, b: Subnet): boolean {
  const size = 2 ** (32 - Math.min(a.bits, b.bits));
  return Math.floor(a.first / size) === Math.floor(b.first / size);
}

function toNumber(address: string): number {
  return address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
}

function toText(address: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join(".");
}
