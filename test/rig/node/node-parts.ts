import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Binaries } from "../control-plane/binaries.ts";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import { cgroupOf, createCgroup, removeCgroups } from "../process/cgroups.ts";
import type { Owner } from "../process/owner.ts";
import { systemPath } from "../process/program.ts";
import type { AddressPlan, NodeAddresses } from "./addresses.ts";
import { checkHttp, checkNode, checkPort } from "./checks.ts";
import { type Command, runCommand } from "./commands.ts";
import { InitProcess } from "./init-process.ts";
import { kubeletConfig, kubeProxyConfig } from "./kubelet-config.ts";
import type { ClusterNetwork } from "./network.ts";
import { type NodeProgram, nodeProgram } from "./node-program.ts";
import { type BootingNode, CTR_FLAGS, createNode } from "./real-node.ts";
import { cniConfig, containerdConfig, containerSpec } from "./runtime-config.ts";
import { PAUSE_IMAGE } from "./workload.ts";

const KUBELET_PORT = 10_250;
const PROXY_HEALTH_PORT = 10_256;

/** What the nodes of a cluster have in common. */
export interface NodeSite {
  readonly binaries: Binaries;
  /** The path of runc. */
  readonly runc: string;
  readonly network: ClusterNetwork;
  /** Is needed only when a node joins. */
  readonly plane: Promise<ControlPlane>;
  /** Archives of images that every node has. */
  readonly images: readonly string[];
  /** Folders of the machine that nodes see under the same path. */
  readonly shared: readonly string[];
}

/** One node on its way. */
interface Building {
  readonly owner: Owner;
  readonly site: NodeSite;
  readonly addresses: NodeAddresses;
  readonly init: InitProcess;
  /** The path of a file of the node, by name. */
  readonly file: (name: string) => string;
}

/** Writes a node's configuration and puts its parts together; nothing is started yet. */
export function prepareNode(owner: Owner, site: NodeSite, addresses: NodeAddresses): BootingNode {
  const folder = join(owner.folder, "nodes", addresses.name);
  const init = new InitProcess(owner, { name: addresses.name, folder, shared: site.shared });
  const building: Building = { owner, site, addresses, init, file: (name) => join(folder, name) };
  mkdirSync(building.file("cni"), { recursive: true });
  const { network, binaries, images } = site;
  return createNode(owner, {
    addresses,
    init,
    connect: (pid) => network.connect(addresses, pid),
    forget: async () => void (await removeCgroups(owner.clock, join(cgroupOf(owner.folder), addresses.name))),
    containerd: containerd(building),
    kubelet: kubelet(building),
    kubeProxy: kubeProxy(building),
    ctr: binaries("ctr"),
    images,
    check: async (bootId) => checkNode(await site.plane, addresses.name, bootId),
  });
}

function containerd({ owner, site, addresses, init, file }: Building): NodeProgram {
  const { binaries, runc } = site;
  const folders = { cniPrograms: dirname(binaries("ptp")), cniConfig: file("cni") };
  const setup = { pauseImage: PAUSE_IMAGE, runc, ...folders, containerSpec: file("container.json") };
  writeFileSync(file("containerd.toml"), containerdConfig(setup));
  writeFileSync(file("cni/10-pods.conflist"), cniConfig(addresses));
  const version: Command = { command: binaries("ctr"), args: [...CTR_FLAGS, "version"] };
  return nodeProgram(owner, {
    name: `containerd of ${addresses.name}`,
    logFile: file("containerd.log"),
    // It looks for its shim there.
    env: { PATH: `${dirname(binaries("containerd"))}:${systemPath()}` },
    command: async () => {
      const defaults = await runCommand({ command: binaries("ctr"), args: ["oci", "spec"] });
      writeFileSync(setup.containerSpec, containerSpec(defaults));
      return init.inside({ command: binaries("containerd"), args: ["--config", file("containerd.toml")] });
    },
    check: async () => void (await runCommand(init.inside(version))),
  });
}

function kubelet({ owner, site, addresses, init, file }: Building): NodeProgram {
  const { name, address } = addresses;
  return nodeProgram(owner, {
    name: `kubelet of ${name}`,
    logFile: file("kubelet.log"),
    env: { PATH: systemPath() },
    command: async () => {
      const user = { user: `system:node:${name}`, groups: ["system:nodes"] };
      const args = [
        `--config=${await writeKubeletConfig(owner, { site, name, file })}`,
        `--kubeconfig=${await (await site.plane).kubeconfigFor(user)}`,
        `--hostname-override=${name}`,
        `--node-ip=${address}`,
        "--cert-dir=/var/lib/kubelet/pki",
        "--v=2",
      ];
      return init.inside({ command: site.binaries("kubelet"), args });
    },
    check: () => checkPort(address, KUBELET_PORT),
  });
}

async function writeKubeletConfig(
  owner: Owner,
  node: Pick<Building, "site" | "file"> & { name: string },
): Promise<string> {
  const { site, file, name } = node;
  const { ca } = await site.plane;
  writeFileSync(file("clients.crt"), ca);
  writeFileSync(file("resolv.conf"), `nameserver ${site.network.plan.dns}\n`);
  const setup = {
    clientCa: file("clients.crt"),
    cgroup: createCgroup(owner.folder, name),
    dns: site.network.plan.dns,
    resolvConf: file("resolv.conf"),
  };
  writeFileSync(file("kubelet.json"), kubeletConfig(setup));
  return file("kubelet.json");
}

function kubeProxy({ owner, site, addresses, init, file }: Building): NodeProgram {
  const { name, address } = addresses;
  const { cluster }: AddressPlan = site.network.plan;
  return nodeProgram(owner, {
    name: `kube-proxy of ${name}`,
    logFile: file("kube-proxy.log"),
    env: { PATH: systemPath() },
    command: async () => {
      const kubeconfig = await (await site.plane).kubeconfigFor({ user: "system:kube-proxy" });
      writeFileSync(file("kube-proxy.json"), kubeProxyConfig({ kubeconfig, node: name, cluster }));
      return init.inside({ command: site.binaries("kube-proxy"), args: [`--config=${file("kube-proxy.json")}`] });
    },
    check: () => checkHttp(`http://${address}:${PROXY_HEALTH_PORT}/healthz`),
  });
}
