import { bootIdOf, digestOf, nodeName } from "./layout.ts";
import { CSI_DRIVER } from "./volumes.ts";
import type { NamedObject } from "./writer.ts";

const HEARTBEAT = "2026-11-21T09:00:00Z";

const ROOM = {
  allocatable: { cpu: "15890m", "ephemeral-storage": "95551679124", memory: "61847028Ki", pods: "110" },
  capacity: { cpu: "16", "ephemeral-storage": "104845292Ki", memory: "64836084Ki", pods: "110" },
};

/**
 * A node as its kubelet registers it and has since reported on it, as it goes over the wire: with the images that it holds, which are most
 * of it, and the volumes of these handles attached.
 */
export function nodeObject(index: number, handles: readonly string[]): NamedObject {
  const name = nodeName(index);
  const zone = `eu-central-1${"abc".charAt(index % 3)}`;
  const node = {
    metadata: {
      name,
      labels: {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "m7.4xlarge",
        "topology.block.csi.example.com/zone": zone,
        "topology.kubernetes.io/region": "eu-central-1",
        "topology.kubernetes.io/zone": zone,
      },
      annotations: {
        "csi.volume.kubernetes.io/nodeid": `{"block.csi.example.com":"i-${digestOf(name).slice(0, 17)}"}`,
        "node.alpha.kubernetes.io/ttl": "0",
        "volumes.kubernetes.io/controller-managed-attach-detach": "true",
      },
    },
    spec: { podCIDR: podRange(index), podCIDRs: [podRange(index)], providerID: `cloud:///${zone}/${name}` },
    status: {
      addresses: [
        { type: "InternalIP", address: `10.${(index >> 8) & 255}.${index & 255}.10` },
        { type: "Hostname", address: name },
      ],
      ...ROOM,
      conditions: conditions(),
      daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
      images: Array.from({ length: 20 }, (_, image) => imageOf(image)),
      nodeInfo: {
        architecture: "amd64",
        bootID: bootIdOf(index),
        containerRuntimeVersion: "containerd://2.4.2",
        kernelVersion: "6.12.41-generic",
        kubeProxyVersion: "",
        kubeletVersion: "v1.36.3",
        machineID: digestOf(`machine ${index}`).slice(0, 32),
        operatingSystem: "linux",
        osImage: "Ubuntu 24.04.3 LTS",
        systemUUID: digestOf(`system ${index}`).slice(0, 32),
      },
      ...attachmentsOf(handles),
    },
  };
  return node;
}

function attachmentsOf(handles: readonly string[]): object {
  const volumesInUse = handles.map((handle) => `kubernetes.io/csi/${CSI_DRIVER}^${handle}`);
  return { volumesInUse, volumesAttached: volumesInUse.map((name) => ({ name, devicePath: "" })) };
}

function podRange(index: number): string {
  return `100.${64 + ((index >> 8) & 63)}.${index & 255}.0/24`;
}

function conditions(): readonly object[] {
  const times = { lastHeartbeatTime: HEARTBEAT, lastTransitionTime: HEARTBEAT };
  const pressure = ["Memory", "Disk", "PID"].map((what) => ({
    type: `${what}Pressure`,
    status: "False",
    reason: `KubeletHasNo${what}Pressure`,
    message: `kubelet has no ${what.toLowerCase()} pressure`,
    ...times,
  }));
  const ready = { type: "Ready", status: "True", reason: "KubeletReady", message: "kubelet is posting ready status" };
  return [...pressure, { ...ready, ...times }];
}

function imageOf(image: number): { readonly names: string[]; readonly sizeBytes: number } {
  const path = `registry.example.com/platform/service-${image}`;
  return { names: [`${path}@sha256:${digestOf(path)}`, `${path}:v1.${image}.0`], sizeBytes: 50_000_000 + image };
}
