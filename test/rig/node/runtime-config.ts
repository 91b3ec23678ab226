import { looseObject, parse } from "valibot";
import type { NodeAddresses } from "./addresses.ts";

/** Where containerd listens inside a node. */
export const CONTAINERD_SOCKET = "/run/containerd/containerd.sock";

/** What the container runtime of a node needs to know. */
export interface RuntimeSetup {
  /** The image of the container that holds a pod's namespaces. */
  readonly pauseImage: string;
  /** The path of runc. */
  readonly runc: string;
  /** The folder of the CNI plugins. */
  readonly cniPrograms: string;
  /** The folder of the CNI configuration. */
  readonly cniConfig: string;
  /** A file with what every container is made from; see `containerSpec`. */
  readonly containerSpec: string;
}

/** containerd's configuration (version 3, TOML). */
export function containerdConfig({ pauseImage, runc, cniPrograms, cniConfig, containerSpec }: RuntimeSetup): string {
  const images = 'plugins."io.containerd.cri.v1.images"';
  const runtime = 'plugins."io.containerd.cri.v1.runtime"';
  return [
    "version = 3",
    'root = "/var/lib/containerd"',
    'state = "/run/containerd"',
    "[grpc]",
    `address = ${text(CONTAINERD_SOCKET)}`,
    `[${images}]`,
    'snapshotter = "overlayfs"',
    `[${images}.pinned_images]`,
    `sandbox = ${text(pauseImage)}`,
    `[${runtime}]`,
    // The machine may lack CAP_SYS_RESOURCE, without which a lower score is refused and no pod starts.
    "restrict_oom_score_adj = true",
    `[${runtime}.cni]`,
    `bin_dirs = [${text(cniPrograms)}]`,
    `conf_dir = ${text(cniConfig)}`,
    `[${runtime}.containerd]`,
    'default_runtime_name = "runc"',
    `[${runtime}.containerd.runtimes.runc]`,
    'runtime_type = "io.containerd.runc.v2"',
    `base_runtime_spec = ${text(containerSpec)}`,
    `[${runtime}.containerd.runtimes.runc.options]`,
    `BinaryName = ${text(runc)}`,
    "SystemdCgroup = false",
    "",
  ].join("\n");
}

/** In a container's own mount namespace, before its root becomes `/`: the state of the container comes by standard input. */
const OWN_BOOT_ID = [
  'bundle=$(sed -n \'s/.*"bundle":"\\([^"]*\\)".*/\\1/p\')',
  "file=proc/sys/kernel/random/boot_id",
  'if [ -e "$bundle/rootfs/$file" ]; then mount --bind "/$file" "$bundle/rootfs/$file"; fi',
].join("\n");

/**
 * What every container is made from, by the runtime's own default (`ctr oci spec`). A node's boot ID is a file over that of its `/proc`, so
 * a container's `/proc`, which on a real node shows the same, gets it, too. runc allows no such mount but by a hook.
 */
export function containerSpec(defaults: string): string {
  const hook = { path: "/bin/sh", args: ["sh", "-ec", OWN_BOOT_ID], env: ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"] };
  return json({ ...parse(looseObject({}), JSON.parse(defaults)), hooks: { createContainer: [hook] } });
}

/**
 * The network of a node's pods as a CNI configuration list: a cable from each pod to the node and routes, no bridge. So
 * the answer of a pod that a Service led to passes the node's rules again, also between two pods of one node.
 */
export function cniConfig({ pods }: NodeAddresses): string {
  const ipam = {
    type: "host-local",
    // Addresses that were given out end with the node's boot.
    dataDir: "/run/cni-addresses",
    ranges: [[{ subnet: pods }]],
    routes: [{ dst: "0.0.0.0/0" }],
  };
  return json({ cniVersion: "1.0.0", name: "pods", plugins: [{ type: "ptp", ipMasq: false, ipam }] });
}

/** Readable JSON, which is YAML too. */
export function json(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

/** A TOML string: the escapes of JSON are a part of TOML's. */
function text(value: string): string {
  return JSON.stringify(value);
}
