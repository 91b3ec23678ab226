import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { array, looseObject, object, optional, parse, string } from "valibot";
import type { Claim } from "../../common/storage/claim.ts";
import type { Owner } from "../rig/process/owner.ts";
import { waitUntil } from "../rig/process/wait.ts";
import type { StandInPod } from "../rig/stand-in/kubelet.ts";
import { APPLY, DEMO_PACE } from "../rig/stand-in/mooring.ts";
import {
  buildCluster,
  claimThat,
  makeClaims,
  NAMESPACE,
  type Stage,
  startMooring,
  volumeOf,
} from "../rig/stand-in/stage.ts";
import { MANIFESTS, type Printed } from "./manifest-tools.ts";

const run = promisify(execFile);
const BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
const LIMIT_MS = 30_000;
const isMounted = ({ status }: Claim): boolean => status?.reason === "Mounted";
const volumePhase = looseObject({ status: object({ phase: string() }) });
const storedClaim = looseObject({
  metadata: looseObject({
    name: string(),
    uid: string(),
    deletionTimestamp: optional(string()),
    ownerReferences: optional(array(looseObject({ kind: string() })), []),
    annotations: optional(looseObject({}), {}),
    finalizers: optional(array(string()), []),
  }),
  status: looseObject({
    phase: string(),
    conditions: optional(array(looseObject({ type: string(), status: string(), message: optional(string()) })), []),
  }),
});

/** A claim as the API server has it. */
export type StoredClaim = ReturnType<typeof readStored>;

function readStored(object: unknown) {
  return parse(storedClaim, object);
}

/** Deletions of mounted claims on a real API server with kube-controller-manager, real mounts, and Mooring's programs. */
export interface ProtectionScene {
  readonly stage: Stage;
  readonly kubectl: (...args: readonly string[]) => Promise<Printed>;
  /** Makes bound claims, whose local volumes are on the first node, or on the second. */
  readonly claims: (names: readonly string[], node?: 0 | 1) => Promise<void>;
  /** A pod on a node, and its claim mounted there, as the aggregator has written. */
  readonly mounted: (claim: string, node?: 0 | 1) => Promise<StandInPod>;
  /** The same without the pod: it is deleted by force, and the mount stays. */
  readonly leftMounted: (claim: string, node?: 0 | 1) => Promise<StandInPod>;
  readonly remove: (claim: string) => Promise<void>;
  /** Nothing when it is gone. */
  readonly read: (claim: string) => Promise<StoredClaim | undefined>;
  readonly gone: (claim: string, limitMs?: number) => Promise<void>;
  /** The same, where another of its name may follow. */
  readonly goneOf: (claim: StoredClaim | undefined) => Promise<void>;
  /** Waits until Kubernetes' controller has tried to let the deleted claim go; answers what there is then. */
  readonly held: (claim: string) => Promise<{ readonly claim: StoredClaim | undefined; readonly volume: string }>;
  readonly volumePhase: (claim: string) => Promise<string>;
  /** Kubernetes' controller has seen that the claim is gone. */
  readonly released: (claim: string) => Promise<void>;
}

export function pathOf(claim: string, namespace: string = NAMESPACE): string {
  return `/api/v1/namespaces/${namespace}/persistentvolumeclaims/${claim}`;
}

/** A scene of its own control plane; protection is not in force before `enforce`. */
export async function openProtectionScene(
  owner: Owner,
  aggregatorFlags: readonly string[] = [],
): Promise<ProtectionScene> {
  const cluster = await buildCluster(owner);
  const pace = { ...DEMO_PACE, aggregatorFlags: ["--protection", "enforce", ...aggregatorFlags] };
  const stage = { owner, ...cluster, ...(await startMooring(owner, cluster, pace)) };
  const scene = sceneOn(stage);
  await scene.claims(["probe"]);
  return scene;
}

