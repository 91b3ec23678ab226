import { rollOut } from "../../image/rollout.ts";
import { startAttacher } from "../../rig/csi/attacher.ts";
import { type CsiDriver, startCsiDriver } from "../../rig/csi/harness.ts";
import { csiDriverObject, STORAGE_PATHS, storageClassObject } from "../../rig/csi/objects.ts";
import { startProvisioner } from "../../rig/csi/provisioner.ts";
import type { MountOperation } from "../../rig/csi/record.ts";
import { type NodeCluster, startNodeCluster } from "../../rig/node/cluster.ts";
import type { RealNode } from "../../rig/node/real-node.ts";
import { type MountOracle, startMountOracle } from "../../rig/oracle/harness.ts";
import type { OracleLine } from "../../rig/oracle/record.ts";
import { HarnessError } from "../../rig/process/errors.ts";
import type { Owner } from "../../rig/process/owner.ts";
import { type Starvation, watchStarvation } from "../../rig/process/starvation.ts";
import { waitUntil } from "../../rig/process/wait.ts";
import { type ClusterApi, createClusterApi } from "../../rig/stand-in/cluster-api.ts";
import { type ClaimLog, startClaimLog } from "./claim-log.ts";

/** The names of the two nodes. */
export const NODES = ["node-1", "node-2"] as const;
export type NodeName = (typeof NODES)[number];

/** The drivers: one whose volumes are attached and staged first, and one that does neither and makes volumes on demand. */
export const DRIVERS = { attached: "attached.csi.mooring.test", plain: "plain.csi.mooring.test" } as const;
export type DriverName = keyof typeof DRIVERS;

/** The class of volumes that the plain driver makes once a pod wants them. */
export const ON_DEMAND = "on-demand";

const LIMIT_MS = 120_000;

/** A cluster of two nodes with Mooring rolled out, drivers, and oracles that share nothing with Mooring. */
export interface Stage {
  readonly owner: Owner;
  readonly cluster: NodeCluster;
  readonly api: ClusterApi;
  readonly log: ClaimLog;
  /** What the machine made everybody wait since the stage was built. */
  readonly starvation: Starvation;
  readonly node: (name: NodeName) => RealNode;
  readonly driver: (name: DriverName, node: NodeName) => CsiDriver;
  /** What all drivers of all nodes mounted and unmounted. */
  readonly operations: () => readonly MountOperation[];
  /** What the kernel told of a node's mounts, over all its boots. */
  readonly mounts: (node: NodeName) => readonly OracleLine[];
  /** Watches a node that was started anew. */
  readonly watchMounts: (node: NodeName) => Promise<void>;
  /** Asks until the check does not throw; within two minutes unless told. */
  readonly until: (what: string, check: () => Promise<void> | void, limitMs?: number) => Promise<void>;
}

/** What a stage may lack. */
export interface StageOptions {
  /** Without Mooring, `rollOut` brings it later. */
  readonly hasMooring?: boolean;
  /** The drivers of the scenarios. */
  readonly hasDrivers?: boolean;
}

/** Builds all of it, unless told; it ends with its owner. */
export async function openStage(
  owner: Owner,
  { hasMooring = true, hasDrivers = true }: StageOptions = {},
): Promise<Stage> {
  const cluster = await startNodeCluster(owner, { nodes: NODES.length });
  const api = createClusterApi(cluster.plane.api);
  const node = (name: NodeName): RealNode =>
    found(
      cluster.nodes.find((one) => one.name === name),
      name,
    );
  const [log, drivers, oracles] = await Promise.all([
    startClaimLog(owner, cluster.plane),
    hasDrivers ? startDrivers(owner, { cluster, api, node }) : new Map<string, CsiDriver>(),
    startOracles(owner, node),
    hasMooring ? rollOut(owner, cluster) : undefined,
  ]);
  return {
    owner,
    cluster,
    api,
    log,
    starvation: watchStarvation(owner),
    node,
    ...oracles,
    driver: (name, on) => found(drivers.get(`${name} ${on}`), name),
    operations: () => [...drivers.values()].flatMap((driver) => driver.operations()),
    until: (what, check, limitMs = LIMIT_MS) =>
      waitUntil(owner, { what, limitMs, everyMs: 50, check: async () => check() }),
  };
}

interface Ground extends Pick<Stage, "cluster" | "api" | "node"> {}

async function startDrivers(owner: Owner, { cluster, api, node }: Ground): Promise<ReadonlyMap<string, CsiDriver>> {
  const drivers = new Map<string, CsiDriver>();
  for (const [name, isAttached] of [
    ["attached", true],
    ["plain", false],
  ] as const) {
    const driver = DRIVERS[name];
    await api.create(STORAGE_PATHS.drivers, csiDriverObject({ driver, attachRequired: isAttached }));
    for (const on of NODES) {
      // Asked at each start: the node may have been started anew.
      const inside: RealNode["inside"] = (command) => node(on).inside(command);
      drivers.set(`${name} ${on}`, await startCsiDriver(owner, { driver, node: on, inside, hasStaging: isAttached }));
    }
  }
  await Promise.all([...drivers.values()].map((driver) => driver.registered()));
  const { plane } = cluster;
  const onDemand = { name: ON_DEMAND, driver: DRIVERS.plain, bindingMode: "WaitForFirstConsumer" } as const;
  await api.create(STORAGE_PATHS.classes, storageClassObject(onDemand));
  await startAttacher(owner, plane, { driver: DRIVERS.attached });
  await startProvisioner(owner, plane, { driver: DRIVERS.plain });
  return drivers;
}

async function startOracles(owner: Owner, node: Stage["node"]): Promise<Pick<Stage, "mounts" | "watchMounts">> {
  const oracles = new Map<NodeName, MountOracle[]>();
  const watchMounts = async (name: NodeName): Promise<void> => {
    const oracle = await startMountOracle(owner, { name, pid: node(name).pid() });
    oracles.set(name, [...(oracles.get(name) ?? []), oracle]);
  };
  await Promise.all(NODES.map(watchMounts));
  return { watchMounts, mounts: (name) => (oracles.get(name) ?? []).flatMap(({ lines }) => lines()) };
}

function found<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new HarnessError(`there is no ${name}`);
  return value;
}
