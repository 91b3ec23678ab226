import { fileURLToPath } from "node:url";

/** A Go module of this folder that pins programs: where it is, what it yields, how it is built. */
export interface PinnedModule {
  readonly title: string;
  /** The folder of its go.mod. */
  readonly folder: string;
  /** The version that the go.mod pins, as the programs print it. */
  readonly version: string;
  /** A program of another origin serves when its version begins so. */
  readonly series: string;
  readonly ldflags: string;
  /** Build tags, for a module that needs some. */
  readonly tags?: readonly string[];
  /** Where its official releases are downloaded. */
  readonly site: string;
  /** Disk that a build from empty caches takes at its peak, in bytes: sources, objects and Go's work folder, measured. */
  readonly diskBytes: number;
  /** How long a build from empty caches takes on two cores. */
  readonly duration: string;
}

const KUBERNETES_VERSION = "1.36.3";
const ETCD_VERSION = "3.6.16";
const CONTAINERD_VERSION = "2.4.2";
const CNI_VERSION = "1.9.1";
const COREDNS_VERSION = "1.15.0";
const HELM_VERSION = "4.3.1";
const PROMETHEUS_VERSION = "3.15.0";
const KUBECONFORM_VERSION = "0.8.0";
const PROVISIONER_VERSION = "6.4.0";
const LOCAL_PATH_VERSION = "0.0.30";
const VERSION_PACKAGE = "k8s.io/component-base/version";

export const MODULES = {
  kubernetes: {
    title: "Kubernetes",
    folder: fileURLToPath(new URL("./go/kubernetes", import.meta.url)),
    version: KUBERNETES_VERSION,
    series: "1.36.",
    // Without these the server says that it is v0.0.0.
    ldflags: `-s -w -X ${VERSION_PACKAGE}.gitVersion=v${KUBERNETES_VERSION} -X ${VERSION_PACKAGE}.gitMajor=1 -X ${VERSION_PACKAGE}.gitMinor=36`,
    site: "https://dl.k8s.io",
    diskBytes: 6e9,
    duration: "about 4 min 30 s",
  },
  etcd: {
    title: "etcd",
    folder: fileURLToPath(new URL("./go/etcd", import.meta.url)),
    version: ETCD_VERSION,
    series: "3.6.",
    ldflags: "-s -w",
    site: "https://github.com/etcd-io/etcd/releases/download",
    diskBytes: 0.9e9,
    duration: "about 25 s",
  },
  containerd: {
    title: "containerd",
    folder: fileURLToPath(new URL("./go/containerd", import.meta.url)),
    version: CONTAINERD_VERSION,
    series: "2.4.",
    ldflags: `-s -w -X github.com/containerd/containerd/v2/version.Version=v${CONTAINERD_VERSION}`,
    // These snapshotters need C libraries or devices that nodes for tests do not have.
    tags: ["no_btrfs", "no_devmapper", "no_zfs"],
    site: "https://github.com/containerd/containerd/releases/download",
    diskBytes: 1.5e9,
    duration: "about 1 min",
  },
  "cni-plugins": {
    title: "CNI plugins",
    folder: fileURLToPath(new URL("./go/cni-plugins", import.meta.url)),
    version: CNI_VERSION,
    series: "1.9.",
    ldflags: `-s -w -X github.com/containernetworking/plugins/pkg/utils/buildversion.BuildVersion=v${CNI_VERSION}`,
    site: "https://github.com/containernetworking/plugins/releases/download",
    diskBytes: 0.5e9,
    duration: "about 10 s",
  },
  coredns: {
    title: "CoreDNS",
    folder: fileURLToPath(new URL("./go/coredns", import.meta.url)),
    version: COREDNS_VERSION,
    series: "1.15.",
    ldflags: "-s -w",
    site: "https://github.com/coredns/coredns/releases/download",
    diskBytes: 4e9,
    duration: "about 1 min 40 s",
  },
  helm: {
    title: "Helm",
    folder: fileURLToPath(new URL("./go/helm", import.meta.url)),
    version: HELM_VERSION,
    series: "4.",
    ldflags: `-s -w -X helm.sh/helm/v4/internal/version.version=v${HELM_VERSION}`,
    site: "https://get.helm.sh",
    diskBytes: 2e9,
    duration: "about 2 min",
  },
  prometheus: {
    title: "Prometheus",
    folder: fileURLToPath(new URL("./go/prometheus", import.meta.url)),
    version: PROMETHEUS_VERSION,
    series: "3.",
    ldflags: `-s -w -X github.com/prometheus/common/version.Version=${PROMETHEUS_VERSION}`,
    // Rules are tested without finding out what to scrape: a third of the packages are for that.
    tags: ["remove_all_sd"],
    site: "https://github.com/prometheus/prometheus/releases/download",
    diskBytes: 2e9,
    duration: "about 2 min",
  },
  kubeconform: {
    title: "kubeconform",
    folder: fileURLToPath(new URL("./go/kubeconform", import.meta.url)),
    version: KUBECONFORM_VERSION,
    series: "0.8.",
    ldflags: `-s -w -X main.version=v${KUBECONFORM_VERSION}`,
    site: "https://github.com/yannh/kubeconform/releases/download",
    diskBytes: 0.2e9,
    duration: "about 10 s",
  },
  "external-provisioner": {
    title: "external-provisioner",
    folder: fileURLToPath(new URL("./go/external-provisioner", import.meta.url)),
    version: PROVISIONER_VERSION,
    series: "6.",
    ldflags: `-s -w -X main.version=v${PROVISIONER_VERSION}`,
    // Its project publishes images and no programs.
    site: "",
    diskBytes: 2e9,
    duration: "about 3 min",
  },
  "local-path-provisioner": {
    title: "local-path-provisioner",
    folder: fileURLToPath(new URL("./go/local-path-provisioner", import.meta.url)),
    version: LOCAL_PATH_VERSION,
    series: "0.0.",
    ldflags: `-s -w -X main.VERSION=v${LOCAL_PATH_VERSION}`,
    // Its project publishes images and no programs.
    site: "",
    diskBytes: 1.5e9,
    duration: "about 1 min 30 s",
  },
} as const satisfies Record<string, PinnedModule>;
export type ModuleName = keyof typeof MODULES;

