import { describe, expect, it } from "vitest";
import { agentPodOf, claimPlace, podPlace, sizesOf, stagedClaimsOf, USED_PER_NODE } from "../../cluster/layout.ts";

const sizes = sizesOf(0.002);
const claims = Array.from({ length: sizes.claims }, (_, index) => claimPlace(index, sizes));
const pods = Array.from({ length: sizes.pods }, (_, index) => podPlace(index, sizes));

describe("the layout of a cluster", () => {
  it.each([
    { name: "the full size", fraction: 1, expected: { nodes: 5_000, pods: 150_000, claims: 200_000, namespaces: 400 } },
    { name: "a tenth of it", fraction: 0.1, expected: { nodes: 500, pods: 15_000, claims: 20_000, namespaces: 40 } },
    { name: "next to nothing", fraction: 0.00001, expected: { nodes: 1, pods: 30, claims: 40, namespaces: 1 } },
  ])("is that of $name", ({ fraction, expected }) => {
    expect(sizesOf(fraction)).toEqual(expected);
  });

  it("gives every object a name of its own", () => {
    const names = [...claims, ...pods].map(({ namespace, name }) => `${namespace}/${name}`);

    expect(new Set(names).size).toBe(names.length);
    expect(new Set(claims.map(({ volume }) => volume)).size).toBe(claims.length);
    expect(new Set(claims.map(({ handle }) => handle)).size).toBe(claims.length);
  });

  it("lets each claim in use be used by one pod, which is beside it", () => {
    const uses = pods.flatMap((pod) => pod.claims.map((claim) => ({ pod, claim: claims[claim] })));

    expect(uses.map(({ claim }) => claim?.index).toSorted()).toEqual(
      claims
        .filter(({ isUsed }) => isUsed)
        .map(({ index }) => index)
        .toSorted(),
    );
    for (const { pod, claim } of uses) {
      expect({ node: claim?.node, namespace: claim?.namespace }).toEqual({ node: pod.node, namespace: pod.namespace });
    }
  });

  it("has finished pods, which use nothing, and an agent on each node", () => {
    const finished = pods.filter(({ isFinished }) => isFinished);

    expect(finished.length).toBeGreaterThan(0);
    expect(finished.flatMap((pod) => pod.claims)).toEqual([]);
    expect(pods.filter(({ isAgent }) => isAgent).map(({ index }) => index)).toEqual(
      Array.from({ length: sizes.nodes }, (_, node) => agentPodOf(node)),
    );
  });

  it("stages claims that are in use, ten on each node, which makes 30 mounted volumes", () => {
    const staged = stagedClaimsOf(3).map((claim) => claims[claim]);

    expect(staged.every((claim) => claim?.isUsed && claim.isStaged && claim.node === 3)).toBe(true);
    expect(staged.length + USED_PER_NODE).toBe(30);
  });
});
