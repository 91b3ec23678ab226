import { describe, expect, it } from "vitest";
import type { Pod } from "../../../../aggregator/core/cluster-objects.ts";
import { claimKeysOf, mayUse, refersTo } from "../../../../aggregator/core/references.ts";
import { podWith } from "../world.ts";

describe("refersTo", () => {
  const ephemeral = { claims: ["data"], ephemeralClaims: ["data"] };

  it.each<{
    readonly name: string;
    readonly pod?: Partial<Pod>;
    readonly key?: string;
    readonly controllerUid?: string;
    readonly refers: boolean;
  }>(
    // biome-ignore format: a row is a line
    [
      { name: "a pod refers to the claim that it names", refers: true },
      { name: "whoever controls that", controllerUid: "pod-0", refers: true },
      { name: "a pod does not refer to another claim", key: "shop/other", refers: false },
      { name: "nor to one of that name in another namespace", key: "lab/data", refers: false },
      { name: "an ephemeral volume refers to its pod's claim", pod: ephemeral, controllerUid: "pod-1", refers: true },
      { name: "an ephemeral volume does not to one that another controls", pod: ephemeral, controllerUid: "pod-0", refers: false },
      { name: "an ephemeral volume does not to one that nobody controls", pod: ephemeral, refers: false },
    ],
  )("$name", ({ pod, key = "shop/data", controllerUid, refers }) => {
    expect(refersTo(podWith(pod), { key, controllerUid })).toBe(refers);
  });
});

describe("claimKeysOf", () => {
  it("claims are of the pod's own namespace", () => {
    expect(claimKeysOf(podWith({ claims: ["data", "web-0-scratch"] }))).toEqual(["shop/data", "shop/web-0-scratch"]);
  });
});

describe("mayUse", () => {
  const unplaced = podWith({ node: undefined });

  it.each([
    { name: "a pod may use the claim that it names", pod: unplaced, key: "shop/data", isDeleting: false, may: true },
    { name: "not another one", pod: unplaced, key: "shop/other", isDeleting: false, may: false },
    { name: "one that goes, where it is on a node", pod: podWith(), key: "shop/data", isDeleting: true, may: true },
    { name: "not one that goes while it is on none", pod: unplaced, key: "shop/data", isDeleting: true, may: false },
  ])("$name", ({ pod, key, isDeleting, may }) => {
    expect(mayUse(pod, { key, isDeleting })).toBe(may);
  });
});