/** A program that tests can ask for by name. */
export interface Component {
  readonly module: ModuleName;
  /** The Go package of its main function. */
  readonly package: string;
  /** The name that `go build` gives the program. */
  readonly output: string;
  /** Arguments that make it print its version. */
  readonly versionArgs: readonly string[];
}

export const COMPONENTS = {
  etcd: { module: "etcd", package: "go.etcd.io/etcd/server/v3", output: "server", versionArgs: ["--version"] },
  "kube-apiserver": kubernetes("kube-apiserver"),
  "kube-controller-manager": kubernetes("kube-controller-manager"),
  "kube-scheduler": kubernetes("kube-scheduler"),
  "kube-proxy": kubernetes("kube-proxy"),
  kubelet: kubernetes("kubelet"),
  kubectl: kubernetes("kubectl", ["version", "--client"]),
  containerd: containerd("containerd"),
  ctr: containerd("ctr"),
  "containerd-shim-runc-v2": containerd("containerd-shim-runc-v2", ["-v"]),
  ptp: cniPlugin("main", "ptp"),
  loopback: cniPlugin("main", "loopback"),
  "host-local": cniPlugin("ipam", "host-local"),
  coredns: { module: "coredns", package: "github.com/coredns/coredns", output: "coredns", versionArgs: ["-version"] },
  helm: { module: "helm", package: "helm.sh/helm/v4/cmd/helm", output: "helm", versionArgs: ["version"] },
  promtool: {
    module: "prometheus",
    package: "github.com/prometheus/prometheus/cmd/promtool",
    output: "promtool",
    versionArgs: ["--version"],
  },
  kubeconform: {
    module: "kubeconform",
    package: "github.com/yannh/kubeconform/cmd/kubeconform",
    output: "kubeconform",
    versionArgs: ["-v"],
  },
  "csi-provisioner": {
    module: "external-provisioner",
    package: "github.com/kubernetes-csi/external-provisioner/v6/cmd/csi-provisioner",
    output: "csi-provisioner",
    versionArgs: ["--version"],
  },
  "local-path-provisioner": {
    module: "local-path-provisioner",
    package: "github.com/rancher/local-path-provisioner",
    output: "local-path-provisioner",
    versionArgs: ["--version"],
  },
} as const satisfies Record<string, Component>;
export type ComponentName = keyof typeof COMPONENTS;

/** The asked components by module, each module once. */
export function byModule(
  names: readonly ComponentName[],
): readonly (readonly [ModuleName, readonly ComponentName[]])[] {
  const groups = Map.groupBy(new Set(names), (name) => COMPONENTS[name].module);
  return [...groups];
}

function kubernetes(name: string, versionArgs: readonly string[] = ["--version"]): Component {
  return { module: "kubernetes", package: `k8s.io/kubernetes/cmd/${name}`, output: name, versionArgs };
}

function containerd(name: string, versionArgs: readonly string[] = ["--version"]): Component {
  return {
    module: "containerd",
    package: `github.com/containerd/containerd/v2/cmd/${name}`,
    output: name,
    versionArgs,
  };
}

function cniPlugin(kind: "main" | "ipam", name: string): Component {
  const path = `github.com/containernetworking/plugins/plugins/${kind}/${name}`;
  return { module: "cni-plugins", package: path, output: name, versionArgs: ["--version"] };
}
