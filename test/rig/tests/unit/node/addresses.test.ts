import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  CLUSTER_SLOTS,
  freeSlots,
  NODE_LIMIT,
  namesClusterAddress,
  parseSubnet,
  planAddresses,
} from "../../../node/addresses.ts";

describe("planAddresses", () => {
  it("gives the machine, the DNS server and each node an address, and each node a subnet for its pods", () => {
    expect(planAddresses(1, ["node-1", "node-2"])).toEqual({
      host: "198.18.16.1",
      dns: "198.18.16.2",
      prefixBits: 24,
      cluster: "198.18.16.0/20",
      nodes: [
        { name: "node-1", address: "198.18.16.11", pods: "198.18.17.0/24" },
        { name: "node-2", address: "198.18.16.12", pods: "198.18.18.0/24" },
      ],
    });
  });

  it("stays in the range for tests in its last slot too", () => {
    const names = Array.from({ length: NODE_LIMIT }, (_, index) => `node-${index}`);

    const plan = planAddresses(CLUSTER_SLOTS - 1, names);

    expect(plan.cluster).toBe("198.19.240.0/20");
    expect(plan.nodes.at(-1)?.pods).toBe("198.19.255.0/24");
  });

  it("refuses more nodes than there are addresses", () => {
    const names = Array.from({ length: NODE_LIMIT + 1 }, (_, index) => `node-${index}`);

    expect(() => planAddresses(0, names)).toThrow("a cluster has room for 15 nodes, not 16");
  });

  it("never gives one address or pod subnet twice, whichever clusters run side by side", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: CLUSTER_SLOTS - 1 }), { maxLength: 5 }), (slots) => {
        const plans = [...new Set(slots)].map((slot) => planAddresses(slot, ["a", "b", "c"]));
        const all = plans.flatMap(({ host, dns, nodes }) => [host, dns, ...nodes.flatMap((n) => [n.address, n.pods])]);

        expect(new Set(all).size).toBe(all.length);
      }),
    );
  });
});

describe("freeSlots", () => {
  const all = Array.from({ length: CLUSTER_SLOTS }, (_, slot) => slot);

  it.each([
    { name: "a machine without such routes has all free", routes: ["default", "192.0.2.0/24"], free: all },
    { name: "a default route written as a subnet takes none", routes: ["0.0.0.0/0"], free: all },
    { name: "the routes of a cluster take its slot", routes: ["198.18.0.0/24", "198.18.1.0/24"], free: all.slice(1) },
    { name: "the route to a single address takes its slot", routes: ["198.18.16.255"], free: [0, ...all.slice(2)] },
    { name: "a route to the whole range takes all", routes: ["198.18.0.0/15"], free: [] },
    { name: "a wider route takes all", routes: ["198.0.0.0/8"], free: [] },
    { name: "half of the range takes half of the slots", routes: ["198.19.0.0/16"], free: all.slice(0, 16) },
  ])("$name", ({ routes, free }) => {
    expect(freeSlots(routes)).toEqual(free);
  });
});

describe("parseSubnet", () => {
  it.each([
    { name: "an address alone is a subnet of one", text: "0.0.1.2", subnet: { first: 258, bits: 32 } },
    { name: "a prefix has its length", text: "255.0.0.0/8", subnet: { first: 4_278_190_080, bits: 8 } },
    { name: "the default route is none", text: "default", subnet: undefined },
    { name: "an address of the other version is none", text: "fd00::/64", subnet: undefined },
  ])("$name", ({ text, subnet }) => {
    expect(parseSubnet(text)).toEqual(subnet);
  });
});

describe("namesClusterAddress", () => {
  it.each([
    { name: "a rule for pods of a cluster does", rule: "ip saddr != 198.18.16.0/20 masquerade", names: true },
    { name: "a rule for the address of a pod does", rule: "dnat to 198.19.255.7:8080", names: true },
    { name: "one of two addresses is enough", rule: "ip saddr 10.244.0.0/16 ip daddr 198.18.1.2 accept", names: true },
    { name: "a rule for pods of another kubelet does not", rule: "ip daddr 10.244.0.5 accept", names: false },
    { name: "a rule for wider subnets does not", rule: "ip saddr { 198.0.0.0/8, 0.0.0.0/0 } drop", names: false },
    { name: "a rule without addresses does not", rule: 'iifname "eth0.1" counter drop comment "1.2"', names: false },
  ])("$name", ({ rule, names }) => {
    expect(namesClusterAddress(rule)).toBe(names);
  });
});
