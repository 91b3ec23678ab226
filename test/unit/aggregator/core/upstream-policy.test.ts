import { describe, expect, it } from "vitest";
import { upstreamPolicy } from "../../../../aggregator/core/upstream-policy.ts";

describe("upstreamPolicy", () => {
  it.each([
    { setting: "auto", version: { major: 1, minor: 35 }, policy: "write" },
    { setting: "auto", version: { major: 1, minor: 36 }, policy: "remove" },
    { setting: "auto", version: { major: 1, minor: 37 }, policy: "remove" },
    { setting: "auto", version: { major: 2, minor: 0 }, policy: "remove" },
    { setting: "auto", version: { major: 0, minor: 99 }, policy: "write" },
    { setting: "auto", version: undefined, policy: "leave" },
    { setting: "never", version: { major: 1, minor: 35 }, policy: "remove" },
    { setting: "never", version: undefined, policy: "remove" },
    { setting: "always", version: { major: 1, minor: 37 }, policy: "write" },
    { setting: "always", version: undefined, policy: "write" },
  ] as const)("$setting on $version: $policy", ({ setting, version, policy }) => {
    expect(upstreamPolicy(setting, version)).toBe(policy);
  });
});
