import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { accepted } from "../control-plane/api.ts";
import type { Binaries } from "../control-plane/binaries.ts";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import type { Owner } from "../process/owner.ts";
import { waitUntil } from "../process/wait.ts";
import { checkHttp } from "./checks.ts";
import { corefile } from "./kubelet-config.ts";
import type { ClusterNetwork } from "./network.ts";

const USER = "system:coredns";
const READY_LIMIT_MS = 90_000;
const RBAC = "/apis/rbac.authorization.k8s.io/v1";

/** What the DNS server of a cluster works with. */
export interface DnsSetup {
  readonly binaries: Binaries;
  readonly network: ClusterNetwork;
  readonly plane: ControlPlane;
}

/**
 * Starts the cluster's DNS server at the bridge and waits until it knows the Services. It has its port 53 there, which on
 * the machine may be taken.
 */
export async function startDns(owner: Owner, { binaries, network, plane }: DnsSetup): Promise<void> {
  const { dns } = network.plan;
  await allowReading(plane);
  const file = join(owner.folder, "Corefile");
  writeFileSync(file, corefile({ address: dns, kubeconfig: await plane.kubeconfigFor({ user: USER }) }));
  const child = owner.child({
    name: "coredns",
    ...network.inside({ command: binaries("coredns"), args: ["-conf", file] }),
    env: { NO_PROXY: "*", no_proxy: "*" },
    stopLimitMs: 1_000,
  });
  await child.start();
  const check = (): Promise<void> => checkHttp(`http://${dns}:8181/ready`);
  await waitUntil(owner, { what: "coredns", limitMs: READY_LIMIT_MS, child, check, everyMs: 100 });
}

/** The rights that CoreDNS's own deployment asks for. */
async function allowReading({ api }: ControlPlane): Promise<void> {
  const apiVersion = "rbac.authorization.k8s.io/v1";
  const verbs = ["list", "watch"];
  const role = {
    apiVersion,
    kind: "ClusterRole",
    metadata: { name: USER },
    rules: [
      { apiGroups: [""], resources: ["endpoints", "services", "pods", "namespaces"], verbs },
      { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs },
    ],
  };
  const binding = {
    apiVersion,
    kind: "ClusterRoleBinding",
    metadata: { name: USER },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: USER },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: USER }],
  };
  await accepted(api({ method: "POST", path: `${RBAC}/clusterroles`, body: role }), "role of CoreDNS");
  await accepted(api({ method: "POST", path: `${RBAC}/clusterrolebindings`, body: binding }), "binding of CoreDNS");
}
