import * as v from "valibot";
import { STORAGE_PATHS } from "../../rig/csi/objects.ts";
import { type Disk, makeDisk, mountDisk } from "../../rig/node/pool-disks.ts";
import { detachLoops, identityOf, listLoops, withDependents } from "../../rig/process/loop-devices.ts";
import type { Owner } from "../../rig/process/owner.ts";
import { type EventLog, startEventLog } from "../affinity/event-log.ts";
import { type Log, startLog } from "../protection/log.ts";
import { NODES, type NodeName, openStage, type Stage } from "../scenarios/stage.ts";
import { rollOutProvisioner } from "./rollout.ts";

export const DRIVER = "local.mooring.dev";

/** The disks of each node: whatever fills a pool or takes it away has one of its own. */
export const DISKS: Readonly<Record<NodeName, readonly Disk[]>> = {
  "node-1": [
    { pool: "default", filesystem: "ext4", size: "1G" },
    { pool: "narrow", filesystem: "ext4", size: "256M" },
    { pool: "loose", filesystem: "xfs", size: "400M" },
  ],
  "node-2": [
    { pool: "default", filesystem: "xfs", size: "1G" },
    { pool: "narrow", filesystem: "xfs", size: "400M" },
    { pool: "loose", filesystem: "ext4", size: "256M" },
  ],
};
export const POOLS: readonly string[] = DISKS["node-1"].map(({ pool }) => pool);

/** Classes by their names. */
const CLASSES = {
  ext4: { parameters: { pool: "default", "csi.storage.k8s.io/fstype": "ext4" } },
  xfs: { parameters: { pool: "default", "csi.storage.k8s.io/fstype": "xfs" } },
  narrow: { parameters: { pool: "narrow" } },
  loose: { parameters: { pool: "loose" } },
  unknown: { parameters: { pool: "default", colour: "red" } },
  immediate: { volumeBindingMode: "Immediate" },
  foreign: { provisioner: "other.example" },
} as const satisfies Readonly<Record<string, object>>;
export type ClassName = keyof typeof CLASSES;

/** What is looked at of a claim. */
export interface SeenClaim {
  readonly phase: string;
  readonly volume: string;
  readonly isDeleting: boolean;
  /** The reason of Mooring's condition; empty where there is none. */
  readonly unused: string;
}

/** The stage of the scenarios with the provisioner, and disks for its pools. */
export interface ProvisionerStage extends Stage {
  readonly claims: Log<SeenClaim>;
  /** Their phases. */
  readonly volumes: Log<string>;
  readonly events: EventLog;
  /** The file of a pool's disk. */
  readonly disk: (node: NodeName, pool: string) => string;
  /** Every volume that was ever made here. */
  readonly known: ReadonlySet<string>;
}

const claim = v.object({
  metadata: v.object({ uid: v.string(), deletionTimestamp: v.optional(v.string()) }),
  spec: v.object({ volumeName: v.optional(v.string(), "") }),
  status: v.object({
    phase: v.optional(v.string(), ""),
    conditions: v.optional(v.array(v.object({ type: v.string(), reason: v.optional(v.string(), "") })), []),
  }),
});
const volume = v.object({ status: v.object({ phase: v.optional(v.string(), "") }) });

/** Builds all of it; it ends with its owner. */
export async function openProvisionerStage(owner: Owner): Promise<ProvisionerStage> {
  const known = new Set<string>();
  const disks = new Set<string>();
  // After the nodes have ended: a provisioner that runs attaches again what it misses.
  owner.defer(async () => detachLoops(withDependents(listLoops(), ({ fileIdentity }) => disks.has(fileIdentity))));
  const stage = await openStage(owner, { hasMooring: false, hasDrivers: false });
  const { plane } = stage.cluster;
  const readClaim = (object: unknown): SeenClaim => {
    const { metadata, spec, status } = v.parse(claim, object);
    known.add(`pvc-${metadata.uid}`);
    const unused = status.conditions.find(({ type }) => type === "mooring.dev/Unused")?.reason ?? "";
    const isDeleting = metadata.deletionTimestamp !== undefined;
    return { phase: status.phase, volume: spec.volumeName, isDeleting, unused };
  };
  const readPhase = (object: unknown): string => v.parse(volume, object).status.phase;
  const [claims, volumes, events, files] = await Promise.all([
    startLog(owner, plane, { path: "/api/v1/persistentvolumeclaims", read: readClaim }),
    startLog(owner, plane, { path: "/api/v1/persistentvolumes", read: readPhase }),
    startEventLog(owner, plane),
    makeDisks(owner, stage),
    ...Object.entries(CLASSES).map(([name, terms]) => makeClass(stage, name, terms)),
  ]);
  for (const file of files.values()) disks.add(identityOf(file) ?? "");
  await rollOutProvisioner(owner, stage.cluster, { pools: POOLS });
  return { ...stage, claims, volumes, events, known, disk: (node, pool) => files.get(`${node} ${pool}`) ?? "" };
}

async function makeDisks(owner: Owner, stage: Stage): Promise<ReadonlyMap<string, string>> {
  const made = NODES.flatMap((name) =>
    DISKS[name].map(async (disk) => {
      const node = stage.node(name);
      const file = await makeDisk(owner, { node, name: disk.pool }, disk);
      await mountDisk({ node, pool: disk.pool }, file);
      return [`${name} ${disk.pool}`, file] as const;
    }),
  );
  return new Map(await Promise.all(made));
}

async function makeClass({ api }: Stage, name: string, terms: object): Promise<void> {
  await api.create(STORAGE_PATHS.classes, {
    ...{ metadata: { name }, provisioner: DRIVER, reclaimPolicy: "Delete", allowVolumeExpansion: true },
    ...{ volumeBindingMode: "WaitForFirstConsumer", ...terms },
  });
}
