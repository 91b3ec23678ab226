import { execFile } from "node:child_process";
import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createFakeKeeper, type FakeKeeper } from "../fakes/keeper.ts";
import type { ControlPlane } from "../rig/control-plane/control-plane.ts";
import { borrowControlPlane } from "../rig/control-plane/lent.ts";
import { fileOf } from "../rig/process/mooring-program.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { createAccountPod } from "../rig/stand-in/account-pods.ts";
import { CAPACITIES, GiB, ProvisionerStage, type RunningProvisioner, SYSTEM, VOLUMES } from "./provisioner-stage.ts";

const ORPHAN = "pvc-0b7a1c52-6d0e-4c56-9f7c-3a6f3b2f0a11";
const ACCOUNT = { namespace: SYSTEM, name: "mooring-provisioner" } as const;
const listed = v.object({ items: v.array(v.record(v.string(), v.unknown())) });
const object = v.object({ metadata: v.object({ name: v.string(), resourceVersion: v.string() }) });

let owner: Owner;
let signals: Disposable;
let plane: ControlPlane;
let stage: ProvisionerStage;
let one: FakeKeeper;
let two: FakeKeeper;
let provisionerTwo: RunningProvisioner;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  plane = await borrowControlPlane(owner, ["kube-controller-manager", "kube-scheduler"]);
  stage = new ProvisionerStage(owner, plane);
  await stage.prepare(["one", "two"]);
  [one, two] = [createFakeKeeper([{ totalBytes: 10 * GiB }]), createFakeKeeper([{ totalBytes: 20 * GiB }])];
  one.put({ volume: ORPHAN, pool: "default", bytes: 2 * GiB, state: "published" });
  await stage.start("one", one);
  provisionerTwo = await stage.start("two", two);
  await stage.api.create(`/api/v1/namespaces/${SYSTEM}/serviceaccounts`, { metadata: { name: ACCOUNT.name } });
  for (const node of ["one", "two"]) await runProvisionerPod(node);
  for (const [name, node] of [
    ["data", "two"],
    ["logs", "two"],
    ["near", "one"],
  ] as const) {
    await stage.createClaim(name);
    await stage.createPod(name, name, node);
    await stage.bound(name);
  }
});
afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

