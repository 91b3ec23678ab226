import type { AddressPlan, NodeAddresses } from "./addresses.ts";

/** The bridge that joins the machine and the nodes; it is in a network namespace of its own. */
const BRIDGE = "nodes";
/** The end of the machine's cable at the bridge. */
const HOST_END = "host";

/** Lines for `ip -batch` in the machine's own network namespace. */
export interface HostCable {
  /** The name of the one link that the machine gets. */
  readonly link: string;
  /** A process in the bridge's namespace. */
  readonly bridgePid: number;
}

/** The cable between the machine and the bridge, the machine's end of it, and the ways to the pods. */
export function hostLinks(plan: AddressPlan, { link, bridgePid }: HostCable): readonly string[] {
  return [
    `link add ${link} type veth peer name ${HOST_END} netns ${bridgePid}`,
    `address add ${plan.host}/${plan.prefixBits} dev ${link}`,
    `link set ${link} up`,
    ...plan.nodes.map(({ pods, address }) => `route add ${pods} via ${address} dev ${link}`),
  ];
}

/** The bridge itself, to which the DNS server's address belongs. */
export function bridgeLinks(plan: AddressPlan): readonly string[] {
  return [
    "link set lo up",
    `link add ${BRIDGE} type bridge`,
    `link set ${HOST_END} master ${BRIDGE}`,
    `link set ${HOST_END} up`,
    `address add ${plan.dns}/${plan.prefixBits} dev ${BRIDGE}`,
    `link set ${BRIDGE} up`,
    ...plan.nodes.map(({ pods, address }) => `route add ${pods} via ${address} dev ${BRIDGE}`),
  ];
}

/** The cable between a node, known by a process in its namespace, and the bridge; in the bridge's namespace. */
export function nodeCable(node: NodeAddresses, pid: number): readonly string[] {
  return [
    `link add ${node.name} type veth peer name eth0 netns ${pid}`,
    `link set ${node.name} master ${BRIDGE}`,
    `link set ${node.name} up`,
  ];
}

/** The links inside a node and its ways to the pods of the others. */
export function nodeLinks(plan: AddressPlan, node: NodeAddresses): readonly string[] {
  const others = plan.nodes.filter(({ name }) => name !== node.name);
  return [
    "link set lo up",
    `address add ${node.address}/${plan.prefixBits} dev eth0`,
    "link set eth0 up",
    ...others.map(({ pods, address }) => `route add ${pods} via ${address} dev eth0`),
    // The kernel looks for a route before kube-proxy's rules turn a Service's address into a pod's. Nothing else goes this
    // way: the bridge's namespace forwards nothing.
    `route add default via ${plan.dns} dev eth0`,
  ];
}
