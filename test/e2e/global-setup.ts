import { findBinaries } from "../control-plane/binaries.ts";
import { OPTIONAL_PARTS } from "../control-plane/control-plane.ts";
import { NODE_PROGRAMS } from "../node/cluster.ts";
import { requireNodes } from "../node/preconditions.ts";
import { openOwner } from "../process/owner.ts";
import { closeOnSignals } from "../process/run-owned.ts";
import { checkNothingLeft, machineState } from "./footprint.ts";

/**
 * Looks whether this machine can run nodes and gets their programs once, before any test waits; returns the end of the run, which fails
 * where all the tests together leave something behind.
 */
export default async function setUp(): Promise<() => Promise<void>> {
  const owner = await openOwner();
  const signals = closeOnSignals(owner);
  // The test processes begin after this: what they leave when vitest kills them goes with this run.
  const { TMPDIR: before } = process.env;
  process.env.TMPDIR = owner.folder;
  const tearDown = async (): Promise<void> => {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    await owner.close();
    signals[Symbol.dispose]();
  };
  try {
    await requireNodes(owner);
    const state = await machineState();
    await findBinaries(owner, ["etcd", "kube-apiserver", "kubectl", ...OPTIONAL_PARTS]);
    await findBinaries(owner, NODE_PROGRAMS);
    await findBinaries(owner, ["helm"]);
    return async () => {
      await tearDown();
      await checkNothingLeft(owner.folder, state);
    };
  } catch (error) {
    await tearDown();
    throw error;
  }
}
