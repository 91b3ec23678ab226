import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { build } from "esbuild";
import { createSystemRandom } from "../../common/runtime/random.ts";
import { freePort } from "../control-plane/ports.ts";
import type { OwnedChild } from "../process/child.ts";
import { waitUntil } from "../process/wait.ts";
import type { StandInKubelet } from "../stand-in/kubelet.ts";
import type { Stage } from "../stand-in/stage.ts";

const project = new URL("../..", import.meta.url).pathname;
const ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/** The agent as it lies here. */
export const UNBUNDLED = `${project}agent/main.ts`;

/** As the image will have it: one file, koffi beside it because it is native, client-node left out because no pod uses it. */
export async function bundleAgent(parent: string): Promise<string> {
  const folder = mkdtempSync(`${parent}/bundle-`);
  const outfile = `${folder}/agent.mjs`;
  symlinkSync(`${project}node_modules`, `${folder}/node_modules`);
  await build({
    entryPoints: [UNBUNDLED],
    bundle: true,
    minify: true,
    platform: "node",
    format: "esm",
    outfile,
    banner: {
      js: `import { createRequire } from "node:module"; const require = createRequire("${project}package.json");`,
    },
    external: ["koffi", "@kubernetes/client-node", "systeminformation"],
    logLevel: "error",
  });
  return outfile;
}

/** What an agent under measurement runs with. */
export interface AgentRun {
  readonly name: string;
  readonly script: string;
  readonly kubelet: StandInKubelet;
  readonly aggregatorUrl: string;
}

/** An agent that runs, and what the kernel says of it. */
export interface MeasuredAgent {
  readonly child: OwnedChild;
  /** Base of its health endpoints. */
  readonly url: string;
  /** Resident memory in MiB. */
  readonly residentMiB: () => number;
  /** Processor time used so far, in milliseconds. */
  readonly cpuMs: () => number;
  /** Open TCP connections that it made. */
  readonly connections: () => number;
}

/** Starts an agent as a pod runs it, with a service account and no kubeconfig, and waits until it is ready. */
export async function startPodAgent({ owner, plane }: Stage, run: AgentRun): Promise<MeasuredAgent> {
  const { name, script, kubelet, aggregatorUrl } = run;
  const account = `${owner.folder}/account-${name}`;
  const kubeconfig = await plane.kubeconfigFor({ serviceAccount: { namespace: "mooring", name: "mooring-agent" } });
  await writeAccount(account, { ca: plane.ca, kubeconfig });
  const port = await freePort(createSystemRandom(), "127.0.0.1");
  const args = [
    ["--node", kubelet.node],
    ["--pod-uid", kubelet.agentPodUid],
    ["--aggregator-url", aggregatorUrl],
    ["--mountinfo", kubelet.namespace.mountInfo],
    ["--listen", `127.0.0.1:${port}`],
    ["--debug-listen", "127.0.0.1:0"],
  ].flat();
  const inside = `mount -t tmpfs tmpfs /var/run && mkdir -p ${ACCOUNT} && cp ${account}/* ${ACCOUNT}/ && exec "$@"`;
  const api = new URL(plane.url);
  const child = owner.child({
    name: `agent-${name}`,
    command: "unshare",
    args: ["--mount", "--propagation", "private", "sh", "-c", inside, "sh", process.execPath, script, ...args],
    env: { KUBERNETES_SERVICE_HOST: api.hostname, KUBERNETES_SERVICE_PORT: api.port },
  });
  await child.start();
  const url = `http://127.0.0.1:${port}`;
  const check = async (): Promise<void> => {
    const answer = await fetch(`${url}/readyz?verbose`);
    if (!answer.ok) throw new Error(await answer.text());
  };
  await waitUntil(owner, { what: `the agent ${name}`, limitMs: 30_000, child, check });
  return {
    child,
    url,
    residentMiB: () => residentMiB(child.pid),
    cpuMs: () => cpuMs(child.pid),
    connections: () => connections(child.pid, port),
  };
}

async function writeAccount(
  folder: string,
  { ca, kubeconfig }: { readonly ca: string; readonly kubeconfig: string },
): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const { KubeConfig } = await import("@kubernetes/client-node");
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  writeFileSync(`${folder}/ca.crt`, ca);
  writeFileSync(`${folder}/token`, config.getCurrentUser()?.token ?? "", { mode: 0o600 });
}

/** Resident memory of a process in MiB, as the kernel counts it. */
export function residentMiB(pid: number | undefined): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kib) / 1024;
}

/** User and system time of a process; the kernel counts in hundredths of a second (proc_pid_stat(5), fields 14 and 15). */
function cpuMs(pid: number | undefined): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Connections that the process made, not those that a measurement makes to its health endpoints. */
function connections(pid: number | undefined, ownPort: number): number {
  const sockets = readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      // Closed since it was listed.
      return "";
    }
  });
  const table = readFileSync(`/proc/${pid}/net/tcp`, "utf8").split("\n").slice(1);
  // State 01 is an established connection (include/net/tcp_states.h).
  const established = table.map((line) => line.trim().split(/\s+/)).filter((fields) => fields[3] === "01");
  const own = `:${ownPort.toString(16).toUpperCase().padStart(4, "0")}`;
  const made = established.filter((fields) => !fields[1]?.endsWith(own));
  return made.filter((fields) => sockets.includes(`socket:[${fields[9]}]`)).length;
}
