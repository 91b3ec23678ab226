import { join } from "node:path";
import { createSystemRandom } from "../../../common/runtime/random.ts";
import type { OwnedChild } from "../process/child.ts";
import { HarnessError } from "../process/errors.ts";
import { fileOf } from "../process/mooring-program.ts";
import type { Owner } from "../process/owner.ts";
import { type Awaited, waitUntil } from "../process/wait.ts";
import { readFaults, writeFaults } from "./control-file.ts";
import type { Fault, FaultOrder } from "./faults.ts";
import { releaseLoops, VOLUMES_FOLDER } from "./loop-devices.ts";
import { type MountOperation, operationsIn, type RecordLine, readRecord } from "./record.ts";

const START_LIMIT_MS = 90_000;

/** A program and its arguments. */
export interface Command {
  readonly command: string;
  readonly args: readonly string[];
}

/** Which driver to run, and where. */
export interface CsiDriverOptions {
  /** Name of the driver. */
  readonly driver: string;
  /** Name of the node. */
  readonly node: string;
  /** The command that runs a program in the namespaces of the node. Asked at each start: a node may have been started anew. */
  readonly inside: (command: Command) => Command;
  /** As the node sees it; `/var/lib/kubelet` unless told. */
  readonly kubeletRoot?: string;
  /** Volumes are staged before they are published, unless told. */
  readonly hasStaging?: boolean;
}

/** A driver on a node. Its record and its faults stay when it is killed and started again. */
export interface CsiDriver {
  /** The process; `kill` and `stop` end the driver. */
  readonly child: OwnedChild;
  /** Starts it, also again, and waits until it serves; it is registered a moment later. */
  readonly start: () => Promise<void>;
  /** Waits until the kubelet has said, since the last start, that it knows the driver. */
  readonly registered: () => Promise<void>;
  /** Makes a fault for all calls that begin from now on; the answer takes it back. */
  readonly misbehave: (order: FaultOrder) => FaultHandle;
  /** All that happened. */
  readonly record: () => readonly RecordLine[];
  /** The mounts and umounts of it: the oracle. */
  readonly operations: () => readonly MountOperation[];
  /** Waits until the record has such a line, also one of an earlier start. */
  readonly until: (what: string, holds: (line: RecordLine) => boolean) => Promise<void>;
}

/** A fault that is in force. */
export interface FaultHandle {
  readonly id: string;
  /** Ends it: what hangs goes on. */
  readonly release: () => void;
}

/**
 * Starts a driver on a node. All drivers of a name share what their volumes hold, so a claim can be used on several nodes.
 * Throws a HarnessError with its last words when it does not serve.
 */
export async function startCsiDriver(owner: Owner, options: CsiDriverOptions): Promise<CsiDriver> {
  const { files, command } = planOf(owner, options);
  // Also what earlier runs left: only the next driver that is started can know that nobody needs it.
  releaseLoops(files.volumes);
  owner.defer(() => releaseLoops(files.volumes));
  const child = owner.child({ name: `csi-${options.driver}-${options.node}`, ...command });
  const record = (): readonly RecordLine[] => readRecord(files.record);
  const wait = (what: string, check: Awaited["check"]): Promise<void> =>
    waitUntil(owner, { what: `${what} of ${child.name}`, limitMs: START_LIMIT_MS, child, check, everyMs: 20 });
  let begin = 0;
  const sinceStart = (what: string, holds: (line: RecordLine) => boolean): Promise<void> =>
    wait(what, async () => {
      if (!record().slice(begin).some(holds)) throw new HarnessError("the record does not show it");
    });

  const start = async (): Promise<void> => {
    if (child.pid !== undefined) return;
    begin = record().length;
    await child.restart(options.inside(command));
    await sinceStart("the start", ({ kind }) => kind === "driver-started");
  };
  await start();
  return {
    child,
    start,
    registered: () => sinceStart("the registration", (line) => line.kind === "registration" && line.registered),
    misbehave: (order) => addFault(files.control, order),
    record,
    operations: () => operationsIn(record()),
    until: (what, holds) =>
      wait(what, async () => {
        if (!record().some(holds)) throw new HarnessError("the record does not show it");
      }),
  };
}

/** A driver that is to be run. */
interface Plan {
  readonly files: { readonly record: string; readonly control: string; readonly volumes: string };
  readonly command: Command;
}

/** What drivers of one name have on this machine, apart from sockets; the name of a node, or another one, is for files. */
export function filesOf({ folder }: Owner, driver: string, name: string): Plan["files"] {
  return {
    record: join(folder, "csi", driver, `${name}.jsonl`),
    control: join(folder, "csi", driver, `${name}-faults.json`),
    volumes: join(folder, VOLUMES_FOLDER, driver),
  };
}

function planOf(owner: Owner, { driver, node, kubeletRoot, hasStaging = true }: CsiDriverOptions): Plan {
  const files = filesOf(owner, driver, node);
  const places = Object.entries(files).flatMap(([flag, path]) => [`--${flag}`, path]);
  const root = kubeletRoot === undefined ? [] : ["--kubelet-root", kubeletRoot];
  const staging = hasStaging ? [] : ["--without-staging"];
  const args = [fileOf("csi-driver"), "--driver", driver, "--node", node, ...places, ...root, ...staging];
  return { files, command: { command: process.execPath, args } };
}

/** Makes a fault for all calls that read that file and begin from now on. */
export function addFault(file: string, order: FaultOrder): FaultHandle {
  const fault: Fault = { ...order, when: order.when ?? "before", id: createSystemRandom().id() };
  writeFaults(file, [...readFaults(file), fault]);
  return {
    id: fault.id,
    release: () =>
      writeFaults(
        file,
        readFaults(file).filter(({ id }) => id !== fault.id),
      ),
  };
}
