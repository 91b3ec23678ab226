import { describe, expect, it } from "vitest";
import { unavailable } from "../../../control-plane/unavailable.ts";

describe("unavailable", () => {
  it("names the programs, each way that was tried, and what to do", () => {
    const text = unavailable(
      ["etcd", "kube-apiserver"],
      [
        { way: "KUBEBUILDER_ASSETS", outcome: "not set" },
        { way: "go build", outcome: "ended with code 1:\nno disk" },
      ],
    );

    expect(text.split("\n")).toEqual([
      "cannot get etcd, kube-apiserver (Kubernetes 1.36.3, etcd 3.6.16). Tried:",
      "  - KUBEBUILDER_ASSETS: not set",
      "  - go build: ended with code 1:",
      "    no disk",
      "Do one of these and run it again:",
      expect.stringMatching(
        /^ {2}- let this machine reach the download sites .*MOORING_KUBERNETES_DOWNLOADS, MOORING_ETCD_DOWNLOADS/,
      ),
      expect.stringMatching(/^ {2}- install Go 1\.26 or newer/),
      expect.stringMatching(
        /^ {2}- set KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver of Kubernetes 1\.36\.x and etcd 3\.6\.x$/,
      ),
    ]);
  });

  it("speaks of the modules alone whose programs are missing", () => {
    const text = unavailable(["ctr", "ptp", "containerd"], []);

    expect(text).toContain("cannot get ctr, ptp, containerd (containerd 2.4.2, CNI plugins 1.9.1). Tried:");
    expect(text).toContain("MOORING_CONTAINERD_DOWNLOADS, MOORING_CNI_PLUGINS_DOWNLOADS;");
    expect(text).not.toContain("etcd");
  });
});
