import { describe, expect, it } from "vitest";
import { ATTACHED, driverWith, inZone, mountedBy, read, staged } from "./facts.ts";
import { inTree, type Row, verdictOn } from "./volume-scenes.ts";

describe("a volume that excludes the node", () => {
  const handle = (driver: string, handleHash: string) => ({ by: "handle", driver, handleHash }) as const;
  const device = (plugin: string) => ({ by: "device", plugin, path: "50060e801049cfd1-lun-0" }) as const;
  const own = handle("disk.example.com", "0a1b");

  it.each<Row>([
    { name: "a mount of the pod is a mounted volume", mountedVolumes: [mountedBy("pod-1")], finding: "wrong-held" },
    {
      name: "a bind mount of a part of it is a mounted volume",
      mountedVolumes: [mountedBy("pod-1", "pv-1", "subpath")],
      finding: "wrong-held",
    },
    {
      name: "a mapped device is a mounted volume",
      mountedVolumes: [mountedBy("pod-1", "pv-1", "block")],
      finding: "wrong-held",
    },
    {
      name: "a mount of another volume of the pod does not count",
      mountedVolumes: [mountedBy("pod-1", "pv-2")],
      finding: "wrong",
    },
    { name: "a mount of another pod does not count", mountedVolumes: [mountedBy("pod-2")], finding: "wrong" },
    { name: "a staging mount by handle counts", mountedVolumes: [staged(own)], finding: "wrong-attached" },
    { name: "a staging mount by name counts", mountedVolumes: [staged("pv-1")], finding: "wrong-attached" },
    {
      name: "a staging mount of another handle does not count",
      mountedVolumes: [staged(handle("disk.example.com", "ffff"))],
      finding: "wrong",
    },
    {
      name: "a staging mount of another driver does not count",
      mountedVolumes: [staged(handle("x.example.com", "0a1b"))],
      finding: "wrong",
    },
    { name: "a staging mount of another name does not count", mountedVolumes: [staged("pv-2")], finding: "wrong" },
    {
      name: "a mounted volume takes precedence over a staging mount",
      mountedVolumes: [staged(own), mountedBy("pod-1")],
      finding: "wrong-held",
    },
    { name: "an attachment counts", node: { volumesAttached: ["x", ATTACHED] }, finding: "wrong-attached" },
    {
      name: "an attachment counts, whatever the driver says about attaching",
      node: { volumesAttached: [ATTACHED] },
      read: { driver: read(driverWith({ isAttachRequired: false })) },
      finding: "wrong-attached",
    },
    {
      name: "an attachment of another handle does not count",
      node: { volumesAttached: [`${ATTACHED}0`] },
      finding: "wrong",
    },
    {
      name: "an attachment of another driver does not count",
      node: { volumesAttached: ["kubernetes.io/csi/x.example.com^vol-1"] },
      finding: "wrong",
    },
    {
      name: "a staged iSCSI device may be it",
      pv: inTree("iscsi"),
      mountedVolumes: [staged(device("iscsi"))],
      finding: "unknown",
    },
    {
      name: "a mapped iSCSI device of the pod may be it",
      pv: inTree("iscsi"),
      mountedVolumes: [mountedBy("pod-1", device("iscsi"), "block")],
      finding: "unknown",
    },
    {
      name: "an iSCSI device of another pod does not count",
      pv: inTree("iscsi"),
      mountedVolumes: [mountedBy("pod-2", device("iscsi"), "block")],
      finding: "wrong",
    },
    {
      name: "a device of another plugin does not count",
      pv: inTree("iscsi"),
      mountedVolumes: [staged(device("fc"))],
      finding: "wrong",
    },
    { name: "a device does not count for a CSI volume", mountedVolumes: [staged(device("iscsi"))], finding: "wrong" },
    {
      name: "an attached iSCSI volume may be it",
      pv: inTree("iscsi"),
      node: { volumesAttached: ["kubernetes.io/iscsi/p:i:0"] },
      finding: "unknown",
    },
    {
      name: "an attached volume of another plugin does not count",
      pv: inTree("fc"),
      node: { volumesAttached: ["kubernetes.io/iscsi/p:i:0"] },
      finding: "wrong",
    },
    {
      name: "a staged local disk counts by its name",
      pv: inTree("local"),
      mountedVolumes: [staged("pv-1")],
      finding: "wrong-attached",
    },
    {
      name: "mounts do not change the verdict on a right volume",
      pv: { nodeAffinity: inZone("a") },
      mountedVolumes: [mountedBy("pod-1")],
      finding: "right",
    },
  ])("$name", (row) => {
    expect(verdictOn(row).finding).toBe(row.finding);
  });
});
