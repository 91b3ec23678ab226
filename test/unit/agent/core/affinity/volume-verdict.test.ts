import { describe, expect, it } from "vitest";
import { volumeVerdict } from "../../../../../agent/core/affinity/volume-verdict.ts";
import {
  ATTACHED,
  driverWith,
  FAILED,
  factsWith,
  inZone,
  MISSING,
  mountedBy,
  podWith,
  pvWith,
  read,
  volumeFactsWith,
  volumeWith,
} from "./facts.ts";
import { type Change, inTree, type Row, verdictOn } from "./volume-scenes.ts";

describe("a volume", () => {
  it.each<Row>([
    { name: "of another zone is wrong", finding: "wrong" },
    { name: "of this zone is right", pv: { nodeAffinity: inZone("a") }, finding: "right" },
    { name: "without an affinity is right", pv: { nodeAffinity: undefined }, finding: "right" },
    { name: "with an empty affinity is right", pv: { nodeAffinity: {} }, finding: "right" },
    {
      name: "with an affinity that cannot be parsed is unknown",
      pv: {
        nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "Near" }] }] } },
      },
      finding: "unknown",
    },
    {
      name: "whose matchFields name another node is right: the kubelet ignores them",
      pv: {
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["n2"] }] }],
          },
        },
      },
      finding: "right",
    },
    { name: "that no container uses is unused", volume: { isMounted: false }, finding: "unused" },
    {
      name: "that no container uses is unused, whatever could not be read",
      volume: { isMounted: false },
      read: { claim: FAILED, pv: undefined },
      finding: "unused",
    },
    {
      name: "that a container maps is used",
      volume: { isMounted: false, isMapped: true },
      pv: { mode: "Block" },
      finding: "wrong",
    },
    { name: "that is mounted but made to be mapped is unknown", pv: { mode: "Block" }, finding: "unknown" },
    {
      name: "that is mapped but made to be mounted is unknown",
      volume: { isMounted: false, isMapped: true },
      finding: "unknown",
    },
    { name: "that is mounted and mapped is unknown", volume: { isMapped: true }, finding: "unknown" },
    { name: "of an unknown mode is unknown", pv: { mode: "Object" }, finding: "unknown" },
    { name: "that was not read is unknown", read: { volume: volumeWith({ name: "other" }) }, finding: "unknown" },
  ])("$name", (row) => {
    expect(verdictOn(row).finding).toBe(row.finding);
  });
});

describe("a CSI driver", () => {
  const csiNodes = [
    { name: "is not there", csiNode: undefined },
    { name: "is missing", csiNode: MISSING },
    { name: "could not be read", csiNode: FAILED },
    { name: "lacks the driver", csiNode: read({ drivers: ["other.example.com"] }) },
  ];

  it.each(csiNodes)("is unknown when the CSINode $name", ({ csiNode }) => {
    const { finding, isExcluded } = volumeVerdict(volumeWith(), podWith(), factsWith({ csiNode }));

    expect({ finding, isExcluded }).toEqual({ finding: "unknown", isExcluded: true });
  });

  it.each(csiNodes)("of a local volume does not matter, although the CSINode $name", ({ csiNode }) => {
    const volumes = [volumeFactsWith({ pv: read(pvWith(inTree("local"))), driver: undefined })];

    expect(volumeVerdict(volumeWith(), podWith(), factsWith({ csiNode, volumes })).finding).toBe("wrong");
  });

  it.each<Row>([
    { name: "that attaches counts", finding: "wrong" },
    {
      name: "that does not attach counts",
      read: { driver: read(driverWith({ isAttachRequired: false })) },
      finding: "wrong",
    },
    { name: "without an object attaches", read: { driver: MISSING }, finding: "wrong" },
    { name: "whose object was not read is unknown", read: { driver: undefined }, finding: "unknown" },
    { name: "whose object could not be read is unknown", read: { driver: FAILED }, finding: "unknown" },
    {
      name: "of another name is unknown",
      read: { driver: read(driverWith({ name: "x" })) },
      finding: "unknown",
    },
    {
      name: "does not matter to a volume that is right",
      pv: { nodeAffinity: inZone("a") },
      read: { driver: FAILED },
      finding: "right",
    },
  ])("$name", (row) => {
    expect(verdictOn(row).finding).toBe(row.finding);
  });
});

describe("the reason in a volume's verdict", () => {
  it.each<{
    readonly name: string;
    readonly change: Change;
    readonly pv: string | undefined;
    readonly isExcluded: boolean;
    readonly why: string;
  }>([
    {
      name: "of a wrong volume is what its affinity requires",
      change: {},
      pv: "pv-1",
      isExcluded: true,
      why: 'it asks for zone In (b), the node has "a"',
    },
    {
      name: "of an attached volume includes the attachment",
      change: { node: { volumesAttached: [ATTACHED] } },
      pv: "pv-1",
      isExcluded: true,
      why: 'it asks for zone In (b), the node has "a"; but it is attached to the node',
    },
    {
      name: "of a mounted volume includes the mount",
      change: { mountedVolumes: [mountedBy("pod-1")] },
      pv: "pv-1",
      isExcluded: true,
      why: 'it asks for zone In (b), the node has "a"; but the pod has it mounted',
    },
    {
      name: "of a right volume is short",
      change: { pv: { nodeAffinity: inZone("a") } },
      pv: "pv-1",
      isExcluded: false,
      why: "its PV's node affinity admits the node",
    },
    {
      name: "of a PV that cannot be parsed names the field",
      change: { pv: { nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: "a b" }] }] } } } },
      pv: "pv-1",
      isExcluded: false,
      why: "its PV's node affinity is not understood: required.nodeSelectorTerms[0].matchExpressions[0].key is no qualified name",
    },
    {
      name: "of an unbound claim names the claim",
      change: { claim: { phase: "Lost" } },
      pv: undefined,
      isExcluded: false,
      why: "claim data-0 is not bound",
    },
    {
      name: "of a PV that could not be read gives the error",
      change: { read: { pv: FAILED } },
      pv: undefined,
      isExcluded: false,
      why: "PV pv-1 could not be read: timed out",
    },
    {
      name: "of a volume with a further unknown gives both",
      change: { read: { driver: FAILED } },
      pv: "pv-1",
      isExcluded: true,
      why: 'it asks for zone In (b), the node has "a"; but CSIDriver disk.example.com could not be read: timed out',
    },
  ])("$name", ({ change, pv, isExcluded, why }) => {
    expect(verdictOn(change)).toMatchObject({ pv, isExcluded, why });
  });
});
