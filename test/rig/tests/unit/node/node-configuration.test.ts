import { describe, expect, it } from "vitest";
import { corefile, kubeletConfig, kubeProxyConfig } from "../../../node/kubelet-config.ts";
import { cniConfig, containerdConfig, containerSpec } from "../../../node/runtime-config.ts";

describe("containerSpec", () => {
  it("keeps the runtime's defaults, and has a hook that shows containers the node's boot ID", () => {
    const spec = containerSpec('{"process":{"cwd":"/"}}');

    expect(JSON.parse(spec)).toMatchObject({
      process: { cwd: "/" },
      hooks: { createContainer: [{ path: "/bin/sh", args: ["sh", "-ec", expect.stringContaining("boot_id")] }] },
    });
  });
});

describe("containerdConfig", () => {
  const config = containerdConfig({
    pauseImage: "mooring.test/pause:1",
    runc: "/usr/sbin/runc",
    cniPrograms: '/a "folder"',
    cniConfig: "/run/cni",
    containerSpec: "/run/container.json",
  });

  it.each([
    { name: "takes the sandbox image that is there", line: 'sandbox = "mooring.test/pause:1"' },
    { name: "does not ask for a right that the machine may lack", line: "restrict_oom_score_adj = true" },
    { name: "leaves cgroups to runc", line: "SystemdCgroup = false" },
    { name: "names the runc that was found", line: 'BinaryName = "/usr/sbin/runc"' },
    { name: "makes containers from that file", line: 'base_runtime_spec = "/run/container.json"' },
    { name: "escapes what TOML would misread", line: 'bin_dirs = ["/a \\"folder\\""]' },
  ])("$name", ({ line }) => {
    expect(config.split("\n")).toContain(line);
  });
});

describe("cniConfig", () => {
  it("gives pods addresses of their node's subnet, which end with its boot", () => {
    const { plugins } = JSON.parse(cniConfig({ name: "node-1", address: "198.18.0.11", pods: "198.18.1.0/24" }));

    expect(plugins).toMatchObject([
      { type: "ptp", ipMasq: false, ipam: { ranges: [[{ subnet: "198.18.1.0/24" }]], dataDir: "/run/cni-addresses" } },
    ]);
  });
});

describe("kubeletConfig", () => {
  const config = JSON.parse(
    kubeletConfig({ clientCa: "/ca.crt", cgroup: "/mooring-a/node-1", dns: "198.18.0.2", resolvConf: "/resolv.conf" }),
  );

  it("accepts only certificates and tokens that the API server verifies", () => {
    expect(config.authentication).toEqual({
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: "/ca.crt" },
    });
    expect(config.authorization).toEqual({ mode: "Webhook" });
  });

  it("keeps pods in the node's own cgroup and sends them to the cluster's DNS", () => {
    expect(config).toMatchObject({
      cgroupRoot: "/mooring-a/node-1",
      cgroupDriver: "cgroupfs",
      clusterDNS: ["198.18.0.2"],
    });
  });
});

describe("kubeProxyConfig", () => {
  it("leaves the machine's connection tracking alone", () => {
    const config = JSON.parse(kubeProxyConfig({ kubeconfig: "/k", node: "node-1", cluster: "198.18.0.0/20" }));

    expect(config).toMatchObject({
      mode: "nftables",
      clusterCIDR: "198.18.0.0/20",
      conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
    });
  });
});

describe("corefile", () => {
  it("binds to the cluster's address alone and answers for the cluster alone", () => {
    const text = corefile({ address: "198.18.0.2", kubeconfig: "/k" });

    expect(text).toContain("  bind 198.18.0.2\n");
    expect(text).not.toContain("forward");
  });
});
