import { cp } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { readPage } from "../pages/page.ts";
import { openReader, type Reader } from "../pages/reader.ts";
import { type Cluster, tracesIn } from "../pages/traces.ts";
import { borrowControlPlane } from "../rig/control-plane/lent.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { MANIFESTS } from "./manifest-tools.ts";

const page = readPage("install.md");

let owner: Owner;
let signals: Disposable;
let cluster: Cluster;
let reader: Reader;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  const { folder } = owner;
  cluster = await borrowControlPlane(owner, ["kube-controller-manager"]);
  await cp(MANIFESTS, join(folder, "manifests"), { recursive: true });
  reader = await openReader({ folder, home: folder, kubeconfig: cluster.kubeconfig, programs: programs() });
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

/** kubectl and helm as a reader has them, but that nothing is waited for which takes nodes: there are none. */
function programs(): Readonly<Record<string, string>> {
  const tools = inject("manifestTools");
  if ("problem" in tools) throw new Error(tools.problem);
  const unlessItWaits = 'case " $* " in *" rollout status "* | *" wait "*) exit 0 ;; esac';
  const program = (path: string): string => `${unlessItWaits}\nexec ${path} "$@"`;
  return { kubectl: program(cluster.kubectl), helm: program(tools.helm) };
}

describe("docs/install.md, command by command on an empty cluster", () => {
  it.each([
    { way: "kubectl", install: () => page.block("### With kubectl"), remove: () => "kubectl delete -k manifests/mine" },
    { way: "Helm", install: () => page.block("### With Helm"), remove: () => "helm uninstall mooring" },
  ])("$way installs everything, and its commands for removal leave nothing", async ({ install, remove }) => {
    await reader.follow(install());
    const installed = await tracesIn(cluster);

    expect(page.block("## Remove")).toContain(remove());
    await reader.follow(remove());
    await reader.follow(page.block("## Remove", 1));

    expect(installed).toEqual(
      expect.arrayContaining([
        "DaemonSet mooring-agents/mooring-agent",
        "Deployment mooring/mooring-aggregator",
        "ValidatingAdmissionPolicyBinding /mooring-fence.mooring.dev",
        "ValidatingAdmissionPolicyBinding /mooring-pods.mooring.dev",
      ]),
    );
    const check = async (): Promise<void> => {
      const left = await tracesIn(cluster);
      if (left.length > 0) throw new Error(left.join(", "));
    };
    await waitUntil(owner, { what: "nothing of it", limitMs: 90_000, check });
  });
});
