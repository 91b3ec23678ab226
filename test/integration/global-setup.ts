import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";
import { findBinaries } from "../rig/control-plane/binaries.ts";
import { type ControlPlane, FIRST_DATA, startControlPlane } from "../rig/control-plane/control-plane.ts";
import { HarnessError } from "../rig/process/errors.ts";
import { BUNDLE } from "../rig/process/mooring-program.ts";
import { ownTier } from "../rig/process/own-tier.ts";
import type { Owner } from "../rig/process/owner.ts";

const run = promisify(execFile);

declare module "vitest" {
  interface ProvidedContext {
    /** Path of a kubeconfig file of the tier's control plane that may do everything. */
    readonly kubeconfig: string;
    /** Path of a kubectl of the control plane's version. */
    readonly kubectl: string;
    /** Paths of the tools that check manifests, or why there are none. */
    readonly manifestTools: ManifestTools | { readonly problem: string };
  }
}

/** What administrators check manifests and rules with. */
export interface ManifestTools {
  readonly helm: string;
  readonly promtool: string;
  readonly kubeconform: string;
}

/** Starts the control plane that all integration tests share; vitest calls the returned function at the end. */
export default function setUp(project: TestProject): Promise<() => Promise<void>> {
  return ownTier(async (owner) => {
    owner.defer(() => {
      delete process.env[FIRST_DATA];
      delete process.env[BUNDLE];
    });
    const [[plane, firstData], bundle] = await Promise.all([startBoth(owner), makeBundle(owner)]);
    process.env[FIRST_DATA] = firstData;
    process.env[BUNDLE] = bundle;
    project.provide("kubeconfig", plane.kubeconfig);
    project.provide("kubectl", plane.kubectl);
    project.provide("manifestTools", await manifestTools(owner));
  });
}

/** The tier's control plane, and what those of single files begin with. */
async function startBoth(owner: Owner): Promise<readonly [ControlPlane, string]> {
  const parts = ["kube-controller-manager"] as const;
  // What is missing is built once, and not for each of them.
  await findBinaries(owner, ["etcd", "kube-apiserver", "kubectl", ...parts]);
  return Promise.all([startControlPlane(owner, { parts }), makeFirstData(owner)]);
}

async function makeFirstData(owner: Owner): Promise<string> {
  const name = "first";
  const plane = await startControlPlane(owner, { name });
  await plane.stop();
  return join(owner.folder, name, "etcd");
}

/** In a process of its own: what the bundler starts would stay as long as this one. */
async function makeBundle(owner: Owner): Promise<string> {
  const folder = join(owner.folder, "bundle");
  await run(process.execPath, [fileURLToPath(new URL("bundle-program.ts", import.meta.url)), folder]);
  return folder;
}

/** Before any test begins: building them takes all of the machine for minutes. Only the tests of manifests fail without them. */
async function manifestTools(owner: Owner): Promise<ManifestTools | { readonly problem: string }> {
  try {
    const path = await findBinaries(owner, ["helm", "promtool", "kubeconform"]);
    return { helm: path("helm"), promtool: path("promtool"), kubeconform: path("kubeconform") };
  } catch (error) {
    if (!(error instanceof HarnessError) || owner.signal.aborted) throw error;
    return { problem: error.message };
  }
}
