import { readFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type MountNamespace, openMountNamespace } from "../../../integration/mount-namespace.ts";
import { csiSocket, registrationSocket } from "../../csi/driver.ts";
import { type Command, type CsiDriver, type CsiDriverOptions, startCsiDriver } from "../../csi/harness.ts";
import { NODE, REGISTRATION } from "../../csi/services.ts";
import { type Owner, openOwner } from "../../process/owner.ts";
import { mountPointsIn } from "../../process/sweep.ts";
import { createSocketClient, type SocketClient } from "../cluster/csi-client.ts";

export const DRIVER = "csi.mooring.test";
export const STAGING = "plugins/kubernetes.io/csi/csi.mooring.test/5f1c/globalmount";
export const TARGET = "pods/u1/volumes/kubernetes.io~csi/pv-1/mount";

const FILESYSTEM = { mount: { fs_type: "ext4" }, access_mode: { mode: "SINGLE_NODE_WRITER" } };

/** A driver in a mount namespace of its own, and what a kubelet has of it. */
export interface CsiScene {
  readonly owner: Owner;
  readonly namespace: MountNamespace;
  readonly driver: CsiDriver;
  readonly node: SocketClient;
  readonly registration: SocketClient;
  /** Mount points below the kubelet's root, relative to it. */
  readonly mounted: () => readonly string[];
  /** A path below the kubelet's root. */
  readonly at: (place: string) => string;
  /** A file in the namespace, as this process reaches it. */
  readonly seen: (path: string) => string;
  readonly end: () => Promise<void>;
}

/** Starts a scene that ends with the running test. */
export async function openCsiScene(options: Partial<CsiDriverOptions> = {}): Promise<CsiScene> {
  const namespace = await openMountNamespace();
  const { kubeletRoot } = namespace;
  const owner = await openOwner();
  onTestFinished(() => owner.close());
  const driver = await startCsiDriver(owner, {
    driver: DRIVER,
    node: "node-1",
    inside: (command) => insideOf(namespace, command),
    kubeletRoot,
    ...options,
  });
  const place = { kubeletRoot, driver: DRIVER };
  const node = createSocketClient(csiSocket(place), NODE);
  const registration = createSocketClient(registrationSocket(place), REGISTRATION);
  owner.defer(() => {
    node.close();
    registration.close();
  });
  return {
    owner,
    namespace,
    driver,
    node,
    registration,
    mounted: () =>
      mountPointsIn(readFileSync(namespace.mountInfo, "utf8"), kubeletRoot).map((path) =>
        path.slice(kubeletRoot.length + 1),
      ),
    at: (path) => join(kubeletRoot, path),
    seen: (path) => `/proc/${namespace.pid}/root${path}`,
    end: () => owner.close(),
  };
}

/** What a kubelet asks, for one volume. */
export function kubeletOf(scene: CsiScene, volume = "vol-1", capability: object = FILESYSTEM) {
  const { node, at } = scene;
  const common = { volume_id: volume, volume_capability: capability };
  const staging = (place: string) => ({ volume_id: volume, staging_target_path: at(place) });
  return {
    stage: (place = STAGING, context = {}) =>
      node.call("NodeStageVolume", { ...common, ...staging(place), volume_context: context }),
    publish: (place = TARGET, { stagedAt = STAGING, readonly = false } = {}) =>
      node.call("NodePublishVolume", { ...common, ...staging(stagedAt), target_path: at(place), readonly }),
    unpublish: (place = TARGET, deadlineMs = 20_000) =>
      node.call("NodeUnpublishVolume", { volume_id: volume, target_path: at(place) }, deadlineMs),
    unstage: (place = STAGING) => node.call("NodeUnstageVolume", staging(place)),
  };
}

/** The command that runs a program in a mount namespace, with its user namespace where it has one. */
export function insideOf({ pid }: Pick<MountNamespace, "pid">, { command, args }: Command): Command {
  const user = process.getuid?.() === 0 ? [] : ["--user", "--preserve-credentials"];
  return { command: "nsenter", args: ["--target", String(pid), "--mount", ...user, "--", command, ...args] };
}
