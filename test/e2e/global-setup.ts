import { findBinaries } from "../rig/control-plane/binaries.ts";
import { OPTIONAL_PARTS } from "../rig/control-plane/control-plane.ts";
import { NODE_PROGRAMS } from "../rig/node/cluster.ts";
import { requireNodes } from "../rig/node/preconditions.ts";
import { ownTier } from "../rig/process/own-tier.ts";
import type { Owner } from "../rig/process/owner.ts";
import { checkNothingLeft, firewallOfClusters } from "./footprint.ts";

/**
 * Looks whether this machine can run nodes and gets their programs once, before any test waits; returns the end of the run, which fails
 * where all the tests together leave something behind.
 */
export default async function setUp(): Promise<() => Promise<void>> {
  let check = async (): Promise<void> => {};
  const end = await ownTier(async (owner) => {
    await requireNodes(owner);
    const before = await firewallOfClusters();
    check = () => checkNothingLeft(owner.folder, before);
    await getPrograms(owner);
  });
  return async () => {
    await end();
    await check();
  };
}

async function getPrograms(owner: Owner): Promise<void> {
  await findBinaries(owner, ["etcd", "kube-apiserver", "kubectl", ...OPTIONAL_PARTS]);
  await findBinaries(owner, NODE_PROGRAMS);
  await findBinaries(owner, ["helm", "csi-provisioner"]);
}
