import { describe, expect, it } from "vitest";
import { FAILED, inZone, MISSING } from "./facts.ts";
import { inTree, type Row, verdictOn } from "./volume-scenes.ts";

describe("a claim", () => {
  it.each<Row>([
    { name: "that was not read tells nothing", read: { claim: undefined }, finding: "unknown" },
    { name: "that could not be read tells nothing", read: { claim: FAILED }, finding: "unknown" },
    { name: "that is missing is waited for", read: { claim: MISSING }, finding: "unknown" },
    {
      name: "that waits for a volume is waited for",
      claim: { phase: "Pending", volume: undefined },
      finding: "unknown",
    },
    { name: "that names a volume but is not bound yet is waited for", claim: { phase: "Pending" }, finding: "unknown" },
    { name: "that has lost its volume has none", claim: { phase: "Lost" }, finding: "unknown" },
    { name: "without a phase is not known", claim: { phase: "" }, finding: "unknown" },
    { name: "that is bound to nothing is not known", claim: { volume: undefined }, finding: "unknown" },
    { name: "that is being deleted is refused by the kubelet first", claim: { isDeleting: true }, finding: "unknown" },
    {
      name: "of another name was read by mistake",
      claim: { name: "data-1" },
      pv: { claimRef: { namespace: "shop", name: "data-1", uid: "claim-1" } },
      finding: "unknown",
    },
    {
      name: "of another namespace was read by mistake",
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
      name: "of a generic ephemeral volume that nobody owns does not",
      volume: { isEphemeral: true },
      finding: "unknown",
    },
    {
      name: "of a generic ephemeral volume of an earlier pod of that name does not",
      volume: { isEphemeral: true },
      claim: { controllerUid: "pod-0" },
      finding: "unknown",
    },
    { name: "that somebody else owns may be named by anybody", claim: { controllerUid: "set-1" }, finding: "wrong" },
  ])("$name", (row) => {
    expect(verdictOn(row).finding).toBe(row.finding);
  });
});

describe("a PV", () => {
  const ref = { namespace: "shop", name: "data-0", uid: "claim-1" };

  it.each<Row>([
    { name: "that was not read tells nothing", read: { pv: undefined }, finding: "unknown" },
    { name: "that could not be read tells nothing", read: { pv: FAILED }, finding: "unknown" },
    { name: "that is missing tells nothing", read: { pv: MISSING }, finding: "unknown" },
    { name: "of another name was read by mistake", pv: { name: "pv-2" }, finding: "unknown" },
    { name: "that is bound to nothing is not the claim's", pv: { claimRef: undefined }, finding: "unknown" },
    {
      name: "of an earlier claim of that name is not its",
      pv: { claimRef: { ...ref, uid: "claim-0" } },
      finding: "unknown",
    },
    {
      name: "that is promised to the name alone is not its",
      pv: { claimRef: { ...ref, uid: undefined } },
      finding: "unknown",
    },
    { name: "of a claim of another name is not its", pv: { claimRef: { ...ref, name: "data-1" } }, finding: "unknown" },
    {
      name: "of a claim of another namespace is not its",
      pv: { claimRef: { ...ref, namespace: "bank" } },
      finding: "unknown",
    },
    { name: "on a local disk counts", pv: inTree("local"), finding: "wrong" },
    { name: "in a folder of the node counts", pv: inTree("hostPath"), finding: "wrong" },
    { name: "on NFS counts", pv: inTree("nfs"), finding: "wrong" },
    { name: "on iSCSI counts", pv: inTree("iscsi"), finding: "wrong" },
    { name: "on Fibre Channel counts", pv: inTree("fc"), finding: "wrong" },
    { name: "that is migrated to CSI has its keys translated", pv: inTree("awsElasticBlockStore"), finding: "unknown" },
    { name: "of a plugin that calls its devices as it likes is unknown", pv: inTree("flexVolume"), finding: "unknown" },
    { name: "of a source that nobody knows is unknown", pv: inTree(""), finding: "unknown" },
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
