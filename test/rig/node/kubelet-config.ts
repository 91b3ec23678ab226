import { CONTAINERD_SOCKET, json } from "./runtime-config.ts";

/** What kubelet is told besides what every node has in common. */
export interface KubeletSetup {
  /** The file of the authority that signs clients' certificates. */
  readonly clientCa: string;
  /** The cgroup below which it puts all pods; it must exist. */
  readonly cgroup: string;
  /** The address of the cluster's DNS server. */
  readonly dns: string;
  /** A resolv.conf for pods that do not use the cluster's DNS. */
  readonly resolvConf: string;
}

/** A KubeletConfiguration. Clients show a certificate or a token that the API server judges, so `kubectl logs` works. */
export function kubeletConfig({ clientCa, cgroup, dns, resolvConf }: KubeletSetup): string {
  return json({
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: clientCa } },
    authorization: { mode: "Webhook" },
    containerRuntimeEndpoint: `unix://${CONTAINERD_SOCKET}`,
    clusterDomain: "cluster.local",
    clusterDNS: [dns],
    resolvConf,
    cgroupDriver: "cgroupfs",
    cgroupRoot: cgroup,
    // Machines with the first version of cgroups are still about.
    failCgroupV1: false,
    failSwapOn: false,
    // A changed ConfigMap is shown at the next one: a minute is long for a test.
    syncFrequency: "10s",
    enforceNodeAllocatable: [],
    // The machine's memory and disk are shared with everything else on it: a full disk is no reason to end a test's pods.
    evictionHard: { "memory.available": "50Mi", "nodefs.available": "1%", "imagefs.available": "1%" },
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    // The machine may lack CAP_SYS_RESOURCE.
    oomScoreAdj: 0,
  });
}

/** What kube-proxy is told. */
export interface ProxySetup {
  readonly kubeconfig: string;
  readonly node: string;
  /** The subnet of all pods. */
  readonly cluster: string;
}

/** A KubeProxyConfiguration. It leaves the machine's limits of connection tracking alone. */
export function kubeProxyConfig({ kubeconfig, node, cluster }: ProxySetup): string {
  return json({
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    kind: "KubeProxyConfiguration",
    mode: "nftables",
    hostnameOverride: node,
    clientConnection: { kubeconfig },
    clusterCIDR: cluster,
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
  });
}

/** CoreDNS's Corefile: names of the cluster and no others. */
export function corefile({ address, kubeconfig }: { readonly address: string; readonly kubeconfig: string }): string {
  return [
    ".:53 {",
    `  bind ${address}`,
    "  errors",
    `  ready ${address}:8181`,
    "  kubernetes cluster.local in-addr.arpa {",
    `    kubeconfig ${kubeconfig}`,
    // What a test changes is to be seen at once.
    "    ttl 0",
    "  }",
    "}",
    "",
  ].join("\n");
}
