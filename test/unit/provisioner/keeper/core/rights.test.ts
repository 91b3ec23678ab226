import { describe, expect, it } from "vitest";
import { capabilitiesIn, type Rights, whatIsMissing } from "../../../../../provisioner/keeper/core/rights.ts";

const PRIVILEGED: Rights = {
  user: 0,
  capabilities: capabilitiesIn("CapEff:\t000001fffeffffff\n"),
  loopControl: undefined,
};

describe("the missing permissions of a keeper", () => {
  it("is nothing in a privileged container", () => {
    expect(whatIsMissing(PRIVILEGED)).toEqual([]);
  });

  it.each([
    {
      name: "root, whatever else",
      change: { user: 1000, capabilities: 0n, loopControl: "EACCES" },
      says: ["user 1000"],
    },
    {
      name: "SYS_ADMIN alone",
      change: { capabilities: capabilitiesIn("CapEff:\t000001fffedfffff\n") },
      says: ["CAP_SYS_ADMIN"],
    },
    { name: "loop devices in its /dev", change: { loopControl: "ENOENT" }, says: ["modprobe loop"] },
    {
      name: "the right to open loop devices",
      change: { loopControl: "EPERM" },
      says: ["(EPERM): set privileged: true"],
    },
    {
      name: "both, without being privileged",
      change: { capabilities: capabilitiesIn("CapEff:\t00000000a80425fb\n"), loopControl: "EPERM" },
      says: ["CAP_SYS_ADMIN", "/dev/loop-control"],
    },
    {
      name: "every capability where the kernel shows none",
      change: { capabilities: capabilitiesIn("Name:\tnode\n") },
      says: ["CAP_SYS_ADMIN"],
    },
  ])("is $name", ({ change, says }) => {
    expect(whatIsMissing({ ...PRIVILEGED, ...change })).toEqual(says.map((text) => expect.stringContaining(text)));
  });
});
