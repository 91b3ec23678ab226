import { describe, expect, it } from "vitest";
import { FAILED, inZone, MISSING } from "./facts.ts";
import { inTree, type Row, verdictOn } from "./volume-scenes.ts";

describe("a claim", () => {
  it.each<Row>([
    { name: "that was not read is unknown", read: { claim: undefined }, finding: "unknown" },
    { name: "that could not be read is unknown", read: { claim: FAILED }, finding: "unknown" },
    { name: "that is missing is unknown", read: { claim: MISSING }, finding: "unknown" },
    {
      name: "that is Pending is unknown",
      claim: { phase: "Pending", volume: undefined },
      finding: "unknown",
    },
    { name: "that names a volume but is not bound yet is unknown", claim: { phase: "Pending" }, finding: "unknown" },
    { name: "that is Lost is unknown", claim: { phase: "Lost" }, finding: "unknown" },
    { name: "without a phase is unknown", claim: { phase: "" }, finding: "unknown" },
    { name: "that is Bound without a volume is unknown", claim: { volume: undefined }, finding: "unknown" },
    {
      name: "that is being deleted is unknown: the kubelet refuses it first",
      claim: { isDeleting: true },
      finding: "unknown",
    },
    {
      name: "of another name is unknown",
      claim: { name: "data-1" },
      pv: { claimRef: { namespace: "shop", name: "data-1", uid: "claim-1" } },
      finding: "unknown",
    },
    {
      name: "of another namespace is unknown",
      claim: { namespace: "bank" },
      pv: { claimRef: { namespace: "bank", name: "data-0", uid: "claim-1" } },
      finding: "unknown",
    },
    {
      name: "of a generic ephemeral volume that the pod owns counts",
      volume: { isEphemeral: true },
      claim: { controllerUid: "pod-1" },
      finding: "wrong",
    },
    {
      name: "of a generic ephemeral volume without an owner does not count",
      volume: { isEphemeral: true },
      finding: "unknown",
    },
    {
      name: "of a generic ephemeral volume of an earlier pod of that name does not count",
      volume: { isEphemeral: true },
      claim: { controllerUid: "pod-0" },
      finding: "unknown",
    },
    { name: "that another object owns may be named by any pod", claim: { controllerUid: "set-1" }, finding: "wrong" },
  ])("$name", (row) => {
    expect(verdictOn(row).finding).toBe(row.finding);
  });
});

describe("a PV", () => {
  const ref = { namespace: "shop", name: "data-0", uid: "claim-1" };

  it.each<Row>([
    { name: "that was not read is unknown", read: { pv: undefined }, finding: "unknown" },
    { name: "that could not be read is unknown", read: { pv: FAILED }, finding: "unknown" },
    { name: "that is missing is unknown", read: { pv: MISSING }, finding: "unknown" },
    { name: "of another name is unknown", pv: { name: "pv-2" }, finding: "unknown" },
    { name: "that is not bound is unknown", pv: { claimRef: undefined }, finding: "unknown" },
    {
      name: "of an earlier claim of that name is unknown",
      pv: { claimRef: { ...ref, uid: "claim-0" } },
      finding: "unknown",
    },
    {
      name: "that is reserved for the name alone is unknown",
      pv: { claimRef: { ...ref, uid: undefined } },
      finding: "unknown",
    },
    { name: "of a claim of another name is unknown", pv: { claimRef: { ...ref, name: "data-1" } }, finding: "unknown" },
    {
      name: "of a claim of another namespace is unknown",
      pv: { claimRef: { ...ref, namespace: "bank" } },
      finding: "unknown",
    },
    { name: "on a local disk counts", pv: inTree("local"), finding: "wrong" },
    { name: "in a folder of the node counts", pv: inTree("hostPath"), finding: "wrong" },
    { name: "on NFS counts", pv: inTree("nfs"), finding: "wrong" },
    { name: "on iSCSI counts", pv: inTree("iscsi"), finding: "wrong" },
    { name: "on Fibre Channel counts", pv: inTree("fc"), finding: "wrong" },
    { name: "that is migrated to CSI has its keys translated", pv: inTree("awsElasticBlockStore"), finding: "unknown" },
    { name: "of a plugin with its own device names is unknown", pv: inTree("flexVolume"), finding: "unknown" },
    { name: "of an unknown source is unknown", pv: inTree(""), finding: "unknown" },
    {
      name: "that is migrated to CSI may look right and be wrong",
      pv: { ...inTree("gcePersistentDisk"), nodeAffinity: inZone("a") },
      finding: "unknown",
    },
    {
      name: "that is migrated to CSI is right without an affinity",
      pv: { ...inTree("cinder"), nodeAffinity: null },
      finding: "right",
    },
  ])("$name", (row) => {
    expect(verdictOn(row).finding).toBe(row.finding);
  });
});
