import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { build } from "esbuild";
import { createSystemRandom } from "../../common/runtime/random.ts";
import { freePort } from "../control-plane/ports.ts";
import { waitUntil } from "../process/wait.ts";
import type { Stage } from "../stand-in/stage.ts";

const project = new URL("../..", import.meta.url).pathname;

/** Resident memory of a process in MiB, as the kernel counts it. */
function residentMiB(pid: number | undefined): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kib) / 1024;
}

/** RSS of a Node.js process that does nothing, of the agent as it is, and of the agent bundled. MiB. */
export async function agentMemory(
  stage: Stage,
): Promise<{ readonly bare: number; readonly unbundled: number; readonly bundled: number }> {
  const { owner } = stage;
  const bare = owner.child({
    name: "bare-node",
    command: process.execPath,
    args: ["-e", "setInterval(() => {}, 1000)"],
  });
  await bare.start();
  await owner.clock.sleep(3_000, owner.signal);
  const bareMiB = residentMiB(bare.pid);
  const unbundled = await settledMemory(stage, "unbundled", `${project}agent/main.ts`);
  const bundled = await settledMemory(stage, "bundled", await bundleAgent(owner.folder));
  return { bare: bareMiB, unbundled, bundled };
}

/** As the image will have it: one file, koffi beside it because it is native, client-node left out because no pod uses it. */
async function bundleAgent(folder: string): Promise<string> {
  const outfile = `${folder}/agent.mjs`;
  symlinkSync(`${project}node_modules`, `${folder}/node_modules`);
  const banner = {
    js: `import { createRequire } from "node:module"; const require = createRequire("${project}package.json");`,
  };
  await build({
    entryPoints: [`${project}agent/main.ts`],
    bundle: true,
    minify: true,
    platform: "node",
    format: "esm",
    outfile,
    banner,
    external: ["koffi", "@kubernetes/client-node"],
    logLevel: "error",
  });
  return outfile;
}

/** Runs an agent as in a pod (service account, no kubeconfig) for a while, then measures it. */
async function settledMemory(
  { owner, plane, kubelets, aggregator }: Stage,
  name: string,
  script: string,
): Promise<number> {
  const [, kubelet] = kubelets;
  const account = `${owner.folder}/account-${name}`;
  await writeAccount(account, {
    ca: plane.ca,
    kubeconfig: await plane.kubeconfigFor({ serviceAccount: { namespace: "mooring", name: "mooring-agent" } }),
  });
  const port = await freePort(createSystemRandom(), "127.0.0.1");
  const args = ["--node", kubelet.node, "--pod-uid", kubelet.agentPodUid, "--aggregator-url", aggregator.url];
  const more = [
    "--mountinfo",
    kubelet.namespace.mountInfo,
    "--listen",
    `127.0.0.1:${port}`,
    "--debug-listen",
    "127.0.0.1:0",
  ];
  const target = "/var/run/secrets/kubernetes.io/serviceaccount";
  const inside = `mount -t tmpfs tmpfs /var/run && mkdir -p ${target} && cp ${account}/* ${target}/ && exec "$@"`;
  const api = new URL(plane.url);
  const child = owner.child({
    name: `agent-${name}`,
    command: "unshare",
    args: ["--mount", "--propagation", "private", "sh", "-c", inside, "sh", process.execPath, script, ...args, ...more],
    env: { KUBERNETES_SERVICE_HOST: api.hostname, KUBERNETES_SERVICE_PORT: api.port },
  });
  await child.start();
  await waitUntil(owner, {
    what: `the ${name} agent`,
    limitMs: 30_000,
    child,
    check: async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/readyz?verbose`);
      if (!answer.ok) throw new Error(await answer.text());
    },
  });
  await owner.clock.sleep(10_000, owner.signal);
  const mib = residentMiB(child.pid);
  await child.stop();
  return mib;
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