function sceneOn(stage: Stage): ProtectionScene {
  const { owner, plane, api, kubelets } = stage;
  let asked = 0;
  const read = async (claim: string): Promise<StoredClaim | undefined> => {
    const { status, text } = await plane.api({ path: pathOf(claim) });
    return status === 404 ? undefined : readStored(JSON.parse(text));
  };
  const gone = (claim: string, limitMs: number = LIMIT_MS): Promise<void> => {
    const check = async (): Promise<void> => {
      const found = await read(claim);
      if (found !== undefined) throw new Error(`it is still there: ${JSON.stringify(found.status.conditions)}`);
    };
    return waitUntil(owner, { what: `${claim} gone`, limitMs, check });
  };
  const goneOf = (claim: StoredClaim | undefined): Promise<void> => {
    const check = async (): Promise<void> => {
      const found = await read(claim?.metadata.name ?? "");
      if (found?.metadata.uid === claim?.metadata.uid) throw new Error("it is still there");
    };
    return waitUntil(owner, { what: `${claim?.metadata.name} gone`, limitMs: LIMIT_MS, check });
  };
  const claims = async (names: readonly string[], node: 0 | 1 = 0): Promise<void> => {
    await makeClaims({ owner, api, kubelets: node === 0 ? kubelets : [kubelets[1], kubelets[0]] }, names);
  };
  const mounted = async (claim: string, node: 0 | 1 = 0): Promise<StandInPod> => {
    const volume = volumeOf(claim);
    const pod = await kubelets[node].runPod({ namespace: NAMESPACE, name: `user-of-${claim}`, claim, volume });
    await claimThat(stage, { claim, what: "mounted", holds: isMounted });
    return pod;
  };
  const remove = (claim: string): Promise<void> => api.remove(pathOf(claim));
  const phase = async (claim: string): Promise<string> =>
    parse(volumePhase, await api.get(`/api/v1/persistentvolumes/${volumeOf(claim).name}`)).status.phase;
  return {
    stage,
    kubectl: (...args) => run(plane.kubectl, [`--kubeconfig=${plane.kubeconfig}`, "-n", NAMESPACE, ...args]),
    claims,
    mounted,
    leftMounted: async (claim, node = 0) => {
      const pod = await mounted(claim, node);
      await kubelets[node].forceDelete(pod);
      return pod;
    },
    remove,
    read,
    gone,
    goneOf,
    held: async (claim) => {
      // Deleted after this one and never mounted: the controller takes them in turn.
      asked += 1;
      const later = `later-${asked}`;
      await claims([later]);
      await remove(later);
      await gone(later);
      return { claim: await read(claim), volume: await phase(claim) };
    },
    volumePhase: phase,
    released: async (claim) => {
      const check = async (): Promise<void> => {
        const found = await phase(claim);
        if (found !== "Released") throw new Error(`it is ${found}`);
      };
      await waitUntil(owner, { what: `volume of ${claim} Released`, limitMs: LIMIT_MS, check });
    },
  };
}

/** Installs the policies, and waits until the API server refuses to let a mounted claim go: it loads them within seconds. */
export async function enforce({ stage, leftMounted, kubectl }: ProtectionScene): Promise<void> {
  const { owner, plane, api } = stage;
  await kubectl(...APPLY, "-f", `${MANIFESTS}/components/protection-audit/policies.yaml`);
  await kubectl(...APPLY, "-f", `${MANIFESTS}/components/protection-audit/rbac.yaml`);
  await api.patch(`${BINDINGS}/mooring-protection.mooring.dev`, { spec: { validationActions: ["Deny", "Audit"] } });
  const probe = await leftMounted("probe");
  const check = async (): Promise<void> => {
    const { status } = await plane.api(takeFinalizerAway("probe", "?dryRun=All"));
    if (status !== 403) throw new Error(`the answer is ${status}`);
    const { stderr } = await kubectl("delete", "pvc", "probe", "--dry-run=server");
    if (!stderr.includes("is in use")) throw new Error("nobody is warned");
  };
  await waitUntil(owner, { what: "protection", limitMs: LIMIT_MS, check });
  await stage.kubelets[0].unmount(probe);
}

/** What an administrator does to a claim that stays Terminating. */
export function takeFinalizerAway(claim: string, suffix = "") {
  const contentType = "application/merge-patch+json";
  return {
    method: "PATCH",
    path: `${pathOf(claim)}${suffix}`,
    body: { metadata: { finalizers: null } },
    contentType,
  } as const;
}
