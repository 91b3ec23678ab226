import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { array, looseObject, optional, parse, string } from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ControlPlane, startControlPlane } from "../rig/control-plane/control-plane.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { applyProtection, protectionInForce } from "../rig/stand-in/protection.ts";
import { type BareCluster, CLAIMS, startBareCluster } from "./bare-cluster.ts";
import { MANIFESTS } from "./manifest-tools.ts";

const PROGRAM = fileURLToPath(new URL("../../cli/uninstall/main.ts", import.meta.url));
const run = promisify(execFile);

const Claim = looseObject({
  metadata: looseObject({
    resourceVersion: string(),
    managedFields: optional(array(looseObject({ manager: string() })), []),
  }),
});

const Status = looseObject({ status: looseObject({ conditions: array(looseObject({ type: string() })) }) });

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

const VOLUME = "/api/v1/persistentvolumes/pv-used";
const OWNS_NOTHING = '{"f:metadata":{"f:annotations":{}}}';

function kubectl(plane: ControlPlane, ...args: readonly string[]): Promise<{ readonly stdout: string }> {
  const flags = [`--kubeconfig=${plane.kubeconfig}`, `--cache-dir=${plane.kubeconfig}.cache`];
  return run(plane.kubectl, [...flags, ...args], { maxBuffer: 64 * 1024 * 1024 });
}

describe("what is left on claims and volumes", () => {
  let cluster: BareCluster;

  beforeAll(async () => {
    cluster = await startBareCluster(owner);
  });

  /** A claim or volume but for what every write changes, and for what the API server goes on to note of a writer that owns nothing any more. */
  async function rest(path: string): Promise<object> {
    const { metadata, ...others } = parse(Claim, await cluster.api.get(path));
    const { resourceVersion: _, managedFields, ...fields } = metadata;
    const owners = managedFields.filter(({ fieldsV1 }) => JSON.stringify(fieldsV1) !== OWNS_NOTHING);
    return { ...others, metadata: { ...fields, managers: [...new Set(owners.map(({ manager }) => manager))] } };
  }

  /** As an earlier version applied it: beside Mooring's own condition, Kubernetes' one. */
  async function applyUpstream(name: string): Promise<void> {
    const { status } = parse(Status, await cluster.api.get(`${CLAIMS}/${name}`));
    const conditions = [...status.conditions, { type: "Unused", status: "True" }];
    const body = { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name }, status: { conditions } };
    const path = `${CLAIMS}/${name}/status?fieldManager=mooring-aggregator&force=true`;
    const contentType = "application/apply-patch+yaml";
    expect(await cluster.plane.api({ method: "PATCH", path, body, contentType })).toMatchObject({ status: 200 });
  }

  it("goes by the account of the manifests, and nothing else does", async () => {
    const names = ["idle", "used", "foreign"];
    await cluster.createClaims(names, { annotations: { "shop.example/owner": "team-a" } });
    await cluster.createPod("server", "used");
    const paths = [...names.map((name) => `${CLAIMS}/${name}`), VOLUME];
    const before = await Promise.all(paths.map(rest));
    const aggregator = await cluster.startAggregator();
    await cluster.claimThat("used", "is referenced", ({ status }) => status?.reason === "Referenced");
    await cluster.claimThat("idle", "is unused", ({ status }) => status?.unused === true);
    await cluster.claimThat("foreign", "is unused", ({ status }) => status?.unused === true);
    await aggregator.stop();
    await applyUpstream("idle");
    // As a restored backup has it: the annotation belongs to another manager now.
    await cluster.api.patch(`${CLAIMS}/foreign`, { metadata: { annotations: { "mooring.dev/last-use": "{}" } } });
    const marks = { "mooring.dev/mounted-on": "{}", "mooring.dev/last-use": "{}" };
    await cluster.api.patch(VOLUME, { metadata: { annotations: marks } });
    await kubectl(cluster.plane, "apply", "--server-side", "-k", `${MANIFESTS}/uninstall`);
    const account = { serviceAccount: { namespace: "mooring-uninstall", name: "mooring-uninstall" } } as const;
    const kubeconfig = await cluster.plane.kubeconfigFor(account);

    const { stderr } = await run(process.execPath, [PROGRAM, "claims", kubeconfig]);

    expect(await Promise.all(paths.map(rest))).toEqual(before);
    expect(stderr).toContain("no claim and no volume has a trace of mooring");
  });
});

describe("a deleted claim that protection keeps", () => {
  it("goes within seconds when Mooring is removed, however long its controller would have waited", async () => {
    const plane = await startControlPlane(owner, { parts: ["kube-controller-manager"] });
    const cluster = await startBareCluster(owner, plane);
    await applyProtection(plane);
    await cluster.createClaims(["kept", "idle"]);
    const mounted = { type: "mooring.dev/Unused", status: "False", reason: "Mounted", message: "on node-1" };
    const path = `${CLAIMS}/kept`;
    await waitUntil(owner, {
      what: "the finalizer of Kubernetes",
      limitMs: 20_000,
      check: async () => expect(JSON.stringify(await cluster.api.get(path))).toContain("kubernetes.io/pvc-protection"),
    });
    await cluster.api.patch(`${path}/status`, { status: { conditions: [mounted] } });
    await protectionInForce(owner, plane, { namespace: "shop", name: "kept" });
    await kubectl(plane, "-n", "shop", "delete", "pvc", "kept", "--wait=false");
    // Deleted later, and gone: the controller has tried the other one, too, and goes on at intervals that double.
    await kubectl(plane, "-n", "shop", "delete", "pvc", "idle");
    const held = await cluster.claim("kept");
    await kubectl(plane, "delete", "-f", `${MANIFESTS}/components/protection-audit/policies.yaml`);
    await kubectl(plane, "apply", "--server-side", "-k", `${MANIFESTS}/uninstall`);
    const account = { serviceAccount: { namespace: "mooring-uninstall", name: "mooring-uninstall" } } as const;

    await run(process.execPath, [PROGRAM, "claims", await plane.kubeconfigFor(account)]);

    expect(held.isDeleting).toBe(true);
    const isGone = async (): Promise<void> => await expect(cluster.claim("kept")).rejects.toThrow("404");
    await waitUntil(owner, { what: "kept gone", limitMs: 5_000, check: isGone });
  });
});
