import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import * as v from "valibot";
import type { ApiCall } from "../../rig/control-plane/api.ts";
import type { ControlPlane } from "../../rig/control-plane/control-plane.ts";
import { borrowControlPlane } from "../../rig/control-plane/lent.ts";
import type { Owner } from "../../rig/process/owner.ts";
import { createAccountPod } from "../../rig/stand-in/account-pods.ts";
import { type ClusterApi, createClusterApi } from "../../rig/stand-in/cluster-api.ts";
import { APPLY } from "../../rig/stand-in/mooring.ts";
import { create, dry, patch } from "./attack.ts";
import { BOUND_CLAIMS_THERE, CLAIMS, CLAIMS_THERE, VOLUMES, VOLUMES_THERE } from "./provisioner-attack.ts";
import { CAPACITIES, capacityOf, EVENT, EVENTS, volumeOf } from "./provisioner-objects.ts";
import { makeAdmin, untilRefused } from "./stage.ts";
import { SHOP } from "./victims.ts";

const COMPONENT = fileURLToPath(new URL("../../../manifests/components/provisioner/", import.meta.url));
const ACCOUNT = { namespace: "mooring-provisioner", name: "mooring-provisioner" } as const;
const run = promisify(execFile);

/** A real API server with the provisioner's account, its roles and its policies, two nodes, and everything that may be attacked. */
export interface ProvisionerStage {
  readonly api: ClusterApi;
  readonly owner: Owner;
  readonly plane: ControlPlane;
  readonly onNode1: ApiCall;
  readonly onNode2: ApiCall;
  readonly onNoNode: ApiCall;
  readonly makeAdmin: () => Promise<void>;
}

export async function openProvisionerStage(owner: Owner): Promise<ProvisionerStage> {
  const plane = await borrowControlPlane(owner);
  const api = createClusterApi(plane.api);
  await api.create("/api/v1/namespaces", { metadata: { name: "shop" } });
  await api.create(`${SHOP}/persistentvolumeclaims`, STRANGER);
  for (const name of ["node-1", "node-2"]) await api.create("/api/v1/nodes", { metadata: { name } });
  const who = [`--kubeconfig=${plane.kubeconfig}`, `--cache-dir=${plane.kubeconfig}.cache`];
  const files = ["namespace", "rbac", "policies"].flatMap((name) => ["-f", `${COMPONENT}${name}.yaml`]);
  await run(plane.kubectl, [...who, ...APPLY, ...files]);
  const as = async (nodeName: string | undefined): Promise<ApiCall> => {
    const pod = { name: `provisioner-${nodeName ?? "nowhere"}`, nodeName };
    return plane.apiAs({ ...ACCOUNT, pod: await createAccountPod(api, ACCOUNT, pod) });
  };
  const [onNode1, onNode2, onNoNode] = [await as("node-1"), await as("node-2"), await as(undefined)];
  const inForce = {
    "mooring-provisioner-volumes: ": create("/api/v1/persistentvolumes", volumeOf("node-2")),
    "mooring-provisioner-capacity: ": create(CAPACITIES, capacityOf("node-2")),
    "mooring-provisioner-fence: ": create(EVENTS, { ...EVENT, reportingInstance: "node-2" }),
    "mooring-provisioner-claims: ": patch(`${SHOP}/persistentvolumeclaims/stranger`, {
      metadata: { labels: { a: "b" } },
    }),
  };
  for (const [policy, ask] of Object.entries(inForce)) await untilRefused({ owner }, () => onNode1(dry(ask)), policy);
  await makeVictims(api);
  return {
    owner,
    plane,
    api,
    onNode1,
    onNode2,
    onNoNode,
    makeAdmin: () => makeAdmin(api, "attack-provisioner", ACCOUNT),
  };
}

const made = v.object({ metadata: v.object({ name: v.string(), uid: v.string() }) });

async function makeVictims(api: ClusterApi): Promise<void> {
  for (const volume of VOLUMES_THERE) await api.create(VOLUMES, volume);
  for (const claim of CLAIMS_THERE) await api.create(CLAIMS, claim);
  for (const claim of BOUND_CLAIMS_THERE) {
    const { metadata } = v.parse(made, await api.create(CLAIMS, claim));
    await api.patch(`${CLAIMS}/${metadata.name}`, { spec: { volumeName: `pvc-${metadata.uid}` } });
  }
  for (const node of ["node-1", "node-2"]) await api.create(CAPACITIES, capacityOf(node, `local-${node}-there`));
}

/** A claim that waits for no node. */
const STRANGER = {
  metadata: { name: "stranger" },
  spec: { accessModes: ["ReadWriteOnce"], storageClassName: "", resources: { requests: { storage: "1Gi" } } },
};
