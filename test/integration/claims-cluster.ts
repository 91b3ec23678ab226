import type { V1PersistentVolumeClaim } from "@kubernetes/client-node";
import { object, parse, string } from "valibot";
import { ApiError, type ApiRequest, createKubeClient, type KubeClient } from "../../common/kube/client.ts";
import { connect } from "../../common/kube/connection.ts";
import { createSystemClock } from "../../common/runtime/clock.ts";
import { type Claim, projectClaim } from "../../common/storage/claim.ts";
import { type ClaimStatus, writeClaimStatus } from "../../common/storage/claim-status.ts";
import { waitUntil } from "../rig/process/wait.ts";

const LIMIT_MS = 30_000;
const token = object({ status: object({ token: string() }) });

/** Makes claims and all that they need on the tier's control plane, and removes everything at the end. */
export interface ClaimsCluster {
  readonly createNamespace: (name: string) => Promise<void>;
  /** A claim that is bound to a volume of its own, as soon as Kubernetes has given its own word on it. */
  readonly createBoundClaim: (namespace: string, name: string) => Promise<Claim>;
  readonly createPendingClaim: (namespace: string, name: string) => Promise<void>;
  /** A pod that names the claim; no scheduler runs, so it stays pending. Waits until Kubernetes says that the claim is in use. */
  readonly createPod: (claim: Claim, name: string) => Promise<void>;
  /** Writes a status as the aggregator does. */
  readonly writeStatus: (claim: Claim, status: Omit<ClaimStatus, "message">) => Promise<void>;
  /** The token of a new service account, which may list claims in its own namespace if that is asked for. */
  readonly createAccount: (namespace: string, name: string, mayList: boolean) => Promise<string>;
  /** The API server's clock. */
  readonly nowMs: () => number;
  readonly remove: () => Promise<void>;
}

const waiter = { clock: createSystemClock(), signal: new AbortController().signal };

/** `prefix` begins the name of every object that is in no namespace. */
export async function createClaimsCluster(kubeconfig: string, prefix: string): Promise<ClaimsCluster> {
  const connection = await connect({ kubeconfig, inCluster: false }, {});
  const client = createKubeClient(connection, { clock: waiter.clock });
  const created: string[] = [];
  const ask = (request: ApiRequest): Promise<unknown> => client.request(request, waiter.signal);
  const create = async (path: string, body: { readonly metadata: { readonly name: string } }): Promise<void> => {
    await ask({ method: "POST", path, body });
    created.push(`${path}/${body.metadata.name}`);
  };
  const claimAt = async (path: string): Promise<Claim> => projectClaim(await ask({ method: "GET", path }));
  const until = (what: string, check: () => Promise<void>): Promise<void> =>
    waitUntil(waiter, { what, limitMs: LIMIT_MS, check });

  await create("/apis/storage.k8s.io/v1/storageclasses", {
    ...{ apiVersion: "storage.k8s.io/v1", kind: "StorageClass", provisioner: "kubernetes.io/no-provisioner" },
    metadata: { name: prefix },
  });

  const claims = (namespace: string): string => `/api/v1/namespaces/${namespace}/persistentvolumeclaims`;
  return {
    createNamespace: (name) => create("/api/v1/namespaces", { metadata: { name } }),
    createBoundClaim: async (namespace, name) => {
      const volume = `${prefix}-${namespace}-${name}`;
      await create("/api/v1/persistentvolumes", volumeNamed(volume, prefix));
      await create(claims(namespace), claimNamed(name, { storageClassName: prefix, volumeName: volume }));
      await until(`${name} bound`, async () => {
        const { phase, upstream } = await claimAt(`${claims(namespace)}/${name}`);
        if (phase !== "Bound" || upstream === undefined) throw new Error(`phase ${phase}, condition ${!!upstream}`);
      });
      return await claimAt(`${claims(namespace)}/${name}`);
    },
    createPendingClaim: (namespace, name) =>
      create(claims(namespace), claimNamed(name, { storageClassName: prefix, volumeName: `${prefix}-none` })),
    createPod: async ({ namespace, name: claim }, name) => {
      // The namespace's default service account comes a moment after the namespace.
      await until("the pod", () => create(`/api/v1/namespaces/${namespace}/pods`, podNamed(name, claim)));
      await until(`${claim} in use`, async () => {
        const { upstream } = await claimAt(`${claims(namespace)}/${claim}`);
        if (upstream?.unused !== false) throw new Error("Kubernetes says unused");
      });
    },
    writeStatus: async (claim, status) => void (await ask(statusRequest(claim, status))),
    createAccount: async (namespace, name, mayList) => {
      const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
      await create(accounts, { metadata: { name } });
      if (mayList) for (const { path, body } of listRight(namespace, name)) await create(path, body);
      return parse(token, await ask({ method: "POST", path: `${accounts}/${name}/token`, body: { spec: {} } })).status
        .token;
    },
    nowMs: () => client.serverTime()?.latestMs ?? 0,
    remove: () => removeAll(client, created.toReversed()),
  };
}

