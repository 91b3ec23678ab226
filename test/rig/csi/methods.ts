import { createMethod, type Method } from "./calls.ts";
import type { RecordEvent } from "./record.ts";
import { requests } from "./requests.ts";
import type { Storage } from "./storage.ts";
import type { Volumes } from "./volumes.ts";

/** Who the driver is. */
export interface DriverIdentity {
  /** Name of the driver, as in `CSIDriver` and PersistentVolume. */
  readonly driver: string;
  /** What `NodeGetInfo` answers. */
  readonly node: string;
  readonly hasStaging: boolean;
}

/** Without the controller service, volumes are made, deleted and attached by the harness. */
export function identityMethods(
  { driver }: Pick<DriverIdentity, "driver">,
  { isController = false } = {},
): readonly Method[] {
  const capabilities = isController ? [{ service: { type: "CONTROLLER_SERVICE" } }] : [];
  return [
    createMethod("GetPluginInfo", requests.none, () => ({ name: driver, vendor_version: "1" })),
    createMethod("GetPluginCapabilities", requests.none, () => ({ capabilities })),
    createMethod("Probe", requests.none, () => ({ ready: { value: true } })),
  ];
}

export function nodeMethods({ node, hasStaging }: DriverIdentity, volumes: Volumes): readonly Method[] {
  const capabilities = hasStaging ? [{ rpc: { type: "STAGE_UNSTAGE_VOLUME" } }] : [];
  return [
    createMethod("NodeGetInfo", requests.none, () => ({ node_id: node })),
    createMethod("NodeGetCapabilities", requests.none, () => ({ capabilities })),
    createMethod("NodeStageVolume", requests.stage, async (request, cause) => {
      await volumes.stage(request, cause);
      return {};
    }),
    createMethod("NodeUnstageVolume", requests.unstage, async (request, cause) => {
      await volumes.unstage(request, cause);
      return {};
    }),
    createMethod("NodePublishVolume", requests.publish, async (request, cause) => {
      await volumes.publish(request, cause);
      return {};
    }),
    createMethod("NodeUnpublishVolume", requests.unpublish, async (request, cause) => {
      await volumes.unpublish(request, cause);
      return {};
    }),
  ];
}

/** What a provisioner asks: volumes are made and deleted, and attached nowhere. */
export function controllerMethods(storage: Storage): readonly Method[] {
  const capabilities = [{ rpc: { type: "CREATE_DELETE_VOLUME" } }];
  return [
    createMethod("ControllerGetCapabilities", requests.none, () => ({ capabilities })),
    createMethod("CreateVolume", requests.create, (request) => ({ volume: storage.create(request) })),
    createMethod("DeleteVolume", requests.destroy, ({ volume_id }) => {
      storage.destroy(volume_id);
      return {};
    }),
  ];
}

/** What the kubelet's plugin watcher asks on the registration socket. */
export function registrationMethods(
  { driver }: DriverIdentity,
  { endpoint, record }: { readonly endpoint: string; readonly record: (event: RecordEvent) => void },
): readonly Method[] {
  const info = { type: "CSIPlugin", name: driver, endpoint, supported_versions: ["1.0.0"] };
  return [
    createMethod("GetInfo", requests.none, () => info),
    createMethod("NotifyRegistrationStatus", requests.registration, ({ plugin_registered, error }) => {
      record({ kind: "registration", registered: plugin_registered, error });
      return {};
    }),
  ];
}
