import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createFakeKeeper, type FakeKeeper } from "../fakes/keeper.ts";
import { tracesIn } from "../pages/traces.ts";
import type { ControlPlane } from "../rig/control-plane/control-plane.ts";
import { borrowControlPlane } from "../rig/control-plane/lent.ts";
import { fileOf } from "../rig/process/mooring-program.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { APPLY } from "../rig/stand-in/mooring.ts";
import { byName, CHART, kustomize, MANIFESTS, overlay, tool } from "./manifest-tools.ts";
import { CLAIMS, GiB, ProvisionerStage, type RunningProvisioner, SYSTEM, VOLUMES } from "./provisioner-stage.ts";

const ORPHAN = "pvc-0b7a1c52-6d0e-4c56-9f7c-3a6f3b2f0a11";
const DAEMON_SET = `/apis/apps/v1/namespaces/${SYSTEM}/daemonsets/mooring-provisioner`;
const COMPONENTS = ["provisioner", "provisioner-network-policy", "provisioner-critical-pods-quota"];
const STOPPED = "local.mooring.dev/uninstall";
const WAITING = "Waiting for the provisioner's pods to end, at most two minutes.\n";

let owner: Owner;
let signals: Disposable;
let plane: ControlPlane;
let stage: ProvisionerStage;
let keeper: FakeKeeper;
let provisioner: RunningProvisioner;
/** What installs Mooring without the provisioner, and what adds it. */
let base: string;
let part: string;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  plane = await borrowControlPlane(owner, ["kube-controller-manager", "kube-scheduler"]);
  stage = new ProvisionerStage(owner, plane);
  await stage.prepare(["one"]);
  await stage.api.patch("/api/v1/nodes/one", { metadata: { labels: { "kubernetes.io/os": "linux" } } });
  await stage.createClass("retained", { reclaimPolicy: "Retain" });
  base = await overlay(owner.folder, "base", { components: [] });
  part = join(owner.folder, "part");
  await mkdir(part);
  const components = COMPONENTS.map((name) => relative(part, `${MANIFESTS}/components/${name}`));
  await writeFile(join(part, "kustomization.yaml"), JSON.stringify({ components }));
  for (const folder of [base, part]) await kubectl(...APPLY, "-k", folder);
  keeper = createFakeKeeper();
  keeper.put({ volume: ORPHAN, pool: "default", bytes: 2 * GiB, state: "published" });
  provisioner = await stage.start("one", keeper);
  await podOnNode();
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

async function kubectl(...args: readonly string[]): Promise<void> {
  const who = [`--kubeconfig=${plane.kubeconfig}`, `--cache-dir=${plane.kubeconfig}.cache`];
  await promisify(execFile)(plane.kubectl, [...who, ...args]);
}

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface Running {
  readonly ended: Promise<Ended>;
  readonly interrupt: () => void;
}

/** Runs the command as a user would, with no configuration but what the arguments name. */
function start(kubeconfig: string, ...args: readonly string[]): Running {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const command = [fileOf("local"), "uninstall", "--kubeconfig", kubeconfig, ...args];
  const { promise: ended, resolve } = Promise.withResolvers<Ended>();
  const child = execFile(process.execPath, command, { env: { PATH, NODE_COMPILE_CACHE } }, (error, stdout, stderr) =>
    resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
  );
  owner.defer(async () => void child.kill("SIGKILL"));
  return { ended, interrupt: () => void child.kill("SIGINT") };
}

function uninstall(...args: readonly string[]): Promise<Ended> {
  return start(plane.kubeconfig, ...args).ended;
}

function rowsOf(table: string): readonly (readonly string[])[] {
  return table
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((line) => line.split(/ {2,}/));
}

const podList = v.object({
  items: v.array(
    v.object({
      metadata: v.object({ name: v.string(), deletionTimestamp: v.optional(v.string()) }),
      spec: v.object({ nodeName: v.optional(v.string()) }),
    }),
  ),
});

async function pods(namespace = SYSTEM): Promise<v.InferOutput<typeof podList>["items"]> {
  return v.parse(podList, await stage.api.get(`/api/v1/namespaces/${namespace}/pods`)).items;
}

function podOnNode(): Promise<void> {
  return stage.until("a pod of the DaemonSet on the node", async () => {
    const running = (await pods()).filter(({ metadata, spec }) => spec.nodeName && !metadata.deletionTimestamp);
    expect(running).toHaveLength(1);
  });
}

/** What a kubelet does with pods that are deleted: their containers end. */
async function endPods(): Promise<void> {
  const there = new Set((await pods()).map(({ metadata }) => metadata.name));
  await stage.until("the pods that are there ended", async () => {
    await endDeletedPods(SYSTEM);
    expect((await pods()).filter(({ metadata }) => there.has(metadata.name))).toEqual([]);
  });
}

async function endDeletedPods(namespace: string): Promise<void> {
  for (const { metadata } of await pods(namespace))
    if (metadata.deletionTimestamp !== undefined)
      await stage.api.remove(`/api/v1/namespaces/${namespace}/pods/${metadata.name}`);
}

