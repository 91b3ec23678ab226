import { execFile } from "node:child_process";
import { array, type InferOutput, looseObject, nullable, object, parse, string } from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseTimestamp } from "../../common/storage/timestamp.ts";
import { borrowControlPlane } from "../rig/control-plane/lent.ts";
import { fileOf } from "../rig/process/mooring-program.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { readList } from "../rig/stand-in/listed.ts";
import { type BareCluster, CLAIMS, type RunningAggregator, startBareCluster } from "./bare-cluster.ts";

const VOLUMES = "/api/v1/persistentvolumes";
const STORAGE = "/apis/storage.k8s.io/v1";
const LIMIT_MS = 30_000;
const YEAR_2099 = "2099-01-01T00:00:00Z";

const Item = looseObject({
  name: string(),
  phase: string(),
  phaseSince: nullable(string()),
  phaseSinceFrom: nullable(string()),
  live: looseObject({}),
});
type Item = InferOutput<typeof Item>;

let owner: Owner;
let signals: Disposable;
let cluster: BareCluster;
let aggregator: RunningAggregator;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  cluster = await startBareCluster(owner, await borrowControlPlane(owner, ["kube-controller-manager"]));
  await createClass("at-once", "Immediate");
  await createClass("waits", "WaitForFirstConsumer");
  aggregator = await cluster.startAggregator(["--volume-metrics"]);
});
afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

async function createClass(name: string, volumeBindingMode: string): Promise<void> {
  await cluster.api.create(`${STORAGE}/storageclasses`, {
    ...{ metadata: { name }, provisioner: "nobody.example.com", volumeBindingMode },
  });
}

interface VolumeFields {
  readonly storageClassName?: string;
  readonly persistentVolumeReclaimPolicy?: "Retain" | "Delete";
  readonly claimRef?: object;
  readonly nfs?: object;
  readonly annotations?: Readonly<Record<string, string>>;
}

async function createVolume(name: string, { annotations = {}, ...fields }: VolumeFields = {}): Promise<void> {
  const common = { accessModes: ["ReadWriteMany"], capacity: { storage: "1Gi" } };
  const source = fields.nfs === undefined ? { csi: { driver: "nobody.example.com", volumeHandle: name } } : {};
  const spec = { ...common, ...source, storageClassName: "none", persistentVolumeReclaimPolicy: "Retain", ...fields };
  await cluster.api.create(VOLUMES, { metadata: { name, annotations }, spec });
}

async function createClaim(name: string, storageClassName: string, volumeName?: string): Promise<void> {
  const spec = { accessModes: ["ReadWriteMany"], resources: { requests: { storage: "1Gi" } }, storageClassName };
  await cluster.api.create(CLAIMS, { metadata: { name }, spec: { ...spec, ...(volumeName && { volumeName }) } });
}

async function lastTransition(volume: string, time: string | null): Promise<void> {
  await cluster.api.patch(`${VOLUMES}/${volume}/status`, { status: { lastPhaseTransitionTime: time } });
}

/** Waits until an entry of a list is as expected, and answers it. */
async function listed(target: string, name: string, expected: Partial<Item>): Promise<Item> {
  let found: Item | undefined;
  const check = async (): Promise<void> => {
    found = parse(array(Item), readList(await aggregator.page(target)).items).find((item) => item.name === name);
    expect(found).toMatchObject(expected);
  };
  await waitUntil(owner, { what: `${name} in ${target}`, limitMs: LIMIT_MS, check });
  if (found === undefined) throw new Error("unreachable: it was found");
  return found;
}

async function metricThat(sample: string, holds: (value: number) => boolean): Promise<void> {
  const check = async (): Promise<void> => {
    const value = await aggregator.metric(sample);
    if (!holds(value)) throw new Error(`it is ${value}`);
  };
  await waitUntil(owner, { what: sample, limitMs: LIMIT_MS, check });
}

