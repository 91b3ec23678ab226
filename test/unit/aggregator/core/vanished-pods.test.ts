import { describe, expect, it } from "vitest";
import { claimsToRemember, VanishedPods } from "../../../../aggregator/core/vanished-pods.ts";
import { podWith } from "../world.ts";

const MIB = 1024 * 1024;
const names = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `claim-${index}`);

describe("claimsToRemember", () => {
  it.each([
    { name: "all that there are, however many", claims: 3_000, isThere: () => true, kept: 3_000 },
    { name: "as many that there are not as a pod that ran may have", claims: 32, isThere: () => false, kept: 32 },
    { name: "no more than that of thousands that there are not", claims: 3_000, isThere: () => false, kept: 32 },
    {
      name: "each one that there is beside those",
      claims: 3_000,
      isThere: (key: string) => key === "shop/claim-2999",
      kept: 33,
    },
  ])("keeps $name", ({ claims, isThere, kept }) => {
    expect(claimsToRemember({ key: "shop/web", claims: names(claims) }, isThere)).toHaveLength(kept);
  });
});

describe("pods that vanished", () => {
  it("are bounded in bytes, and the latest are remembered", () => {
    const vanished = new VanishedPods();
    const claims = names(3_000).map((name) => name.padEnd(250, "x"));

    for (let at = 0; at < 150; at += 1) vanished.note(podWith({ uid: `pod-${at}`, claims }), []);

    expect(vanished.bytes).toBeLessThan(16 * MIB);
    expect(vanished.bytes).toBeGreaterThan(15 * MIB);
    expect([vanished.get("pod-0"), vanished.get("pod-149")?.uid]).toEqual([undefined, "pod-149"]);
  });

  it("are bounded in number", () => {
    const vanished = new VanishedPods();

    for (let at = 0; at < 20_001; at += 1) vanished.note(podWith({ uid: `pod-${at}`, claims: [] }), []);

    expect([vanished.get("pod-0"), vanished.get("pod-1")?.uid]).toEqual([undefined, "pod-1"]);
  });

  it("that vanish twice are one", () => {
    const vanished = new VanishedPods();
    vanished.note(podWith(), ["claim-1"]);
    const once = vanished.bytes;

    vanished.note(podWith(), ["claim-1"]);

    expect(vanished.bytes).toBe(once);
  });

  it("are remembered with the claims that there were, which take bytes, too", () => {
    const [vanished, other] = [new VanishedPods(), new VanishedPods()];

    vanished.note(podWith({ claims: ["data", "gone"] }), ["claim-1"]);
    other.note(podWith({ claims: ["data", "gone"] }), []);

    expect(vanished.claimsOf("pod-1")).toEqual(["claim-1"]);
    expect(vanished.bytes - other.bytes).toBe("claim-1".length);
  });
});
