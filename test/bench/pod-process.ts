import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { array, object, parse, string } from "valibot";
import { bundle } from "../../.ci/bundle.ts";
import type { ControlPlane } from "../rig/control-plane/control-plane.ts";
import type { OwnedChild } from "../rig/process/child.ts";
import type { Owner } from "../rig/process/owner.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { traceFile } from "./late-turns.ts";
import { withNiceness } from "./priority.ts";

const project = new URL("../..", import.meta.url).pathname;
const ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/** The programs as they lie here. */
export const UNBUNDLED = { agent: `${project}agent/main.ts`, aggregator: `${project}aggregator/main.ts` } as const;

/** Bundles the programs as for the image; the path of one of them. */
export async function bundled(parent: string, program: keyof typeof UNBUNDLED): Promise<string> {
  const { folder } = await bundle(mkdtempSync(`${parent}/bundle-`));
  return `${folder}/${program}.mjs`;
}

/**
 * Flags of Node.js that load the probe (`lag-probe.ts`), which writes to `file` and beside it. It is bundled, too: to load TypeScript,
 * Node.js takes some 15 MiB in the measured process.
 */
export async function probeFlags(parent: string, file: string): Promise<readonly string[]> {
  const { folder } = await bundle(mkdtempSync(`${parent}/probe-`), { "lag-probe": "test/bench/lag-probe.ts" });
  const probe = `file://${folder}/lag-probe.mjs?file=${encodeURIComponent(file)}`;
  return [`--trace-event-file-pattern=${traceFile(file, [`\${pid}`, `\${rotation}`])}`, `--import=${probe}`];
}

/** The program, and its service account. */
const NAMESPACES = { "mooring-agent": "mooring-agents", "mooring-aggregator": "mooring" } as const;

/** Flags of Node.js that the image gives its programs. */
const flagsOfImage = object({ agent: array(string()), aggregator: array(string()) });

function imageFlags(account: PodRun["account"]): readonly string[] {
  const flags = parse(flagsOfImage, JSON.parse(readFileSync(`${project}.ci/image/node-flags.json`, "utf8")));
  return account === "mooring-agent" ? flags.agent : flags.aggregator;
}

/** How many arenas the image lets glibc make. */
function imageArenas(): string {
  return /MALLOC_ARENA_MAX=(\d+)/.exec(readFileSync(`${project}Dockerfile`, "utf8"))?.[1] ?? "";
}

/** What runs as in a pod, and as whom. */
export interface PodRun {
  readonly name: string;
  readonly account: keyof typeof NAMESPACES;
  readonly script: string;
  readonly args: readonly string[];
  /** Further flags of Node.js, after those of the image. */
  readonly nodeOptions?: readonly string[];
  /** Added to the niceness of this process, and the weight of its session; less than 0 needs root, as the mounts do. */
  readonly nice?: number;
}

/** Starts a program as a pod runs it: with a service account in the kubelet's place, and without a kubeconfig. */
export async function startInPod(owner: Owner, plane: ControlPlane, run: PodRun): Promise<OwnedChild> {
  const { name, script, args, nodeOptions = [], nice = 0 } = run;
  const account = `${owner.folder}/account-${name}`;
  const kubeconfig = await plane.kubeconfigFor({
    serviceAccount: { namespace: NAMESPACES[run.account], name: run.account },
  });
  await writeAccount(account, { ca: plane.ca, kubeconfig });
  const inside = `mount -t tmpfs tmpfs /var/run && mkdir -p ${ACCOUNT} && cp ${account}/* ${ACCOUNT}/ && exec "$@"`;
  const inNamespace = ["unshare", "--mount", "--propagation", "private", "sh", "-c", inside, "sh"];
  const api = new URL(plane.url);
  const flags = [...imageFlags(run.account), ...nodeOptions];
  const child = owner.child({
    name,
    ...withNiceness(nice, [...inNamespace, process.execPath, ...flags, script, ...args]),
    env: { KUBERNETES_SERVICE_HOST: api.hostname, KUBERNETES_SERVICE_PORT: api.port, MALLOC_ARENA_MAX: imageArenas() },
  });
  await child.start();
  return child;
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

/** Waits until the program at `url` answers there with success. */
export async function answered(
  owner: Owner,
  { child, url, limitMs }: { readonly child: OwnedChild; readonly url: string; readonly limitMs: number },
): Promise<void> {
  const check = async (): Promise<void> => {
    const answer = await fetch(url);
    const text = await answer.text();
    if (!answer.ok) throw new Error(text);
  };
  await waitUntil(owner, { what: `${child.name} at ${url}`, limitMs, child, check });
}