/** Runs the list of volumes as a user would. Answers the cells of each row by the volume's name, cut at two or more spaces. */
async function volumesCli(kubeconfig: string, ...args: readonly string[]) {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, HOME: "/nonexistent" };
  const command = [fileOf("volumes"), "--kubeconfig", kubeconfig, ...args];
  const ended = await new Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }>(
    (resolve) => {
      execFile(process.execPath, command, { env }, (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
      });
    },
  );
  const [titles = "", ...rows] = ended.stdout.trimEnd().split("\n");
  const cells = new Map(rows.map((row) => row.split(/ {2,}/)).map((row) => [row[0] ?? "", row]));
  return { ...ended, titles: titles.split(/ {2,}/), cells };
}

/** The aggregator of the test, for the CLI. */
function aggregatorUrl(): string {
  return String(aggregator.logger.lines.find(({ message }) => message === "aggregator started")?.fields.url);
}

describe("since when a volume is in its phase", () => {
  it("is the API server's time", async () => {
    await createVolume("told");

    await listed("/v1/volumes", "told", { phase: "Available", phaseSinceFrom: "api" });
  });

  it("is the first observation where a user wrote 2099, also after null, which does not clear it", async () => {
    await createVolume("forged");
    const before = await listed("/v1/volumes", "forged", { phase: "Available", phaseSinceFrom: "api" });

    await lastTransition("forged", YEAR_2099);
    const seen = await listed("/v1/volumes", "forged", { phaseSinceFrom: "first-seen" });
    await lastTransition("forged", null);
    await listed("/v1/volumes", "told", { phaseSinceFrom: "api" });
    const still = await listed("/v1/volumes", "forged", { phaseSinceFrom: "first-seen" });

    expect(parseTimestamp(seen.phaseSince)).toBeGreaterThanOrEqual(parseTimestamp(before.phaseSince) ?? 0);
    expect(still.phaseSince).toBe(seen.phaseSince);
  });

  it("is the creation where a user wrote an earlier time", async () => {
    await createVolume("early");
    await lastTransition("early", "2001-01-01T00:00:00Z");

    const { phaseSince } = await listed("/v1/volumes", "early", { phaseSinceFrom: "created" });

    expect(phaseSince).not.toMatch(/^2001/);
  });

  it("is marked in the list for people", async () => {
    const { cells } = await volumesCli(cluster.plane.kubeconfig, "--aggregator", aggregatorUrl());

    expect(cells.get("forged")?.[2]).toMatch(/^>\d+/);
    expect(cells.get("told")?.[2]).toMatch(/^\d+/);
  });

  it("is unknown from the API server alone where that has 2099", async () => {
    const { cells } = await volumesCli(cluster.plane.kubeconfig, "--aggregator", "none");

    expect([cells.get("forged")?.[2], cells.get("told")?.[2]]).toEqual(["-", expect.stringMatching(/^\d+/)]);
  });

  it("is never longer ago than the truth after the aggregator was started again", async () => {
    const before = await listed("/v1/volumes", "forged", { phaseSinceFrom: "first-seen" });
    await aggregator.stop();
    aggregator = await cluster.startAggregator(["--volume-metrics"]);

    const after = await listed("/v1/volumes", "forged", { phaseSinceFrom: "first-seen" });

    // The truth lies before either observation.
    expect(parseTimestamp(after.phaseSince)).toBeGreaterThanOrEqual(parseTimestamp(before.phaseSince) ?? 0);
    await listed("/v1/volumes", "told", { phaseSinceFrom: "api" });
  });
});