async function removeAll(client: KubeClient, paths: readonly string[]): Promise<void> {
  const gone = async (request: ApiRequest): Promise<void> => {
    await client.request(request, waiter.signal).catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
    });
  };
  try {
    for (const path of paths) await gone({ method: "DELETE", path, body: { gracePeriodSeconds: 0 } });
    for (const path of paths) {
      const check = async (): Promise<void> => {
        const left = await client.request({ method: "GET", path }, waiter.signal).catch(() => undefined);
        if (left !== undefined) throw new Error("it is still there");
      };
      await waitUntil(waiter, { what: `the end of ${path}`, limitMs: LIMIT_MS, check });
    }
  } finally {
    await client.close();
  }
}

function volumeNamed(name: string, storageClassName: string): { readonly metadata: { readonly name: string } } {
  const spec = {
    storageClassName,
    capacity: { storage: "1Gi" },
    accessModes: ["ReadWriteMany"],
    persistentVolumeReclaimPolicy: "Retain",
    hostPath: { path: `/var/lib/mooring-tests/${name}` },
  };
  return { metadata: { name }, ...{ spec } };
}

function claimNamed(
  name: string,
  volume: Pick<NonNullable<V1PersistentVolumeClaim["spec"]>, "storageClassName" | "volumeName">,
): { readonly metadata: { readonly name: string } } {
  const spec = { accessModes: ["ReadWriteMany"], resources: { requests: { storage: "1Gi" } }, ...volume };
  return { metadata: { name }, ...{ spec } };
}

function podNamed(name: string, claimName: string): { readonly metadata: { readonly name: string } } {
  const spec = {
    containers: [{ name: "main", image: "none" }],
    volumes: [{ name: "data", persistentVolumeClaim: { claimName } }],
  };
  return { metadata: { name }, ...{ spec } };
}

function statusRequest(claim: Claim, status: Omit<ClaimStatus, "message">): ApiRequest {
  const { namespace, name, uid } = claim;
  const { condition, annotations } = writeClaimStatus(uid, { ...status, message: `Written as ${status.reason}` });
  return {
    method: "PATCH",
    path: `/api/v1/namespaces/${namespace}/persistentvolumeclaims/${name}/status`,
    query: { fieldManager: "mooring-tests", force: "true" },
    contentType: "application/apply-patch+yaml",
    body: {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { namespace, name, uid, annotations },
      status: { conditions: [condition] },
    },
  };
}

/** A role that lists claims in one namespace, and its binding to the account. */
function listRight(
  namespace: string,
  account: string,
): readonly { readonly path: string; readonly body: { readonly metadata: { readonly name: string } } }[] {
  const base = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
  const metadata = { name: account };
  const role = { metadata, rules: [{ apiGroups: [""], resources: ["persistentvolumeclaims"], verbs: ["list"] }] };
  const binding = {
    metadata,
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: account },
    subjects: [{ kind: "ServiceAccount", name: account, namespace }],
  };
  return [
    { path: `${base}/roles`, body: role },
    { path: `${base}/rolebindings`, body: binding },
  ];
}
