import { describe, expect, it } from "vitest";
import { goArchitecture } from "../../../control-plane/cache.ts";
import { releaseOf } from "../../../control-plane/releases.ts";

const ARCH = goArchitecture(process.arch);

describe("releaseOf", () => {
  it.each([
    {
      name: "helm",
      url: `/helm-v4.3.1-linux-${ARCH}.tar.gz`,
      sums: `/helm-v4.3.1-linux-${ARCH}.tar.gz.sha256sum`,
      member: `linux-${ARCH}/helm`,
    },
    {
      name: "promtool",
      url: `/v3.15.0/prometheus-3.15.0.linux-${ARCH}.tar.gz`,
      sums: "/v3.15.0/sha256sums.txt",
      member: `prometheus-3.15.0.linux-${ARCH}/promtool`,
    },
    {
      name: "kubeconform",
      url: `/v0.8.0/kubeconform-linux-${ARCH}.tar.gz`,
      sums: "/v0.8.0/CHECKSUMS",
      member: "kubeconform",
    },
    {
      name: "csi-provisioner",
      url: "/v6.4.0/csi-provisioner",
      sums: "/v6.4.0/csi-provisioner.sha256",
      member: undefined,
    },
    {
      name: "local-path-provisioner",
      url: "/v0.0.30/local-path-provisioner",
      sums: "/v0.0.30/local-path-provisioner.sha256",
      member: undefined,
    },
  ] as const)("$name is found where its project or a mirror publishes it, with its sum beside it", (release) => {
    const { file, member } = releaseOf(release.name, "https://site");

    expect({ url: file.url, sums: file.checksumUrl, member }).toEqual({
      url: `https://site${release.url}`,
      sums: `https://site${release.sums}`,
      member: release.member,
    });
  });
});