describe("a volume that should be deleted and is not", () => {
  /** As an external provisioner leaves it, which is the one to delete it. */
  const provisioned = { "pv.kubernetes.io/provisioned-by": "nobody.example.com" };
  const policy = { persistentVolumeReclaimPolicy: "Delete" } as const;

  it("stays Released; the list names the node that it is still attached to, and the oldest one's age grows", async () => {
    await createVolume("stuck", { ...policy, annotations: provisioned });
    await createClaim("stuck", "none", "stuck");
    await cluster.claimThat("stuck", "bound", ({ phase }) => phase === "Bound");
    const driver = "nobody.example.com";
    await cluster.api.create(`${STORAGE}/volumeattachments`, {
      metadata: { name: "left" },
      spec: { attacher: driver, nodeName: "node-9", source: { persistentVolumeName: "stuck" } },
    });
    await cluster.api.create("/api/v1/nodes", { metadata: { name: "node-9" } });
    const volumesAttached = [{ name: `kubernetes.io/csi/${driver}^stuck`, devicePath: "" }];
    await cluster.api.patch("/api/v1/nodes/node-9/status", { status: { volumesAttached } });

    await cluster.api.remove(`${CLAIMS}/stuck`);

    const item = await listed("/v1/volumes", "stuck", { phase: "Released", phaseSinceFrom: "api" });
    expect(item.live).toMatchObject({ attachedTo: { items: ["node-9"], omitted: 0 } });
    const kind = 'phase="Released",storage_class="none",reclaim_policy="Delete"';
    await metricThat(`mooring_volumes{${kind}}`, (value) => value === 1);
    await metricThat(`mooring_volume_bytes{${kind}}`, (value) => value === 2 ** 30);
    const oldest = 'mooring_volumes_phase_oldest_seconds{phase="Released",reclaim_policy="Delete"}';
    await metricThat(oldest, (value) => value > 0);
  });

  it.each([
    { name: "with the aggregator", aggregator: () => aggregatorUrl() },
    { name: "with the API server alone", aggregator: () => "none" },
  ])("is named with its node in the list for people, $name", async ({ aggregator: from }) => {
    const { code, titles, cells } = await volumesCli(
      ...[cluster.plane.kubeconfig, "--aggregator", from(), "--phase", "Released"],
    );

    const row = Object.fromEntries(titles.map((title, index) => [title, cells.get("stuck")?.[index]]));
    expect(code).toBe(0);
    expect([...cells.keys()]).toEqual(["stuck"]);
    expect(row).toMatchObject({ PHASE: "Released", POLICY: "Delete", CLAIM: "shop/stuck", "ATTACHED TO": "node-9" });
  });

  it("is Failed where Kubernetes itself was to delete it and cannot", async () => {
    // A kind whose storage Kubernetes has no way to delete.
    await createVolume("refused", { ...policy, nfs: { server: "192.0.2.1", path: "/refused" } });
    await createClaim("refused", "none", "refused");
    await cluster.claimThat("refused", "bound", ({ phase }) => phase === "Bound");

    await cluster.api.remove(`${CLAIMS}/refused`);

    await listed("/v1/volumes", "refused", { phase: "Failed", phaseSinceFrom: "api" });
    await metricThat(
      'mooring_volumes{phase="Failed",storage_class="none",reclaim_policy="Delete"}',
      (value) => value === 1,
    );
  });
});

describe("a claim", () => {
  const pending = (binding: string): string => `mooring_claims_pending_oldest_seconds{binding="${binding}"}`;
  const binds = (storageClass: string, binding: string): string =>
    `mooring_claim_bind_seconds_count{storage_class="${storageClass}",binding="${binding}"}`;

  it("that is bound at once is waited for from its creation on, until Kubernetes has bound it", async () => {
    await createClaim("soon", "at-once");
    await listed("/v1/claims", "soon", { phase: "Pending", phaseSinceFrom: "created" });
    await metricThat(pending("Immediate"), (value) => value > 0);

    await createVolume("soon", { storageClassName: "at-once" });

    await listed("/v1/claims", "soon", { phase: "Bound", phaseSinceFrom: "api" });
    await metricThat(binds("at-once", "Immediate"), (value) => value === 1);
    await metricThat(pending("Immediate"), (value) => value === 0);
  });

  it("whose class waits for a consumer is waited for from its first pod on", async () => {
    await createClaim("later", "waits");
    await listed("/v1/claims", "later", { phase: "Pending" });
    expect(await aggregator.page("/metrics")).not.toContain(pending("WaitForFirstConsumer"));

    await cluster.createPod("consumer", "later");
    await metricThat(pending("WaitForFirstConsumer"), (value) => value > 0);
    await createVolume("later", { storageClassName: "waits", claimRef: { namespace: "shop", name: "later" } });

    await listed("/v1/claims", "later", { phase: "Bound", phaseSinceFrom: "api" });
    await metricThat(binds("waits", "WaitForFirstConsumer"), (value) => value === 1);
  });

  it("that has lost its volume is Lost since that was seen", async () => {
    await createVolume("lost");
    await createClaim("lost", "none", "lost");
    await cluster.claimThat("lost", "bound", ({ phase }) => phase === "Bound");

    await cluster.api.remove(`${VOLUMES}/lost`);
    await cluster.api.patch(`${VOLUMES}/lost`, { metadata: { finalizers: null } });

    await listed("/v1/claims", "lost", { phase: "Lost", phaseSinceFrom: "first-seen" });
  });
});

