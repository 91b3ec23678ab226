import * as v from "valibot";
import { type CsiDriver, startCsiDriver } from "../../rig/csi/harness.ts";
import { csiDriverObject, STORAGE_PATHS, storageClassObject } from "../../rig/csi/objects.ts";
import { type CsiStorage, startCsiStorage } from "../../rig/csi/storage-harness.ts";
import { HarnessError } from "../../rig/process/errors.ts";
import type { Owner } from "../../rig/process/owner.ts";
import { type EventLog, startEventLog } from "../affinity/event-log.ts";
import { NODES, type NodeName, openStage, type Stage } from "../scenarios/stage.ts";
import { type Log, startLog } from "./log.ts";

/** Its volumes are staged, attached nowhere, and destroyed with their claims: nothing of Kubernetes asks whether they are mounted. */
export const DRIVER = "destroying.csi.mooring.test";
export const CLASS = "destroying";

/** What is looked at of a claim. */
export interface SeenClaim {
  /** Empty until it is bound. */
  readonly volume: string;
  readonly isDeleting: boolean;
  /** The reason of Mooring's condition; empty where there is none. */
  readonly unused: string;
  readonly isStaged: boolean;
}

/** The stage of the scenarios, without its drivers and without Mooring; what its one driver destroys is gone for good. */
export interface ProtectionStage extends Stage {
  readonly storage: CsiStorage;
  readonly destroying: (node: NodeName) => CsiDriver;
  readonly claims: Log<SeenClaim>;
  /** Their phases. */
  readonly volumes: Log<string>;
  readonly pods: Log<"there" | "deleting">;
  readonly namespaces: Log<null>;
  readonly events: EventLog;
}

const claim = v.object({
  metadata: v.object({ deletionTimestamp: v.optional(v.string()) }),
  spec: v.object({ volumeName: v.optional(v.string(), "") }),
  status: v.object({
    phase: v.optional(v.string(), ""),
    conditions: v.optional(
      v.array(v.object({ type: v.string(), status: v.string(), reason: v.optional(v.string(), "") })),
      [],
    ),
  }),
});
const deletable = v.object({ metadata: v.object({ deletionTimestamp: v.optional(v.string()) }) });
const volume = v.object({ status: v.object({ phase: v.optional(v.string(), "") }) });

/** What is looked at of a claim, by its JSON. Throws for what is none. */
export function readClaim(object: unknown): SeenClaim {
  const { metadata, spec, status } = v.parse(claim, object);
  const find = (type: string) => status.conditions.find((one) => one.type === type);
  return {
    volume: status.phase === "Bound" ? spec.volumeName : "",
    isDeleting: metadata.deletionTimestamp !== undefined,
    unused: find("mooring.dev/Unused")?.reason ?? "",
    isStaged: find("mooring.dev/Staged")?.status === "True",
  };
}

function readPod(object: unknown): "there" | "deleting" {
  return v.parse(deletable, object).metadata.deletionTimestamp === undefined ? "there" : "deleting";
}

/** Builds all of it; it ends with its owner. */
export async function openProtectionStage(owner: Owner): Promise<ProtectionStage> {
  const stage = await openStage(owner, { hasMooring: false, hasDrivers: false });
  const { api, cluster, node } = stage;
  const { plane } = cluster;
  await api.create(STORAGE_PATHS.drivers, csiDriverObject({ driver: DRIVER, attachRequired: false }));
  await api.create(STORAGE_PATHS.classes, storageClassObject({ name: CLASS, driver: DRIVER }));
  const startDriver = async (on: NodeName) =>
    [
      on,
      await startCsiDriver(owner, { driver: DRIVER, node: on, inside: (command) => node(on).inside(command) }),
    ] as const;
  const [drivers, storage, claims, volumes, pods, namespaces, events] = await Promise.all([
    Promise.all(NODES.map(startDriver)),
    startCsiStorage(owner, plane, { driver: DRIVER }),
    startLog(owner, plane, { path: "/api/v1/persistentvolumeclaims", read: readClaim }),
    startLog(owner, plane, { path: "/api/v1/persistentvolumes", read: (one) => v.parse(volume, one).status.phase }),
    startLog(owner, plane, { path: "/api/v1/pods", read: readPod }),
    startLog(owner, plane, { path: "/api/v1/namespaces", read: () => null }),
    startEventLog(owner, plane),
  ]);
  const byNode = new Map(drivers);
  await Promise.all([...byNode.values()].map((driver) => driver.registered()));
  const destroying = (on: NodeName): CsiDriver => {
    const driver = byNode.get(on);
    if (driver === undefined) throw new HarnessError(`there is no driver on ${on}`);
    return driver;
  };
  return { ...stage, storage, destroying, claims, volumes, pods, namespaces, events };
}
