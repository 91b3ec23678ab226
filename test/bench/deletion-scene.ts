import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import * as v from "valibot";
import { createKubeClient, type KubeClient } from "../../common/kube/client.ts";
import { connect } from "../../common/kube/connection.ts";
import type { Claim } from "../../common/storage/claim.ts";
import { startControlPlane } from "../rig/control-plane/control-plane.ts";
import type { Owner } from "../rig/process/owner.ts";
import { waitUntil } from "../rig/process/wait.ts";
import type { StandInPod } from "../rig/stand-in/kubelet.ts";
import { APPLY, DEMO_PACE } from "../rig/stand-in/mooring.ts";
import {
  buildCluster,
  claimObject,
  claimThat,
  NAMESPACE,
  type Stage,
  startMooring,
  volumeObject,
  volumeOf,
} from "../rig/stand-in/stage.ts";
import { type ClaimWatch, watchClaims } from "./claim-watch.ts";
import { forEachIndex } from "./cluster/concurrency.ts";

const POLICIES = new URL("../../manifests/components/protection-audit/policies.yaml", import.meta.url).pathname;
const BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
export const CLAIMS = `/api/v1/namespaces/${NAMESPACE}/persistentvolumeclaims`;
export const WORKERS = 16;
export const LIMIT_MS = 600_000;
/** The label of the objects that one request deletes. */
export const LABEL = "bench";
const run = promisify(execFile);

/** The API server's policy for a deleted claim that is mounted. */
export type Mode = "off" | "enforce";

/** A cluster of its own, with Mooring on two nodes. */
export interface Scene {
  readonly stage: Stage;
  readonly client: KubeClient;
  readonly watch: ClaimWatch;
  readonly auditLog: string;
}

/** With the claim `orders` on a local volume, and `shared` on a staged one. */
export async function openScene(owner: Owner, mode: Mode): Promise<Scene> {
  const policy = join(owner.folder, "audit-policy.yaml");
  const auditLog = join(owner.folder, "audit.log");
  const resources = [{ group: "", resources: ["persistentvolumeclaims", "persistentvolumeclaims/status"] }];
  const rules = [{ level: "Metadata", verbs: ["update", "patch"], resources }, { level: "None" }];
  await writeFile(policy, JSON.stringify({ apiVersion: "audit.k8s.io/v1", kind: "Policy", rules }));
  const audit = [`--audit-policy-file=${policy}`, `--audit-log-path=${auditLog}`, "--audit-log-mode=blocking"];
  const args = { "kube-apiserver": audit } as const;
  const plane = await startControlPlane(owner, { parts: ["kube-controller-manager"], args });
  const cluster = await buildCluster(owner, plane);
  const pace = { ...DEMO_PACE, aggregatorFlags: ["--protection", mode] };
  const stage: Stage = { owner, ...cluster, ...(await startMooring(owner, cluster, pace)) };
  const client = createKubeClient(await connect({ kubeconfig: plane.kubeconfig, inCluster: false }, {}), owner);
  owner.defer(() => client.close());
  const scene = { stage, client, watch: await watchClaims(owner, plane), auditLog };
  await makeAll(scene, ["orders", "shared"]);
  if (mode === "enforce") await enforce(scene);
  return scene;
}

async function enforce({ stage }: Scene): Promise<void> {
  const { owner, plane, api } = stage;
  await run(plane.kubectl, [`--kubeconfig=${plane.kubeconfig}`, ...APPLY, "-f", POLICIES]);
  await api.patch(`${BINDINGS}/mooring-protection.mooring.dev`, { spec: { validationActions: ["Deny", "Audit"] } });
  const pod = await mounted(stage, "orders");
  const contentType = "application/merge-patch+json";
  const body = { metadata: { finalizers: null } };
  const check = async (): Promise<void> => {
    const { status } = await plane.api({ method: "PATCH", path: `${CLAIMS}/orders?dryRun=All`, body, contentType });
    if (status !== 403) throw new Error(`the answer is ${status}`);
  };
  await waitUntil(owner, { what: "protection", limitMs: LIMIT_MS, check });
  await unmounted(stage, "orders", pod);
}

/** A running pod of a claim; waits until the status says that its volume is mounted. */
export async function mounted(stage: Stage, claim: string): Promise<StandInPod> {
  const name = `user-${randomUUID()}`;
  const pod = await stage.kubelets[0].runPod({ namespace: NAMESPACE, name, claim, volume: volumeOf(claim) });
  const holds = ({ status }: Claim): boolean => status?.reason === "Mounted";
  await claimThat(stage, { claim, what: "mounted", holds, limitMs: LIMIT_MS });
  return pod;
}

/** Ends the pod as a kubelet does, the object last; waits until the status says so. */
export async function unmounted(stage: Stage, claim: string, pod: StandInPod): Promise<void> {
  await stage.kubelets[0].unmount(pod);
  await stage.kubelets[0].forceDelete(pod);
  const holds = ({ status }: Claim): boolean => status?.unused === true;
  await claimThat(stage, { claim, what: "unused", holds, limitMs: LIMIT_MS });
}

/** Creates bound claims, and waits until each has a status. */
export async function makeAll(
  { stage, client }: Pick<Scene, "stage" | "client">,
  names: readonly string[],
): Promise<void> {
  const { owner } = stage;
  const create = (path: string, body: object): Promise<unknown> =>
    client.request({ method: "POST", path, body }, owner.signal);
  await forEachIndex({ count: names.length, workers: WORKERS, signal: owner.signal }, async (index) => {
    const claim = names[index] ?? "";
    const { metadata, spec } = claimObject(claim);
    await create("/api/v1/persistentvolumes", volumeObject(claim, stage.kubelets[0].node));
    await create(CLAIMS, { metadata: { ...metadata, labels: { [LABEL]: claim.split("-", 1)[0] } }, spec });
  });
  await forEachIndex({ count: names.length, workers: WORKERS, signal: owner.signal }, async (index) => {
    const holds = ({ status, phase }: Claim): boolean => phase === "Bound" && status !== undefined;
    await claimThat(stage, { claim: names[index] ?? "", what: "bound and known", holds, limitMs: LIMIT_MS });
  });
}

const auditEvent = v.object({
  stage: v.string(),
  user: v.object({ username: v.string() }),
  objectRef: v.object({ name: v.string(), subresource: v.optional(v.string()) }),
  responseStatus: v.optional(v.object({ code: v.optional(v.number()) })),
});
type AuditEvent = v.InferOutput<typeof auditEvent>;

/** Requests to change a claim, by the API server's audit log. */
export async function requests(
  { auditLog }: Pick<Scene, "auditLog">,
  isMeant: (event: AuditEvent) => boolean,
): Promise<number> {
  const lines = (await readFile(auditLog, "utf8")).split("\n").filter((line) => line !== "");
  const events = lines.map((line) => v.parse(auditEvent, JSON.parse(line)));
  return events.filter((event) => event.stage === "ResponseComplete" && isMeant(event)).length;
}

/** How often the API server reported Kubernetes' controller that a claim stays. */
export function refusals(scene: Scene): Promise<number> {
  return requests(
    scene,
    ({ user, responseStatus }) => user.username.endsWith("pvc-protection-controller") && responseStatus?.code === 403,
  );
}