function stopped(): Promise<void> {
  return stage.until("the provisioners told to end", async () => {
    expect(JSON.stringify(await stage.api.get(DAEMON_SET))).toContain(STOPPED);
  });
}

/** A claim with a pod, and the volume that it is bound to. */
async function volumeFor(claim: string, storageClassName = "local"): Promise<string> {
  await stage.createClaim(claim, { storageClassName });
  await stage.createPod(claim);
  return (await stage.bound(claim)).spec.volumeName;
}

async function giveUp(claim: string): Promise<void> {
  await stage.removePod(claim);
  await stage.api.remove(`${CLAIMS}/${claim}`);
}

const versions = v.object({
  metadata: v.object({ uid: v.string(), generation: v.number(), deletionTimestamp: v.optional(v.string()) }),
});

/** The DaemonSet, by what every change of it changes. */
async function daemonSet(): Promise<object> {
  return v.parse(versions, await stage.api.get(DAEMON_SET)).metadata;
}

async function provisionerTraces(): Promise<readonly string[]> {
  return (await tracesIn(plane)).filter((trace) => /provisioner|local\.mooring/.test(trace));
}

function agentsGone(): Promise<void> {
  return stage.until("Mooring gone", async () => {
    for (const namespace of ["mooring", "mooring-agents"]) await endDeletedPods(namespace);
    expect(await tracesIn(plane)).toEqual([]);
  });
}

/** What controllers make anew is not the same. */
function withoutPods(traces: readonly string[]): readonly string[] {
  return traces.filter((trace) => !/^(Pod|ControllerRevision) /.test(trace));
}

describe("uninstall, while there are volumes", () => {
  let [data, kept] = ["", ""];

  beforeAll(async () => {
    [data, kept] = [await volumeFor("data"), await volumeFor("kept", "retained")];
    await giveUp("kept");
    await stage.until("its volume Released", async () => {
      expect((await stage.volume(kept))?.status.phase).toBe("Released");
    });
  });

  it("deletes nothing, and names each with its node, size and claim, and the commands that delete it", async () => {
    const before = [await daemonSet(), await provisionerTraces()];

    const ended = await uninstall("--yes");

    expect(ended.code).toBe(1);
    const rows = [
      [data, "one", "1Gi", "Bound", "Delete", "default/data"],
      [kept, "one", "1Gi", "Released", "Retain", "default/kept"],
    ];
    expect(rowsOf(ended.stdout).toSorted()).toEqual(rows.toSorted());
    expect(ended.stderr).toContain("Nothing was deleted: the provisioner has 2 volumes (2Gi).");
    expect(ended.stderr).toContain("kubectl -n default delete pvc data\n");
    expect([await daemonSet(), await provisionerTraces()]).toEqual(before);
  });

  it("prints the same as JSON", async () => {
    const { code, stdout } = await uninstall("-o", "json");

    const { items } = v.parse(v.object({ items: v.array(v.object({ name: v.string() })) }), JSON.parse(stdout));
    expect(code).toBe(1);
    expect(items.map(({ name }) => name).toSorted()).toEqual([data, kept].toSorted());
  });

  it("is not asked by kubectl delete -k: volumes and images stay, and are served again once it is installed again", async () => {
    await provisioner.stop();
    const removed = kubectl("delete", "-k", part);
    await endPods();
    await removed;
    const left = (await stage.volumes()).map(({ metadata }) => metadata.name);
    await giveUp("data");
    await kubectl(...APPLY, "-k", part);
    provisioner = await stage.start("one", keeper);
    await podOnNode();

    await stage.volumeGone(data);
    expect(left.toSorted()).toEqual([data, kept].toSorted());
    expect([...keeper.images.keys()].toSorted()).toEqual([ORPHAN, kept].toSorted());
  });

  it("names a command that deletes a retained volume and its data", async () => {
    const { stderr } = await uninstall();
    const [, patch = ""] = /^ {2}(kubectl patch pv .*)$/m.exec(stderr) ?? [];
    const [, name = "", change = ""] = /^kubectl patch pv (\S+) -p '(.*)'$/.exec(patch) ?? expect.fail(stderr);

    await kubectl("patch", "pv", name, "-p", change);

    await stage.volumeGone(kept);
    expect([...keeper.images.keys()]).toEqual([ORPHAN]);
  });
});

describe("uninstall, while a volume is made", () => {
  it("sees it once the provisioners have ended, starts them again, and deletes nothing", async () => {
    const running = uninstall("--yes");
    await stopped();
    const late = await volumeFor("late");
    await endPods();
    const ended = await running;
    await podOnNode();
    await giveUp("late");
    await stage.volumeGone(late);

    expect(ended.code).toBe(1);
    expect(rowsOf(ended.stdout)).toEqual([[late, "one", "1Gi", "Bound", "Delete", "default/late"]]);
    expect(ended.stderr).toContain("The provisioner runs as before: volumes were made meanwhile.");
    expect(JSON.stringify(await stage.api.get(DAEMON_SET))).not.toContain(STOPPED);
  });
});