/** Its pod as the kubelet would show it. The provisioner itself runs in this process. */
async function runProvisionerPod(node: string): Promise<void> {
  const labels = { "app.kubernetes.io/name": "mooring-provisioner" };
  const { name } = await createAccountPod(stage.api, ACCOUNT, { name: `provisioner-${node}`, nodeName: node, labels });
  const status = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
  await stage.api.patch(`/api/v1/namespaces/${SYSTEM}/pods/${name}/status`, { status });
}

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command as a user would, with no configuration but what the arguments name. */
function run(kubeconfig: string, ...args: readonly string[]): Promise<Ended> {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, HOME: "/nonexistent" };
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [fileOf("local"), ...args, "--kubeconfig", kubeconfig],
      { env },
      (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

function local(...args: readonly string[]): Promise<Ended> {
  return run(plane.kubeconfig, ...args);
}

function rowsOf(table: string): readonly (readonly string[])[] {
  const lines = table.trimEnd().split("\n").slice(1);
  return lines.map((line) => line.split(/ {2,}/));
}

/** Waits until the command prints what is expected; answers all of it. */
async function untilPrinted(args: readonly string[], holds: (ended: Ended) => boolean): Promise<Ended> {
  let last = await local(...args);
  await stage.until(`${args.join(" ")} as expected`, async () => {
    last = await local(...args);
    if (!holds(last)) throw new Error(JSON.stringify(last));
  });
  return last;
}

async function versions(): Promise<readonly string[]> {
  const { items } = v.parse(v.object({ items: v.array(object) }), await stage.api.get(CAPACITIES));
  return items.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`);
}

describe("pools", () => {
  it("shows the room of each node, how much volumes take and the largest", async () => {
    const { stdout } = await untilPrinted(["pools"], ({ stdout }) =>
      ["7Gi", "18Gi"].every((room) => stdout.includes(room)),
    );

    expect(rowsOf(stdout)).toEqual([
      ["one", "default", "usable", "10Gi", "7Gi", "3Gi", "1", "1Gi", "local"],
      ["two", "default", "usable", "20Gi", "18Gi", "2Gi", "2", "1Gi", "local"],
    ]);
  });

  it("is JSON for programs, in bytes", async () => {
    const { stdout, code } = await local("pools", "-o", "json");

    const { items } = v.parse(listed, JSON.parse(stdout));
    expect(code).toBe(0);
    expect(items[0]).toMatchObject({
      node: "one",
      pool: "default",
      health: "usable",
      sizeBytes: 10 * GiB,
      problem: null,
    });
  });

  it("show that a disk is missing, and why, and that it is back", async () => {
    one.setState("default", "lost", "its disk is not mounted");

    const lost = await untilPrinted(["pools"], (ended) => ended.stdout.includes("missing"));
    one.setState("default", "ready");
    await untilPrinted(["pools"], (ended) => !ended.stdout.includes("missing"));

    expect(lost.stderr).toContain('Pool "default" of one: its disk is not mounted');
  });

  it("show objects that are not written while nothing changes", async () => {
    const before = await versions();

    // Two turns of the loop that asks the keeper for its pools.
    const asked = (): number => one.requests.filter(({ verb }) => verb === "pools").length;
    const begin = asked();
    await stage.until("two turns", async () => expect(asked()).toBeGreaterThan(begin + 2));

    expect(await versions()).toEqual(before);
  });

  it("name a missing permission, and show what is known without it", async () => {
    await stage.api.create("/api/v1/namespaces/default/serviceaccounts", { metadata: { name: "reader" } });
    const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    const rules = [{ apiGroups: [""], resources: ["persistentvolumes"], verbs: ["list"] }];
    await stage.api.create(roles, { metadata: { name: "local-cli-reader" }, rules });
    const kubeconfig = await plane.kubeconfigFor({ serviceAccount: { namespace: "default", name: "reader" } });
    const refused = await run(kubeconfig, "pools");
    await stage.api.create(`${roles.replace("roles", "rolebindings")}`, {
      metadata: { name: "local-cli-reader" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "local-cli-reader" },
      subjects: [{ kind: "ServiceAccount", namespace: "default", name: "reader" }],
    });
    let { stdout, stderr } = refused;
    await stage.until("the right", async () => {
      ({ stdout, stderr } = await run(kubeconfig, "pools"));
      expect(stdout).not.toBe("");
    });

    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('lack the right "list persistentvolumes"'),
    });
    expect(rowsOf(stdout)[0]).toEqual(["one", "default", "unknown", "?", "?", "1Gi", "1", "1Gi", "-"]);
    expect(stderr).toContain('You lack the right "list csistoragecapacities"');
  });

  it("reports a full disk, and exits with an error", async () => {
    const command = [process.execPath, fileOf("local"), plane.kubeconfig];
    const ended = await new Promise<Ended>((resolve) => {
      execFile("sh", ["-c", `exec "$0" "$1" pools --kubeconfig "$2" >/dev/full`, ...command], (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
      );
    });

    expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining("cannot write the output") });
  });
});

describe("orphans", () => {
  it("shows an image that no volume names", async () => {
    const shown = await untilPrinted(["orphans"], (ended) => ended.stdout.includes(ORPHAN));

    expect(rowsOf(shown.stdout)).toEqual([
      [
        "image without volume",
        "one",
        ORPHAN,
        "default",
        "2Gi",
        "-",
        "its PersistentVolume is gone, its data is still there",
      ],
    ]);
  });
});

describe("forget", () => {
  const onTwo = { data: "", logs: "" };

  async function namesOnTwo(): Promise<readonly string[]> {
    const names = (await stage.volumes()).map(({ metadata }) => metadata.name);
    return names.filter((name) => name === onTwo.data || name === onTwo.logs).toSorted();
  }

  beforeAll(async () => {
    onTwo.data = (await stage.claim("data")).spec.volumeName;
    onTwo.logs = (await stage.claim("logs")).spec.volumeName;
  });

  it("refuses while the node exists, and then while its provisioner's pod is not over", async () => {
    const exists = await local("forget", "two", "--yes");
    await provisionerTwo.stop();
    await stage.api.remove("/api/v1/nodes/two");
    const runs = await local("forget", "two", "--yes");

    expect(exists).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("node two exists") });
    expect(runs).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("provisioner-two") });
    expect(await namesOnTwo()).toHaveLength(2);
  });

  it("is suggested by the lists for the node", async () => {
    const [pools, orphans] = [await local("pools"), await local("orphans")];

    expect(rowsOf(pools.stdout).map(([node, , state]) => [node, state])).toContainEqual(["two", "node gone"]);
    const gone = rowsOf(orphans.stdout).filter(([kind]) => kind === "node gone");
    expect(gone.map(([, node, volume]) => [node, volume])).toEqual(
      [onTwo.data, onTwo.logs].toSorted().map((name) => ["two", name]),
    );
  });

  it("lists what would be lost, with claims and pods, and deletes nothing", async () => {
    const pod = `/api/v1/namespaces/${SYSTEM}/pods/provisioner-two`;
    if (await stage.has(pod)) await stage.api.remove(pod);

    const { code, stdout, stderr } = await local("forget", "two");

    expect(code).toBe(1);
    const rows = [
      [onTwo.data, "1Gi", "Bound", "default/data", expect.stringMatching(/^(default\/data|-)$/)],
      [onTwo.logs, "1Gi", "Bound", "default/logs", expect.stringMatching(/^(default\/logs|-)$/)],
    ];
    expect(rowsOf(stdout)).toEqual(rows.toSorted(([one = ""], [other = ""]) => (one < other ? -1 : 1)));
    expect(stderr).toContain("Nothing was deleted. --yes deletes 2 PersistentVolumes (2Gi)");
    expect(await namesOnTwo()).toHaveLength(2);
  });

  it("deletes them, continues after an interruption, keeps what other finalizers hold, and names the claims", async () => {
    // As an earlier run left it that was ended between its two writes.
    await stage.api.remove(`${VOLUMES}/${onTwo.data}`);
    const { metadata } = (await stage.volume(onTwo.logs)) ?? expect.fail("it is gone");
    const finalizers = [...metadata.finalizers, "backup.example/hold"];
    await stage.api.patch(`${VOLUMES}/${onTwo.logs}`, { metadata: { finalizers } });

    const first = await local("forget", "two", "--yes");
    const left = await stage.volume(onTwo.logs);
    await stage.api.patch(`${VOLUMES}/${onTwo.logs}`, { metadata: { finalizers: [] } });
    const second = await local("forget", "two", "--yes");

    expect(first.code).toBe(1);
    expect(first.stdout).toMatch(new RegExp(`PersistentVolume/${onTwo.data} +deleted`));
    expect(first.stdout).toMatch(new RegExp(`PersistentVolume/${onTwo.logs} +kept .*backup.example/hold`));
    expect(first.stderr).toContain("kubectl -n default delete pvc data");
    expect(left?.metadata.finalizers).toEqual(["backup.example/hold"]);
    expect(second).toMatchObject({ code: 0, stderr: expect.stringContaining("Nothing is left of node two.") });
    expect(await namesOnTwo()).toEqual([]);
    expect((await stage.capacities()).map(({ host }) => host)).toEqual(["one"]);
  });

  it("does not touch the volumes of another node", async () => {
    const { spec } = await stage.claim("near");

    expect((await stage.volume(spec.volumeName))?.metadata.deletionTimestamp).toBeUndefined();
    expect((await stage.claim("near")).status.phase).toBe("Bound");
  });
});