describe("an aggregator that may not read storage classes", () => {
  it("leads and reports everything but the binding mode", async () => {
    const role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/mooring-aggregator";
    const { rules } = parse(
      object({ rules: array(looseObject({ resources: array(string()) })) }),
      await cluster.api.get(role),
    );
    const rest = rules.filter(({ resources }) => !resources.includes("storageclasses"));
    await aggregator.stop();
    await cluster.api.patch(role, { rules: rest });
    await createClaim("unknown", "at-once");

    aggregator = await cluster.startAggregator();

    await listed("/v1/claims", "unknown", { phase: "Pending", phaseSinceFrom: "created" });
    const text = await aggregator.page("/metrics");
    expect(text).toContain('mooring_claims{phase="Pending",state="NotBound",storage_class="at-once"} 1');
    expect(text).not.toContain('mooring_claims_pending_oldest_seconds{binding="Immediate"}');
    await cluster.createPod("unknown", "unknown");
    await metricThat('mooring_claims_pending_oldest_seconds{binding="unknown"}', (value) => value > 0);
  });
});

describe("the list of volumes", () => {
  it("of a user who may list only volumes names what is missing", async () => {
    const accounts = "/api/v1/namespaces/shop/serviceaccounts";
    await cluster.api.create(accounts, { metadata: { name: "reader" } });
    const rbac = "/apis/rbac.authorization.k8s.io/v1";
    const rules = [{ apiGroups: [""], resources: ["persistentvolumes"], verbs: ["list"] }];
    await cluster.api.create(`${rbac}/clusterroles`, { metadata: { name: "volume-reader" }, rules });
    await cluster.api.create(`${rbac}/clusterrolebindings`, {
      metadata: { name: "volume-reader" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "volume-reader" },
      subjects: [{ kind: "ServiceAccount", name: "reader", namespace: "shop" }],
    });
    const kubeconfig = await cluster.plane.kubeconfigFor({ serviceAccount: { namespace: "shop", name: "reader" } });

    const { code, titles, cells, stderr } = await volumesCli(kubeconfig, "--aggregator", "none");

    expect(code).toBe(0);
    expect(cells.get("stuck")?.[titles.indexOf("ATTACHED TO")]).toBe("?");
    expect(stderr).toBe(
      ["persistentvolumeclaims", "volumeattachments"]
        .map((resource) => `You lack the right "list ${resource}": what they would say is missing.\n`)
        .join(""),
    );
  });

  it("of a user who may not list volumes names the permission", async () => {
    const kubeconfig = await cluster.plane.kubeconfigFor({ serviceAccount: { namespace: "shop", name: "default" } });

    const { code, stderr } = await volumesCli(kubeconfig, "--aggregator", "none");

    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: Forbidden: you lack the right "list persistentvolumes"\.\n/);
  });

  it("has the same for programs", async () => {
    const { stdout } = await volumesCli(cluster.plane.kubeconfig, "-o", "json", "--phase", "Failed");

    expect(JSON.parse(stdout)).toMatchObject({
      ...{ apiVersion: "cli.mooring.dev/v1", kind: "VolumeViewList", source: { kind: "api-server" } },
      items: [{ name: "refused", phase: "Failed", phaseSinceFrom: "api", reclaimPolicy: "Delete" }],
    });
  });
});