describe("uninstall, interrupted while the provisioners end", () => {
  it("starts them again, and deletes nothing", async () => {
    const before = await provisionerTraces();
    const { ended, interrupt } = start(plane.kubeconfig, "--yes");
    await stopped();

    interrupt();
    const { code, stderr } = await ended;

    expect({ code, stderr }).toEqual({
      code: 130,
      stderr: `${WAITING}The provisioner runs as before: it was interrupted.\n`,
    });
    expect(JSON.stringify(await stage.api.get(DAEMON_SET))).not.toContain(STOPPED);
    await endPods();
    await podOnNode();
    expect(withoutPods(await provisionerTraces())).toEqual(withoutPods(before));
  });
});

describe("uninstall, by a user who may not delete all of it", () => {
  it("names what would stay, before anything is changed", async () => {
    const RBAC = "/apis/rbac.authorization.k8s.io/v1";
    await stage.api.create("/api/v1/namespaces/default/serviceaccounts", { metadata: { name: "operator" } });
    const all = { apiGroups: ["*"], resources: ["*"] };
    const rules = [
      { ...all, verbs: ["get", "list", "watch", "patch"] },
      { apiGroups: [""], resources: ["namespaces"], verbs: ["delete"] },
    ];
    await stage.api.create(`${RBAC}/clusterroles`, { metadata: { name: "operator" }, rules });
    await stage.api.create(`${RBAC}/clusterrolebindings`, {
      metadata: { name: "operator" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "operator" },
      subjects: [{ kind: "ServiceAccount", namespace: "default", name: "operator" }],
    });
    const kubeconfig = await plane.kubeconfigFor({ serviceAccount: { namespace: "default", name: "operator" } });
    const before = [await daemonSet(), await provisionerTraces()];

    let ended: Ended | undefined;
    await stage.until("the role in force", async () => {
      ended = await start(kubeconfig, "--yes").ended;
      expect(ended.stdout).toContain("CSIDriver/local.mooring.dev");
    });

    expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining("Nothing was deleted.") });
    expect(ended?.stdout).not.toContain("Namespace/");
    expect([await daemonSet(), await provisionerTraces()]).toEqual(before);
  });
});

describe("uninstall, without a volume", () => {
  it("lists what would go and what would stay, and deletes nothing", async () => {
    const before = [await daemonSet(), await provisionerTraces()];

    let ended = await uninstall();
    await stage.until("the image found by the provisioner", async () => {
      ended = await uninstall();
      expect(ended.stderr).toContain("1 image without a volume stays on one");
    });

    expect(ended.code).toBe(1);
    expect(ended.stdout).toContain("Namespace/mooring-provisioner");
    expect(ended.stderr).toContain("Nothing was deleted. --yes deletes these objects");
    expect(ended.stderr).toMatch(/kubectl delete storageclass local retained\n/);
    expect([await daemonSet(), await provisionerTraces()]).toEqual(before);
  });

  it("removes every object of the provisioner, no image, and nothing of the rest of Mooring", async () => {
    const running = uninstall("--yes");
    await endPods();
    const ended = await running;

    expect(ended).toMatchObject({ code: 0, stderr: expect.stringContaining(WAITING) });
    expect(await provisionerTraces()).toEqual([]);
    expect(await tracesIn(plane)).toEqual(expect.arrayContaining([...byName(await kustomize(base)).keys()]));
    expect([...keeper.images.keys()]).toEqual([ORPHAN]);
    expect(await stage.has(`${VOLUMES}/${ORPHAN}`)).toBe(false);
  });

  it("may be run again, and finds nothing", async () => {
    expect(await uninstall("--yes")).toMatchObject({
      code: 0,
      stdout: "",
      stderr: "Nothing is left of the provisioner.\n",
    });
  });
});

describe("uninstall, where Helm installed the provisioner", () => {
  const helm = (...args: readonly string[]) => tool("helm", ...args, "--kubeconfig", plane.kubeconfig);

  it("removes it as well, and Helm continues with what is left", async () => {
    await stage.api.patch("/api/v1/nodes/one", { metadata: { labels: { "kubernetes.io/os": null } } });
    await kubectl("delete", "-k", base, "--wait=false");
    await agentsGone();
    const image = ["--set", "image.repository=mooring", "--set", "image.tag=test"];
    await helm("install", "mooring", CHART, ...image, "--set", "provisioner.enabled=true");
    const installed = await provisionerTraces();

    const ended = await uninstall("--yes");
    const left = await provisionerTraces();
    await helm("upgrade", "mooring", CHART, "--reset-then-reuse-values", "--set", "provisioner.enabled=false");

    expect(installed).toContain("DaemonSet mooring-provisioner/mooring-provisioner");
    expect(ended).toMatchObject({ code: 0 });
    expect(left).toEqual([]);
    expect(await provisionerTraces()).toEqual([]);
  });
});
