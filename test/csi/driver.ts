import { randomUUID } from "node:crypto";
import type { Clock } from "../../common/runtime/clock.ts";
import { Calls } from "./calls.ts";
import { readFaults } from "./control-file.ts";
import { type DriverIdentity, identityMethods, nodeMethods, registrationMethods } from "./methods.ts";
import { createMounter } from "./mounter.ts";
import { createRecorder } from "./record.ts";
import { serve } from "./server.ts";
import { IDENTITY, NODE, REGISTRATION } from "./services.ts";
import { createVolumes } from "./volumes.ts";

/** What the driver is told at its start. */
export interface DriverOptions extends DriverIdentity {
  readonly kubeletRoot: string;
  /** Holds what the volumes contain. */
  readonly volumes: string;
  /** Takes the lines of the record. */
  readonly record: string;
  /** The file of faults; see `control-file.ts`. */
  readonly control: string;
}

/** Where a driver answers the kubelet. */
export function csiSocket({ kubeletRoot, driver }: Pick<DriverOptions, "kubeletRoot" | "driver">): string {
  return `${kubeletRoot}/plugins/${driver}/csi.sock`;
}

/** Where the kubelet's plugin watcher finds it. */
export function registrationSocket({ kubeletRoot, driver }: Pick<DriverOptions, "kubeletRoot" | "driver">): string {
  return `${kubeletRoot}/plugins_registry/${driver}-reg.sock`;
}

/** Serves until the signal is aborted. */
export async function runDriver(options: DriverOptions, clock: Clock, signal: AbortSignal): Promise<void> {
  const record = createRecorder(options.record, clock);
  const run = randomUUID().slice(0, 8);
  let last = 0;
  const nextId = (): string => {
    last += 1;
    return `${run}-${last}`;
  };
  const calls = new Calls({ clock, record, nextId, faults: () => readFaults(options.control) });
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
