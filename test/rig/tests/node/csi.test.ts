import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { kubectl } from "../../../e2e/kubectl.ts";
import { startAttacher } from "../../csi/attacher.ts";
import { type CsiDriver, startCsiDriver } from "../../csi/harness.ts";
import {
  claimObject,
  csiDriverObject,
  STORAGE_PATHS,
  storageClassObject,
  type VolumeTerms,
  volumeObject,
} from "../../csi/objects.ts";
import { startProvisioner } from "../../csi/provisioner.ts";
import type { MountOperation } from "../../csi/record.ts";
import { type NodeCluster, startNodeCluster } from "../../node/cluster.ts";
import type { RealNode } from "../../node/real-node.ts";
import { WORKLOAD_IMAGE } from "../../node/workload.ts";
import { type MountOracle, startMountOracle } from "../../oracle/harness.ts";
import { detachmentsAt } from "../../oracle/record.ts";
import { listLoops } from "../../process/loop-devices.ts";
import { type Owner, openOwner } from "../../process/owner.ts";
import { closeOnSignals } from "../../process/run-owned.ts";
import { type ClusterApi, createClusterApi } from "../../stand-in/cluster-api.ts";

const ATTACHED = "attached.csi.mooring.test";
const PLAIN = "plain.csi.mooring.test";

let owner: Owner;
let signals: Disposable;
let cluster: NodeCluster;
let node: RealNode;
let api: ClusterApi;
let drivers: Readonly<Record<string, CsiDriver>>;
let oracle: MountOracle;

async function addDriver(driver: string, attachRequired: boolean): Promise<CsiDriver> {
  await api.create(STORAGE_PATHS.drivers, csiDriverObject({ driver, attachRequired }));
  const started = await startCsiDriver(owner, { driver, node: node.name, inside: node.inside });
  await started.registered();
  return started;
}

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  cluster = await startNodeCluster(owner, { nodes: 1 });
  const [first] = cluster.nodes;
  if (first === undefined) throw new Error("there is no node");
  node = first;
  api = createClusterApi(cluster.plane.api);
  oracle = await startMountOracle(owner, { name: node.name, pid: node.pid() });
  drivers = { [ATTACHED]: await addDriver(ATTACHED, true), [PLAIN]: await addDriver(PLAIN, false) };
  await startAttacher(owner, cluster.plane, { driver: ATTACHED });
  await startProvisioner(owner, cluster.plane, { driver: PLAIN });
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

/** A pod that keeps a volume; it ends as soon as it is deleted. */
function podWith(name: string, volume: object, isBlock = false): object {
  const mount = isBlock
    ? { volumeDevices: [{ name: "data", devicePath: "/dev/data" }] }
    : { volumeMounts: [{ name: "data", mountPath: "/data" }] };
  const main = { name: "main", image: WORKLOAD_IMAGE, command: ["sleep", "infinity"], ...mount };
  const spec = { terminationGracePeriodSeconds: 0, containers: [main], volumes: [{ name: "data", ...volume }] };
  return { metadata: { name }, spec };
}

async function runPod(name: string, pod: object): Promise<void> {
  await api.create("/api/v1/namespaces/default/pods", pod);
  await kubectl(cluster, "wait", "--for=condition=Ready", `pod/${name}`, "--timeout=60s");
}

async function createVolume(driver: string, name: string, terms: VolumeTerms): Promise<object> {
  const claim = { namespace: "default", name };
  await api.create(STORAGE_PATHS.volumes, volumeObject({ name: `pv-${name}`, driver, claim }, terms));
  await api.create(STORAGE_PATHS.claims("default"), claimObject({ name, volume: `pv-${name}` }, terms));
  return { persistentVolumeClaim: { claimName: name } };
}

/** The umounts of a volume after it was given back; each call made one. */
async function umountsOf(driver: string, volume: string): Promise<readonly MountOperation[]> {
  await drivers[driver]?.until(
    "the end of the unstaging",
    (line) => line.kind === "call-ended" && line.call === "NodeUnstageVolume" && line.volume === volume,
  );
  const operations = drivers[driver]?.operations() ?? [];
  const umounts = operations.filter((one) => one.volume === volume && one.operation === "umount");
  expect(umounts).toMatchObject([
    { call: "NodeUnpublishVolume", error: undefined },
    { call: "NodeUnstageVolume", error: undefined },
  ]);
  return umounts;
}

describe("the CSI driver under a real kubelet", () => {
  it.each([
    { name: "a filesystem volume that is attached first", driver: ATTACHED, claim: "fs-attached", mode: "Filesystem" },
    { name: "a filesystem volume", driver: PLAIN, claim: "fs-plain", mode: "Filesystem" },
    { name: "a block volume that is attached first", driver: ATTACHED, claim: "block-attached", mode: "Block" },
    { name: "a block volume", driver: PLAIN, claim: "block-plain", mode: "Block" },
  ] as const)("serves $name, and the kernel's own record agrees with the driver's", async ({ driver, claim, mode }) => {
    const isBlock = mode === "Block";
    const volume = await createVolume(driver, claim, { volumeMode: mode });

    await runPod(claim, podWith(claim, volume, isBlock));
    await kubectl(cluster, "delete", "pod", claim, "--wait=true");
    const umounts = await umountsOf(driver, `pv-${claim}`);

    for (const { target, began, ended } of umounts) {
      await oracle.until(target, () => detachmentsAt(oracle.lines(), target).length > 0);
      const [span, ...more] = detachmentsAt(oracle.lines(), target);
      expect(more).toEqual([]);
      // Both are intervals that hold the same moment.
      expect(span?.after.wallMs).toBeLessThanOrEqual(ended?.wallMs ?? Number.NaN);
      expect(span?.by.wallMs).toBeGreaterThanOrEqual(began.wallMs);
    }
    expect(listLoops().filter(({ file }) => file.includes(claim))).toEqual([]);
  });

  it("serves a generic ephemeral claim, whose volume is made and deleted", async () => {
    await api.create(
      STORAGE_PATHS.classes,
      storageClassObject({ name: "made", driver: PLAIN, bindingMode: "WaitForFirstConsumer" }),
    );
    const spec = claimObject({ name: "unused" }, { storageClassName: "made" }).spec;

    await runPod("ephemeral", podWith("ephemeral", { ephemeral: { volumeClaimTemplate: { spec } } }));
    const volume = await kubectl(cluster, "get", "pvc", "ephemeral-data", "-o", "jsonpath={.spec.volumeName}");
    await kubectl(cluster, "delete", "pod", "ephemeral", "--wait=true");

    await umountsOf(PLAIN, volume);
    await kubectl(cluster, "wait", "--for=delete", `pv/${volume}`, "--timeout=60s");
  });

  it("registers again after it was killed, and unmounts what it had mounted before", async () => {
    const volume = await createVolume(PLAIN, "killed", {});
    await runPod("killed", podWith("killed", volume));

    await drivers[PLAIN]?.child.kill();
    await drivers[PLAIN]?.start();
    await drivers[PLAIN]?.registered();
    await kubectl(cluster, "delete", "pod", "killed", "--wait=true");

    await umountsOf(PLAIN, "pv-killed");
  });
});
