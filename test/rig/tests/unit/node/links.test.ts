import { describe, expect, it } from "vitest";
import { planAddresses } from "../../../node/addresses.ts";
import { bridgeLinks, hostLinks, nodeCable, nodeLinks } from "../../../node/links.ts";

const plan = planAddresses(0, ["node-1", "node-2"]);
const [first = { name: "", address: "", pods: "" }] = plan.nodes;

describe("the links of a cluster", () => {
  it("give the machine one link, with routes to the pods of every node", () => {
    expect(hostLinks(plan, { link: "mooring-abc", bridgePid: 7 })).toEqual([
      "link add mooring-abc type veth peer name host netns 7",
      "address add 198.18.0.1/24 dev mooring-abc",
      "link set mooring-abc up",
      "route add 198.18.1.0/24 via 198.18.0.11 dev mooring-abc",
      "route add 198.18.2.0/24 via 198.18.0.12 dev mooring-abc",
    ]);
  });

  it("join the machine to the bridge, which has the DNS server's address", () => {
    expect(bridgeLinks(plan)).toEqual([
      "link set lo up",
      "link add nodes type bridge",
      "link set host master nodes",
      "link set host up",
      "address add 198.18.0.2/24 dev nodes",
      "link set nodes up",
      "route add 198.18.1.0/24 via 198.18.0.11 dev nodes",
      "route add 198.18.2.0/24 via 198.18.0.12 dev nodes",
    ]);
  });

  it("lead a node to the pods of the others, and nowhere else than to the bridge", () => {
    expect(nodeCable(first, 42)).toEqual([
      "link add node-1 type veth peer name eth0 netns 42",
      "link set node-1 master nodes",
      "link set node-1 up",
    ]);
    expect(nodeLinks(plan, first)).toEqual([
      "link set lo up",
      "address add 198.18.0.11/24 dev eth0",
      "link set eth0 up",
      "route add 198.18.2.0/24 via 198.18.0.12 dev eth0",
      "route add default via 198.18.0.2 dev eth0",
    ]);
  });
});
