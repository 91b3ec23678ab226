import { describe, expect, it } from "vitest";
import { readSettings } from "../../../control-plane/settings.ts";

describe("readSettings", () => {
  it.each([
    { name: "the cache is in the home folder", env: { HOME: "/home/a" }, cache: "/home/a/.cache/mooring" },
    { name: "XDG_CACHE_HOME moves it", env: { HOME: "/home/a", XDG_CACHE_HOME: "/var/c" }, cache: "/var/c/mooring" },
    {
      name: "a relative XDG_CACHE_HOME is ignored",
      env: { HOME: "/home/a", XDG_CACHE_HOME: "c" },
      cache: "/home/a/.cache/mooring",
    },
    {
      name: "an empty XDG_CACHE_HOME is ignored",
      env: { HOME: "/home/a", XDG_CACHE_HOME: "" },
      cache: "/home/a/.cache/mooring",
    },
  ])("$name", ({ env, cache }) => {
    expect(readSettings(env).cache).toBe(cache);
  });

  it("takes an empty KUBEBUILDER_ASSETS for none", () => {
    expect(readSettings({ KUBEBUILDER_ASSETS: "" }).assets).toBeUndefined();
  });

  it("downloads from the official sites by default", () => {
    const { downloads } = readSettings({ MOORING_ETCD_DOWNLOADS: "http://mirror/etcd", MOORING_COREDNS_DOWNLOADS: "" });

    expect(downloads).toEqual({
      kubernetes: "https://dl.k8s.io",
      etcd: "http://mirror/etcd",
      containerd: "https://github.com/containerd/containerd/releases/download",
      "cni-plugins": "https://github.com/containernetworking/plugins/releases/download",
      coredns: "",
      helm: "https://get.helm.sh",
      prometheus: "https://github.com/prometheus/prometheus/releases/download",
      kubeconform: "https://github.com/yannh/kubeconform/releases/download",
      "external-provisioner": "",
      "local-path-provisioner": "",
    });
  });
});
