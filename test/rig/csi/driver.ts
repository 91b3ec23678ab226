import { randomUUID } from "node:crypto";
import type { Clock } from "../../../common/runtime/clock.ts";
import { Calls } from "./calls.ts";
import { readFaults } from "./control-file.ts";
import {
  controllerMethods,
  type DriverIdentity,
  identityMethods,
  nodeMethods,
  registrationMethods,
} from "./methods.ts";
import { createMounter } from "./mounter.ts";
import { createRecorder, type RecordEvent } from "./record.ts";
import { serve } from "./server.ts";
import { CONTROLLER, IDENTITY, NODE, REGISTRATION } from "./services.ts";
import { createStorage } from "./storage.ts";
import { createVolumes } from "./volumes.ts";

/** Where the files of a driver are. */
export interface DriverFiles {
  /** Holds what the volumes contain. */
  readonly volumes: string;
  /** Takes the lines of the record. */
  readonly record: string;
  /** The file of faults; see `control-file.ts`. */
  readonly control: string;
}

/** What the driver is told at its start on a node. */
export interface DriverOptions extends DriverIdentity, DriverFiles {
  readonly kubeletRoot: string;
}

/** What it is told where it makes and deletes volumes. */
export interface ControllerOptions extends Pick<DriverIdentity, "driver">, DriverFiles {
  /** Where the provisioner calls it. */
  readonly socket: string;
}

/** Where a driver answers the kubelet. */
export function csiSocket({ kubeletRoot, driver }: Pick<DriverOptions, "kubeletRoot" | "driver">): string {
  return `${kubeletRoot}/plugins/${driver}/csi.sock`;
}

/** Where the kubelet's plugin watcher finds it. */
export function registrationSocket({ kubeletRoot, driver }: Pick<DriverOptions, "kubeletRoot" | "driver">): string {
  return `${kubeletRoot}/plugins_registry/${driver}-reg.sock`;
}

/** Serves a node until the signal is aborted. */
export async function runDriver(options: DriverOptions, clock: Clock, signal: AbortSignal): Promise<void> {
  const { run, record, nextId, calls } = begin(options, clock);
  const volumes = createVolumes(createMounter(record, nextId), {
    folder: options.volumes,
    hasStaging: options.hasStaging,
  });
  const endpoint = csiSocket(options);
  const csi = await serve(calls, endpoint, {
    [IDENTITY]: identityMethods(options),
    [NODE]: nodeMethods(options, volumes),
  });
  // The kubelet calls the driver as soon as it sees this socket.
  const registration = await serve(calls, registrationSocket(options), {
    [REGISTRATION]: registrationMethods(options, { endpoint, record }),
  });
  record({ kind: "driver-started", driver: options.driver, node: options.node, run });
  while (!signal.aborted) await clock.sleep(3_600_000, signal);
  registration.close();
  csi.close();
  record({ kind: "driver-stopped", run });
}

/** Makes and deletes volumes until the signal is aborted. */
export async function runController(options: ControllerOptions, clock: Clock, signal: AbortSignal): Promise<void> {
  const { run, record, calls } = begin(options, clock);
  const { driver, socket, volumes } = options;
  const csi = await serve(calls, socket, {
    [IDENTITY]: identityMethods({ driver }, { isController: true }),
    [CONTROLLER]: controllerMethods(createStorage(record, volumes)),
  });
  record({ kind: "driver-started", driver, node: "", run });
  while (!signal.aborted) await clock.sleep(3_600_000, signal);
  csi.close();
  record({ kind: "driver-stopped", run });
}

interface Begun {
  readonly run: string;
  readonly record: (event: RecordEvent) => void;
  readonly nextId: () => string;
  readonly calls: Calls;
}

function begin({ record: file, control }: DriverFiles, clock: Clock): Begun {
  const record = createRecorder(file, clock);
  const run = randomUUID().slice(0, 8);
  let last = 0;
  const nextId = (): string => {
    last += 1;
    return `${run}-${last}`;
  };
  return { run, record, nextId, calls: new Calls({ clock, record, nextId, faults: () => readFaults(control) }) };
}
