import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { createSystemRandom } from "../../../common/runtime/random.ts";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import { freePort } from "../control-plane/ports.ts";
import type { OwnedChild } from "../process/child.ts";
import { fileOf, type MooringProgram } from "../process/mooring-program.ts";
import type { Owner } from "../process/owner.ts";
import { waitUntil } from "../process/wait.ts";
import { agentAccountOn } from "./account-pods.ts";
import { createClusterApi } from "./cluster-api.ts";
import type { StandInKubelet } from "./kubelet.ts";

const project = new URL("../../..", import.meta.url).pathname;
const run = promisify(execFile);

/** One of Mooring's own programs, running. */
export interface Program {
  readonly child: OwnedChild;
  /** Base of its health endpoints. */
  readonly url: string;
  /** Starts it, or starts it again, and waits until it answers. */
  readonly start: () => Promise<void>;
  /** Waits until `/readyz` says so. */
  readonly ready: () => Promise<void>;
}

/** How fast the pieces under test go about it; the defaults are made for clusters, not for an audience. */
export interface Pace {
  readonly heartbeat: string;
  /** More flags of the aggregator. */
  readonly aggregatorFlags?: readonly string[];
}

export const DEMO_PACE: Pace = { heartbeat: "2s" };

/** Without the server's schemas, which other tests compare with: to make, send and read them is most of the work. */
export const APPLY = ["apply", "--server-side", "--validate=false"] as const;

const POLICIES = ["agent", "aggregator", "fence", "pods"].map((name) => `policies/${name}`);

/** Applies Mooring's own accounts and roles, and the policies that confine them. */
export async function applyManifests({ kubectl, kubeconfig }: ControlPlane): Promise<void> {
  const env = { ...process.env, KUBECONFIG: kubeconfig };
  const files = ["namespaces", "rbac", "certificates", ...POLICIES].flatMap((name) => [
    "-f",
    `${project}manifests/base/${name}.yaml`,
  ]);
  await run(kubectl, [...APPLY, ...files, "--cache-dir", `${kubeconfig}.cache`], { env });
}

/** What a terminal shows of `npm run claims` with these arguments. It does not outlive the run. */
export async function runClaimsCommand({ signal }: Pick<Owner, "signal">, args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await run(process.execPath, [`${project}cli/claims.ts`, ...args], { signal });
  return stdout + stderr;
}

/** The aggregator, with its own account. It is not started yet. */
export async function createAggregator(owner: Owner, plane: ControlPlane, pace: Pace): Promise<Program> {
  const kubeconfig = await plane.kubeconfigFor({
    serviceAccount: { namespace: "mooring", name: "mooring-aggregator" },
  });
  const port = await freePort(createSystemRandom(), "127.0.0.1");
  const listening = ["--kubeconfig", kubeconfig, "--api-bind-address", `127.0.0.1:${port}`];
  const args = [...listening, ...(pace.aggregatorFlags ?? [])];
  return createProgram(owner, { name: "aggregator", program: "aggregator", args, port });
}

/** The agent of a node, with its own account. It is not started yet. */
export async function createAgent(
  owner: Owner,
  plane: ControlPlane,
  {
    kubelet,
    aggregator,
    pace,
  }: { readonly kubelet: StandInKubelet; readonly aggregator: Program; readonly pace: Pace },
): Promise<Program> {
  const random = createSystemRandom();
  const account = await agentAccountOn(createClusterApi(plane.api), kubelet.node, random.id().slice(0, 8));
  const port = await freePort(random, "127.0.0.1");
  const args = [
    ["--kubeconfig", await plane.kubeconfigFor(account)],
    ["--node", kubelet.node],
    ["--pod-uid", kubelet.agentPodUid],
    ["--aggregator-url", aggregator.url],
    ["--mountinfo", kubelet.namespace.mountInfo],
    ["--heartbeat", pace.heartbeat],
    ["--metrics-bind-address", `127.0.0.1:${port}`],
    ["--debug-bind-address", "127.0.0.1:0"],
  ].flat();
  return createProgram(owner, { name: `agent-${kubelet.node}`, program: "agent", args, port });
}

function createProgram(
  owner: Owner,
  {
    name,
    program,
    args,
    port,
  }: {
    readonly name: string;
    readonly program: MooringProgram;
    readonly args: readonly string[];
    readonly port: number;
  },
): Program {
  const child = owner.child({ name, command: process.execPath, args: [fileOf(program), ...args] });
  const url = `http://127.0.0.1:${port}`;
  const answers = (path: string): Promise<void> =>
    waitUntil(owner, { what: `${name} ${path}`, limitMs: 60_000, child, check: () => expectOk(`${url}${path}`) });
  return {
    child,
    url,
    ready: () => answers("/readyz?verbose"),
    start: async () => {
      await child.start();
      await answers("/livez");
    },
  };
}

async function expectOk(url: string): Promise<void> {
  const answer = await fetch(url);
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${text.trim()}`);
}
