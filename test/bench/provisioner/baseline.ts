import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ProvisionerStage } from "../../e2e/provisioner/stage.ts";
import { NODES } from "../../e2e/scenarios/stage.ts";
import { findBinaries } from "../../rig/control-plane/binaries.ts";
import { STORAGE_PATHS } from "../../rig/csi/objects.ts";
import { makeDisk } from "../../rig/node/pool-disks.ts";
import { WORKLOAD_IMAGE } from "../../rig/node/workload.ts";

const NAMESPACE = "local-path-storage";
/** The class of local-path-provisioner. */
export const BASELINE = "local-path";
/** Where its volumes are, on a disk like that of the pool. */
export const BASELINE_FOLDER = "/var/lib/local-path";

/** The texts that its own manifests have, with the folder of this bench. */
const CONFIG = {
  "config.json": JSON.stringify({
    nodePathMap: [{ node: "DEFAULT_PATH_FOR_NON_LISTED_NODES", paths: [BASELINE_FOLDER] }],
  }),
  setup: '#!/bin/sh\nset -eu\nmkdir -m 0777 -p "$VOL_DIR"\n',
  teardown: '#!/bin/sh\nset -eu\nrm -rf "$VOL_DIR"\n',
  "helperPod.yaml": JSON.stringify({
    ...{ apiVersion: "v1", kind: "Pod", metadata: { name: "helper-pod" } },
    spec: { containers: [{ name: "helper-pod", image: WORKLOAD_IMAGE, imagePullPolicy: "IfNotPresent" }] },
  }),
};

/** Starts local-path-provisioner for the nodes of a stage: its program as it is built from its Go module, with its own scripts. */
export async function startBaseline({ owner, cluster, api, node }: ProvisionerStage): Promise<void> {
  const binaries = await findBinaries(owner, ["local-path-provisioner"]);
  for (const name of NODES) {
    const file = await makeDisk(owner, { node: node(name), name: "baseline" }, { filesystem: "ext4", size: "1G" });
    await node(name).run("mkdir", "-p", BASELINE_FOLDER);
    await node(name).run("mount", "-o", "loop", file, BASELINE_FOLDER);
  }
  await api.create("/api/v1/namespaces", { metadata: { name: NAMESPACE } });
  await api.create(`/api/v1/namespaces/${NAMESPACE}/configmaps`, {
    metadata: { name: "local-path-config" },
    data: CONFIG,
  });
  await api.create(STORAGE_PATHS.classes, {
    ...{ metadata: { name: BASELINE }, provisioner: "rancher.io/local-path", reclaimPolicy: "Delete" },
    volumeBindingMode: "WaitForFirstConsumer",
  });
  for (const [name, text] of Object.entries(CONFIG)) writeFileSync(join(owner.folder, name), text);
  const flags = {
    config: join(owner.folder, "config.json"),
    "helper-pod-file": join(owner.folder, "helperPod.yaml"),
    "helper-image": WORKLOAD_IMAGE,
    "service-account-name": "default",
    namespace: NAMESPACE,
    kubeconfig: cluster.kubeconfig,
  };
  const args = Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value]);
  await owner.child({ name: BASELINE, command: binaries("local-path-provisioner"), args: ["start", ...args] }).start();
}
