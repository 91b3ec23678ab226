import { join } from "node:path";
import { findBinaries } from "../control-plane/binaries.ts";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import { HarnessError } from "../process/errors.ts";
import { fileOf } from "../process/mooring-program.ts";
import type { Owner } from "../process/owner.ts";
import { waitUntil } from "../process/wait.ts";
import type { FaultOrder } from "./faults.ts";
import { addFault, type FaultHandle, filesOf } from "./harness.ts";
import { destructionIn, type RecordLine, readRecord } from "./record.ts";
import { contentFolder } from "./volumes.ts";

const START_LIMIT_MS = 90_000;

/** The storage system of a driver: it makes volumes for claims of its classes, and destroys what they contain when Kubernetes lets them go. */
export interface CsiStorage {
  readonly record: () => readonly RecordLine[];
  /** When the contents of a volume were destroyed; nothing while they are there. */
  readonly destruction: (volume: string) => ReturnType<typeof destructionIn>;
  /** The folder that a volume contains, as this machine sees it. */
  readonly contentOf: (volume: string) => string;
  readonly misbehave: (order: FaultOrder) => FaultHandle;
}

/** Starts the controller service of a driver and external-provisioner beside it; returns when the one has asked the other. */
export async function startCsiStorage(
  owner: Owner,
  plane: Pick<ControlPlane, "kubeconfig">,
  { driver }: { readonly driver: string },
): Promise<CsiStorage> {
  const program = (await findBinaries(owner, ["csi-provisioner"]))("csi-provisioner");
  const files = filesOf(owner, driver, "storage");
  const socket = join(owner.folder, "csi", driver, "storage.sock");
  const places = Object.entries(files).flatMap(([flag, path]) => [`--${flag}`, path]);
  const storage = owner.child({
    name: `csi-${driver}-storage`,
    command: process.execPath,
    args: [fileOf("csi-driver"), "--driver", driver, "--controller", socket, ...places],
  });
  const provisioner = owner.child({
    name: `csi-provisioner-${driver}`,
    command: program,
    // The cluster has no snapshots whose leftovers could be swept.
    args: [
      `--kubeconfig=${plane.kubeconfig}`,
      `--csi-address=${socket}`,
      "--snapshot-orphan-sweep-interval=0",
      "--v=2",
    ],
  });
  const record = (): readonly RecordLine[] => readRecord(files.record);
  const until = (child: typeof storage, holds: (line: RecordLine) => boolean): Promise<void> =>
    waitUntil(owner, {
      what: child.name,
      limitMs: START_LIMIT_MS,
      child,
      everyMs: 20,
      check: async () => {
        if (!record().some(holds)) throw new HarnessError("the record does not show it");
      },
    });
  await storage.start();
  await until(storage, ({ kind }) => kind === "driver-started");
  await provisioner.start();
  await until(provisioner, (line) => line.kind === "call-ended" && line.call === "ControllerGetCapabilities");
  return {
    record,
    destruction: (volume) => destructionIn(record(), volume),
    contentOf: (volume) => contentFolder(files.volumes, volume),
    misbehave: (order) => addFault(files.control, order),
  };
}
