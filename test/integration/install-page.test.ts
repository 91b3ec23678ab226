import { execFile } from "node:child_process";
import { chmod, cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { array, looseObject, object, optional, parse, record, string } from "valibot";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { type Owner, openOwner } from "../process/owner.ts";
import { closeOnSignals } from "../process/run-owned.ts";
import { waitUntil } from "../process/wait.ts";
import { MANIFESTS } from "./manifest-tools.ts";

const PAGE = fileURLToPath(new URL("../../docs/install.md", import.meta.url));
const run = promisify(execFile);

const Named = object({
  kind: string(),
  metadata: looseObject({
    name: string(),
    namespace: optional(string(), ""),
    labels: optional(record(string(), string()), {}),
  }),
});

let owner: Owner;
let signals: Disposable;
let plane: ControlPlane;
let page: string;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  page = await readFile(PAGE, "utf8");
  plane = await startControlPlane(owner, { parts: ["kube-controller-manager"] });
  await cp(MANIFESTS, join(owner.folder, "manifests"), { recursive: true });
  await installPrograms(join(owner.folder, "bin"));
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

/** kubectl and helm as a reader has them, but that nothing is waited for which takes nodes: there are none. */
async function installPrograms(folder: string): Promise<void> {
  const tools = inject("manifestTools");
  if ("problem" in tools) throw new Error(tools.problem);
  const unlessItWaits = 'case " $* " in *" rollout status "* | *" wait "*) exit 0 ;; esac';
  await mkdir(folder);
  for (const [name, program] of [["kubectl", plane.kubectl] as const, ["helm", tools.helm] as const]) {
    await writeFile(join(folder, name), `#!/bin/sh\n${unlessItWaits}\nexec ${program} "$@"\n`);
    await chmod(join(folder, name), 0o755);
  }
}

/** The commands in the n-th block below a heading of the page. */
function block(heading: string, n = 0): string {
  const section = page.slice(page.indexOf(`\n${heading}\n`)).split(/\n##+ /)[1] ?? "";
  const text = [...section.matchAll(/^```\n(.*?)^```$/gms)][n]?.[1];
  if (text === undefined) throw new Error(`${heading} has no block ${n}`);
  return text;
}

async function follow(script: string): Promise<void> {
  const { folder } = owner;
  const env = { PATH: `${folder}/bin:/usr/bin:/bin`, HOME: folder, KUBECONFIG: plane.kubeconfig };
  await run("bash", ["-euc", script], { cwd: folder, env, maxBuffer: 64 * 1024 * 1024 });
}

/** Every object of every kind that the server lists and that has to do with Mooring, by its name, namespace or labels. */
async function traces(): Promise<readonly string[]> {
  const kubectl = (...args: readonly string[]) =>
    run(plane.kubectl, [`--kubeconfig=${plane.kubeconfig}`, ...args], { maxBuffer: 64 * 1024 * 1024 });
  const { stdout: kinds } = await kubectl("api-resources", "--verbs=list", "-o", "name");
  const listed = kinds
    .trim()
    .split("\n")
    .filter((kind) => !kind.startsWith("events"));
  const { stdout } = await kubectl("get", listed.join(","), "-A", "--ignore-not-found", "-o", "json");
  return parse(object({ items: array(Named) }), JSON.parse(stdout))
    .items.filter(
      ({ metadata }) =>
        JSON.stringify(metadata.labels).includes("mooring") || /mooring/.test(`${metadata.namespace}/${metadata.name}`),
    )
    .map(({ kind, metadata: { name, namespace } }) => `${kind} ${namespace}/${name}`);
}

describe("docs/install.md, word by word on an empty cluster", () => {
  it.each([
    { way: "kubectl", install: () => block("### With kubectl"), remove: () => "kubectl delete -k manifests/mine" },
    { way: "Helm", install: () => block("### With Helm"), remove: () => "helm uninstall mooring" },
  ])(
    "$way installs all, and what it says of removing leaves nothing",
    { timeout: 200_000 },
    async ({ install, remove }) => {
      await follow(install());
      const installed = await traces();

      expect(block("## Remove")).toContain(remove());
      await follow(remove());
      await follow(block("## Remove", 1));

      expect(installed).toEqual(
        expect.arrayContaining([
          "DaemonSet mooring-agents/mooring-agent",
          "Deployment mooring/mooring-aggregator",
          "ValidatingAdmissionPolicyBinding /mooring-fence.mooring.dev",
          "ValidatingAdmissionPolicyBinding /mooring-pods.mooring.dev",
        ]),
      );
      const check = async (): Promise<void> => {
        const left = await traces();
        if (left.length > 0) throw new Error(left.join(", "));
      };
      await waitUntil(owner, { what: "nothing of it", limitMs: 90_000, check });
    },
  );
});
