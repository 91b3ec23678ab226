import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { array, looseObject, object, optional, parse, record, string, unknown } from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { type Owner, openOwner } from "../process/owner.ts";
import { closeOnSignals } from "../process/run-owned.ts";
import { waitUntil } from "../process/wait.ts";
import { type BareCluster, CLAIMS, startBareCluster } from "./bare-cluster.ts";
import { CHART, MANIFESTS, tool } from "./manifest-tools.ts";

const PROGRAM = fileURLToPath(new URL("../../uninstall/main.ts", import.meta.url));
const run = promisify(execFile);

const Claim = looseObject({
  metadata: looseObject({
    resourceVersion: string(),
    managedFields: optional(array(looseObject({ manager: string() })), []),
  }),
});

let owner: Owner;
let signals: Disposable;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

function kubectl(plane: ControlPlane, ...args: readonly string[]): Promise<{ readonly stdout: string }> {
  const flags = [`--kubeconfig=${plane.kubeconfig}`, `--cache-dir=${plane.kubeconfig}.cache`];
  return run(plane.kubectl, [...flags, ...args], { maxBuffer: 64 * 1024 * 1024 });
}

describe("what is left on claims", () => {
  let cluster: BareCluster;

  beforeAll(async () => {
    cluster = await startBareCluster(owner, { name: "claims" });
  });

  /** A claim but for what every write changes. */
  async function rest(name: string): Promise<object> {
    const { metadata, ...others } = parse(Claim, await cluster.api.get(`${CLAIMS}/${name}`));
    const { resourceVersion: _, managedFields, ...fields } = metadata;
    return { ...others, metadata: { ...fields, managers: [...new Set(managedFields.map(({ manager }) => manager))] } };
  }

  it("goes by the account of the manifests, and nothing else does", async () => {
    const names = ["idle", "used", "foreign"];
    await cluster.createClaims(names, { "shop.example/owner": "team-a" });
    await cluster.createPod("server", "used");
    const before = await Promise.all(names.map(rest));
    const aggregator = await cluster.startAggregator(["--upstream-condition", "always"]);
    await cluster.claimThat("used", "is referenced", ({ status }) => status?.reason === "Referenced");
    await cluster.claimThat("idle", "is unused", ({ status }) => status?.unused === true);
    await cluster.claimThat("foreign", "is unused", ({ status }) => status?.unused === true);
    await aggregator.stop();
    // As a restored backup has it: the annotation is somebody else's now.
    await cluster.api.patch(`${CLAIMS}/foreign`, { metadata: { annotations: { "mooring.dev/last-use": "{}" } } });
    await kubectl(cluster.plane, "apply", "--server-side", "-k", `${MANIFESTS}/uninstall`);
    const account = { serviceAccount: { namespace: "mooring-uninstall", name: "mooring-uninstall" } } as const;
    const kubeconfig = await cluster.plane.kubeconfigFor(account);

    const { stderr } = await run(process.execPath, [PROGRAM, "claims", kubeconfig]);

    expect(await Promise.all(names.map(rest))).toEqual(before);
    expect(stderr).toContain("no claim has a trace of mooring");
  });
});

describe("what is left in the cluster", () => {
  let plane: ControlPlane;

  beforeAll(async () => {
    plane = await startControlPlane(owner, { parts: ["kube-controller-manager"], name: "objects" });
    await kubectl(plane, "create", "namespace", "kube-node-lease").catch(() => {});
  });

  /** Every object of every kind that the server lists and that has to do with Mooring, by its name, namespace or label. */
  async function traces(): Promise<readonly string[]> {
    const { stdout: kinds } = await kubectl(plane, "api-resources", "--verbs=list", "-o", "name");
    const listed = kinds
      .trim()
      .split("\n")
      .filter((kind) => !kind.startsWith("events"));
    const { stdout } = await kubectl(plane, "get", listed.join(","), "-A", "--ignore-not-found", "-o", "json");
    const Named = object({
      kind: string(),
      metadata: looseObject({
        name: string(),
        namespace: optional(string(), ""),
        labels: optional(record(string(), unknown())),
      }),
    });
    return parse(object({ items: array(Named) }), JSON.parse(stdout))
      .items.filter((one) =>
        JSON.stringify([one.metadata.name, one.metadata.namespace, one.metadata.labels]).includes("mooring"),
      )
      .map(({ kind, metadata: { name, namespace } }) => `${kind} ${namespace}/${name}`);
  }

  const image = ["--set", "image.repository=registry.example/mooring"];
  const values = [
    "--set",
    "affinity.mode=enforce,networkPolicy.enabled=true,dashboard.enabled=true,criticalPodsQuota.enabled=true",
  ];

  it.each([
    {
      way: "kubectl apply -k and delete -k",
      install: () => kubectl(plane, "apply", "-k", `${MANIFESTS}/overlays/enforce`),
      remove: () => kubectl(plane, "delete", "--wait=false", "-k", `${MANIFESTS}/overlays/enforce`),
    },
    {
      way: "helm install and uninstall",
      install: () => tool("helm", "install", "mooring", CHART, "--kubeconfig", plane.kubeconfig, ...image, ...values),
      remove: () => tool("helm", "uninstall", "mooring", "--kubeconfig", plane.kubeconfig),
    },
    {
      way: "the removal of what is left, and its own removal",
      install: () => kubectl(plane, "apply", "-k", `${MANIFESTS}/uninstall`),
      remove: () => kubectl(plane, "delete", "--wait=false", "-k", `${MANIFESTS}/uninstall`),
    },
  ])("is nothing after $way", { timeout: 150_000 }, async ({ install, remove }) => {
    await install();
    const installed = await traces();

    await remove();

    expect(installed.length).toBeGreaterThan(5);
    const check = async (): Promise<void> => {
      const left = await traces();
      if (left.length > 0) throw new Error(left.join(", "));
    };
    await waitUntil(owner, { what: "nothing of it", limitMs: 90_000, check });
  });
});
