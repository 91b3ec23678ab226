import type { KubeClient } from "../../common/kube/client.ts";
import { NODE_LABEL } from "../../common/storage/local-volumes.ts";
import { ifAllowed } from "../if-allowed.ts";
import { listPages } from "../list-pages.ts";
import { localVolumeOf, nameOf, poolReportOf, provisionerPodOf } from "./objects.ts";
import type { LocalState, LocalVolume, PoolReport, ProvisionerPod } from "./state.ts";

/** The nodes that run provisioners. */
const PODS = "/api/v1/namespaces/mooring-provisioner/pods";
const SELECTOR = "app.kubernetes.io/name=mooring-provisioner";

/** Reads all that the lists need. Throws what the client throws where the user may not list volumes. */
export async function readLocalState(client: KubeClient, signal: AbortSignal): Promise<LocalState> {
  const missing: string[] = [];
  const volumes = await listVolumes(client, signal);
  const reports = await ifAllowed("csistoragecapacities", missing, () => listReports(client, signal));
  const nodes = await ifAllowed("nodes", missing, async () => {
    return new Set(await listPages(client, { path: "/api/v1/nodes", project: nameOf }, signal));
  });
  const pods = await ifAllowed("pods in mooring-provisioner", missing, () => listPods(client, signal));
  return { volumes, reports, nodes, pods, missing };
}

export async function listVolumes(client: KubeClient, signal: AbortSignal): Promise<readonly LocalVolume[]> {
  const path = "/api/v1/persistentvolumes";
  const found = await listPages(client, { path, selector: NODE_LABEL, project: localVolumeOf }, signal);
  return found.flatMap((one) => one ?? []);
}

/** Of all namespaces: in a test, the provisioner's may have another name. */
export async function listReports(client: KubeClient, signal: AbortSignal): Promise<readonly PoolReport[]> {
  const path = "/apis/storage.k8s.io/v1/csistoragecapacities";
  const found = await listPages(client, { path, selector: NODE_LABEL, project: poolReportOf }, signal);
  return found.flatMap((one) => one ?? []);
}

export async function listPods(client: KubeClient, signal: AbortSignal): Promise<readonly ProvisionerPod[]> {
  const found = await listPages(client, { path: PODS, selector: SELECTOR, project: provisionerPodOf }, signal);
  return found.flatMap((one) => one ?? []);
}
