import { describe, expect, it } from "vitest";
import { enforcesItself, parseKubeletVersion } from "../../../../../agent/core/affinity/kubelet-version.ts";

describe("the version of a kubelet", () => {
  it.each([
    { text: "1.38", version: [1, 38, 0] },
    { text: "v1.36.3", version: [1, 36, 3] },
    { text: "v1.36.3+k3s1", version: [1, 36, 3] },
    { text: "v1.33.5-eks-113cf36", version: [1, 33, 5] },
    { text: "v1.38.0-alpha.1.12+abc", version: [1, 38, 0] },
  ])("$text is read", ({ text, version }) => {
    expect(parseKubeletVersion(text)).toEqual(version);
  });

  it.each(["", "1", "v1", "1.38.x", "latest", "1.38.0.1", "99999.1", "1.-3"])("%j is none", (text) => {
    expect(parseKubeletVersion(text)).toBeUndefined();
  });
});

describe("a kubelet that enforces since 1.38.1", () => {
  it.each([
    { kubelet: "v1.38.1", enforces: true },
    { kubelet: "v1.38.2", enforces: true },
    { kubelet: "v1.39.0", enforces: true },
    { kubelet: "v2.0.0", enforces: true },
    { kubelet: "v1.38.0", enforces: false },
    { kubelet: "v1.37.9", enforces: false },
    { kubelet: "v1.4.9", enforces: false },
    { kubelet: "v0.40.9", enforces: false },
    { kubelet: "v1.38.1-alpha.1", enforces: true },
    { kubelet: "", enforces: undefined },
    { kubelet: "unknown", enforces: undefined },
  ])("with the version '$kubelet' rejects pods itself: $enforces", ({ kubelet, enforces }) => {
    expect(enforcesItself(kubelet, [1, 38, 1])).toBe(enforces);
  });
});
