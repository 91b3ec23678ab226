import * as v from "valibot";
import { patchObject } from "../../common/kube/apply.ts";
import { ApiError, type KubeClient } from "../../common/kube/client.ts";
import type { Clock } from "../../common/runtime/clock.ts";
import { MooringError } from "../../common/runtime/errors.ts";
import type { DeletionResult } from "./forget.ts";
import { FIELD_MANAGER, remove } from "./remove.ts";
import { listPods, listVolumes } from "./source.ts";
import type { LocalVolume } from "./state.ts";
import { DAEMON_SET, NAMESPACE, PARTS, type Part } from "./uninstall.ts";

export interface UninstallPorts {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Prints at once what the removal waits for. */
  readonly printLine: (line: string) => void;
}

type ApiAccess = Pick<UninstallPorts, "client" | "signal">;

/** An existing part. */
export interface FoundPart extends Part {
  readonly uid: string;
  readonly isDeleting: boolean;
}

/** Why the provisioner stays. */
export interface StopFailure {
  readonly why: string;
  /** Volumes that were created before the last provisioner stopped. */
  readonly volumes: readonly LocalVolume[];
}

const LIMIT_MS = 120_000;
const PAUSE_MS = 500;
/** No node has this label: while it is the DaemonSet's node selector, no provisioner runs. */
const STOPPED = "local.mooring.dev/uninstall";

const object = v.object({
  metadata: v.object({ uid: v.string(), deletionTimestamp: v.nullish(v.string()) }),
});

export async function findParts({ client, signal }: ApiAccess): Promise<readonly FoundPart[]> {
  const found: FoundPart[] = [];
  for (const part of PARTS) found.push(...[(await find({ client, signal }, part)) ?? []].flat());
  return found;
}

async function find({ client, signal }: ApiAccess, part: Part): Promise<FoundPart | undefined> {
  try {
    const { metadata } = v.parse(object, await client.request({ method: "GET", path: part.path }, signal));
    return { ...part, uid: metadata.uid, isDeleting: Boolean(metadata.deletionTimestamp) };
  } catch (error) {
    if (error instanceof ApiError && error.status === 404 && error.details.name === part.name) return undefined;
    throw error;
  }
}

/** The parts that could not be deleted, found before anything is changed: a missing permission must not leave the removal half done. */
export async function undeletableParts(
  ports: UninstallPorts,
  found: readonly FoundPart[],
): Promise<readonly DeletionResult[]> {
  const tried: DeletionResult[] = [];
  for (const part of found) tried.push(await drop(ports, part, { isDryRun: true }));
  return tried.filter(({ outcome }) => outcome === "kept");
}

/** Deletes each part that was found, and no other object of its name. It may be interrupted at any point and started again. */
export async function deleteParts(
  ports: UninstallPorts,
  found: readonly FoundPart[],
): Promise<readonly DeletionResult[]> {
  const results: DeletionResult[] = [];
  for (const part of found) results.push(await drop(ports, part, { isDryRun: false }));
  return results;
}

async function drop(
  ports: UninstallPorts,
  { kind, name, path, uid, isDeleting }: FoundPart,
  { isDryRun }: { readonly isDryRun: boolean },
): Promise<DeletionResult> {
  const { client, signal } = ports;
  if (signal.aborted) return { kind, name, outcome: "not reached" };
  try {
    if (!isDeleting) {
      const deleted = await remove(client, { path, name, preconditions: { uid }, isDryRun }, signal);
      if (deleted.kind === "gone") return { kind, name, outcome: "was gone" };
      if (deleted.kind !== "applied") return { kind, name, outcome: "kept", why: deleted.message };
    }
    if (isDryRun || kind !== NAMESPACE.kind) return { kind, name, outcome: "deleted" };
    ports.printLine("Waiting for the namespace to go, at most two minutes.");
    if (await isNamespaceGone(ports, uid)) return { kind, name, outcome: "deleted" };
    return { kind, name, outcome: "kept", why: "it is still being deleted: its conditions say what keeps it" };
  } catch (error) {
    if (signal.aborted) return { kind, name, outcome: "not reached" };
    if (!(error instanceof ApiError)) throw error;
    return { kind, name, outcome: "kept", why: error.message };
  }
}

async function isNamespaceGone(ports: UninstallPorts, uid: string): Promise<boolean> {
  return await within(ports, async () => (await find(ports, NAMESPACE))?.uid !== uid);
}

/**
 * Stops all provisioners, so that none creates another volume. If they do not stop, or one has created a volume before it stopped, starts
 * them again and returns why.
 */
export async function stopProvisioners(ports: UninstallPorts): Promise<StopFailure | undefined> {
  await selectNodes(ports, "true");
  let hasStopped = false;
  try {
    const failure = await stopFailure(ports);
    hasStopped = failure === undefined;
    return failure;
  } catch (error) {
    if (ports.signal.aborted) return { why: "it was interrupted", volumes: [] };
    throw error;
  } finally {
    if (!hasStopped) await selectNodes({ client: ports.client, signal: new AbortController().signal }, null);
  }
}

async function stopFailure(ports: UninstallPorts): Promise<StopFailure | undefined> {
  const { client, signal } = ports;
  ports.printLine("Waiting for the provisioner's pods to end, at most two minutes.");
  const haveEnded = await within(ports, async () => (await listPods(client, signal)).length === 0);
  if (signal.aborted) return { why: "it was interrupted", volumes: [] };
  if (!haveEnded) {
    const left = (await listPods(client, signal)).map(({ name, node }) => `${name} of node ${node}`);
    return { why: `the provisioner's pods did not end within two minutes: ${left.join(", ")}`, volumes: [] };
  }
  const volumes = await listVolumes(client, signal);
  return volumes.length === 0 ? undefined : { why: "volumes were made meanwhile", volumes };
}

async function selectNodes(ports: ApiAccess, value: "true" | null): Promise<void> {
  const daemonSet = await find(ports, DAEMON_SET);
  if (daemonSet === undefined) return;
  const target = { apiVersion: "apps/v1", ...daemonSet };
  const patch = { spec: { template: { spec: { nodeSelector: { [STOPPED]: value } } } } };
  const done = await patchObject(ports.client, { target, patch, fieldManager: FIELD_MANAGER }, ports.signal);
  if (done.kind === "conflict" || done.kind === "refused")
    throw new MooringError("api-rejected", `the node selector of DaemonSet ${daemonSet.name} stays: ${done.message}`);
}

async function within({ clock, signal }: UninstallPorts, isDone: () => Promise<boolean>): Promise<boolean> {
  const end = clock.monotonicMs() + LIMIT_MS;
  while (!(await isDone())) {
    if (clock.monotonicMs() >= end || signal.aborted) return false;
    await clock.sleep(PAUSE_MS, signal);
  }
  return true;
}
