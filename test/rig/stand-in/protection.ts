import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import type { Owner } from "../process/owner.ts";
import { waitUntil } from "../process/wait.ts";
import { APPLY, DEMO_PACE, type Pace } from "./mooring.ts";

const COMPONENT = fileURLToPath(new URL("../../../manifests/components/protection-audit", import.meta.url));
const ADMISSION = "/apis/admissionregistration.k8s.io/v1";
const VETO = `${ADMISSION}/validatingadmissionpolicybindings/mooring-protection.mooring.dev`;
const WARNING = `${ADMISSION}/validatingadmissionpolicies/mooring-deletion-warning.mooring.dev`;
const JSON_PATCH = "application/json-patch+json";
const LIMIT_MS = 60_000;

const run = promisify(execFile);

/** That of an aggregator whose cluster enforces protection. */
export const ENFORCING: Pace = { ...DEMO_PACE, aggregatorFlags: ["--protection", "enforce"] };

/** Runs kubectl as the cluster's administrator. */
export async function kubectl({ kubectl: program, kubeconfig }: ControlPlane, ...args: readonly string[]) {
  return await run(program, [`--kubeconfig=${kubeconfig}`, `--cache-dir=${kubeconfig}.cache`, ...args]);
}

/** What `components/protection-enforce` makes of the cluster, but for the aggregator's Deployment, which a stand-in has not. */
export async function applyProtection(plane: ControlPlane): Promise<void> {
  await kubectl(plane, ...APPLY, "-f", `${COMPONENT}/policies.yaml`, "-f", `${COMPONENT}/rbac.yaml`);
  await replace(plane, VETO, { place: "/spec/validationActions", value: ["Deny", "Audit"] });
  await replace(plane, WARNING, { place: "/spec/variables/0/expression", value: "true" });
}

/** From then on, once the API server has loaded it, nothing is kept: the audit log alone tells. */
export async function auditOnly(plane: ControlPlane): Promise<void> {
  await replace(plane, VETO, { place: "/spec/validationActions", value: ["Audit"] });
}

async function replace(
  plane: ControlPlane,
  path: string,
  { place, value }: { readonly place: string; readonly value: unknown },
): Promise<void> {
  const body = [{ op: "replace", path: place, value }];
  const { status, text } = await plane.api({ method: "PATCH", path, body, contentType: JSON_PATCH });
  if (status !== 200) throw new Error(text);
}

/** Waits until the API server keeps a mounted claim and warns of it: it loads policies within seconds, each for itself. */
export async function protectionInForce(
  owner: Owner,
  plane: ControlPlane,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/persistentvolumeclaims/${name}`;
  const check = async (): Promise<void> => {
    const { stderr } = await kubectl(plane, "-n", namespace, "delete", "pvc", name, "--dry-run=server");
    if (!stderr.includes("stays Terminating")) throw new Error(`kubectl says ${stderr}`);
    const body = { metadata: { finalizers: null } };
    const contentType = "application/merge-patch+json";
    const { status } = await plane.api({ method: "PATCH", path: `${path}?dryRun=All`, body, contentType });
    if (status !== 403) throw new Error(`the answer is ${status}`);
  };
  await waitUntil(owner, { what: "protection", limitMs: LIMIT_MS, check });
}
