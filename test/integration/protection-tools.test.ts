import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { claimObject, claimThat, NAMESPACE, volumeObject } from "../rig/stand-in/stage.ts";
import { tool } from "./manifest-tools.ts";
import { enforce, openProtectionScene, type ProtectionScene, pathOf } from "./protection-scene.ts";

/** Real mounts and programs; what tools that delete claims meet while one is mounted. */

const NAMESPACE_PATH = `/api/v1/namespaces/${NAMESPACE}`;

let owner: Owner;
let signals: Disposable;
let scene: ProtectionScene;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  scene = await openProtectionScene(owner);
  await enforce(scene);
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

async function bound(claim: string): Promise<void> {
  await claimThat(scene.stage, { claim, what: "Bound", holds: ({ phase }) => phase === "Bound" });
}

/** Whether a tool has ended, without waiting for it. */
function followed<T>(running: Promise<T>): { readonly result: Promise<T>; readonly isOver: () => boolean } {
  let isOver = false;
  const over = (): void => {
    isOver = true;
  };
  running.then(over, over);
  return { result: running, isOver: () => isOver };
}

async function deletionAsked(claim: string): Promise<void> {
  const check = async (): Promise<void> => expect((await scene.read(claim))?.metadata.deletionTimestamp).toBeDefined();
  await waitUntil(owner, { what: `deletion of ${claim}`, limitMs: 30_000, check });
}

describe("a tool that deletes a mounted claim and waits is warned, waits, and succeeds:", () => {
  it("kubectl delete --wait", async () => {
    const { stage, claims, leftMounted, held, kubectl } = scene;
    await claims(["by-kubectl"]);
    const pod = await leftMounted("by-kubectl");

    const deletion = followed(kubectl("delete", "pvc", "by-kubectl", "--wait"));
    await deletionAsked("by-kubectl");
    const { volume } = await held("by-kubectl");
    const wasOver = deletion.isOver();
    await stage.kubelets[0].unmount(pod);
    const { stdout, stderr } = await deletion.result;

    expect([volume, wasOver]).toEqual(["Bound", false]);
    // That its pod is gone may not be stored yet.
    expect(stderr).toMatch(/claim shop\/by-kubectl is in use: (still )?mounted on node node-a/);
    expect(stdout).toContain("deleted");
  });

  it("helm uninstall --wait", async () => {
    const { stage, leftMounted, held } = scene;
    await stage.api.create("/api/v1/persistentvolumes", volumeObject("by-helm", "node-a"));
    const where = ["--kubeconfig", stage.plane.kubeconfig, "--namespace", NAMESPACE];
    await tool("helm", "install", "shop", await chartOf("by-helm"), ...where);
    await bound("by-helm");
    const pod = await leftMounted("by-helm");

    const uninstalled = followed(tool("helm", "uninstall", "shop", "--wait", "--timeout", "2m", ...where));
    await deletionAsked("by-helm");
    const { volume } = await held("by-helm");
    const wasOver = uninstalled.isOver();
    await stage.kubelets[0].unmount(pod);
    const { stdout, stderr } = await uninstalled.result;

    expect([volume, wasOver]).toEqual(["Bound", false]);
    expect(stderr).toContain("claim shop/by-helm is in use");
    expect(stdout).toContain("uninstalled");
  });
});

/** A chart of one claim. */
async function chartOf(claim: string): Promise<string> {
  const folder = join(owner.folder, `chart-${claim}`);
  await mkdir(join(folder, "templates"), { recursive: true });
  await writeFile(join(folder, "Chart.yaml"), JSON.stringify({ apiVersion: "v2", name: "shop", version: "1.0.0" }));
  const object = { apiVersion: "v1", kind: "PersistentVolumeClaim", ...claimObject(claim) };
  await writeFile(join(folder, "templates/claim.yaml"), JSON.stringify(object));
  return folder;
}

/** What of a claim a backup keeps beside its spec. */
interface Backup {
  readonly annotations: Readonly<Record<string, string>>;
  readonly conditions: readonly object[];
}

describe("a claim that is restored from a backup of a mounted one", () => {
  /** As a backup has it: with conditions, annotations and finalizers, and the override that let the old one go. */
  async function restored(claim: string): Promise<Backup> {
    const { stage, claims, leftMounted, remove, read, gone, kubectl } = scene;
    await claims([claim]);
    const pod = await leftMounted(claim);
    const uid = (await read(claim))?.metadata.uid.slice(0, 8);
    await kubectl("annotate", "pvc", claim, `mooring.dev/force-release=${uid} moved`);
    const backup = JSON.parse((await stage.plane.api({ path: pathOf(claim) })).text);
    await remove(claim);
    await gone(claim);
    await stage.kubelets[0].unmount(pod);
    await stage.api.patch(`/api/v1/persistentvolumes/pv-${claim}`, { spec: { claimRef: null } });
    const { uid: _, resourceVersion, creationTimestamp, managedFields, ...metadata } = backup.metadata;
    await stage.api.create(`${NAMESPACE_PATH}/persistentvolumeclaims`, { ...backup, metadata });
    await bound(claim);
    return { annotations: metadata.annotations, conditions: backup.status.conditions };
  }

  it("is not protected: its annotations are about another claim", async () => {
    const { annotations } = await restored("restored");

    await scene.remove("restored");

    await scene.gone("restored");
    expect(Object.keys(annotations)).toEqual(
      expect.arrayContaining(["mooring.dev/mounted-on", "mooring.dev/force-release"]),
    );
  });

  it("is not held by the old one's conditions either: the aggregator corrects them", async () => {
    const { stage, remove, gone } = scene;
    const { conditions } = await restored("with-status");
    await stage.api.patch(`${pathOf("with-status")}/status`, { status: { conditions } });

    await remove("with-status");

    await gone("with-status");
  });

  it("is held once it is seen mounted, and the old one's override is worth nothing", async () => {
    const { stage, leftMounted, remove, held, gone } = scene;
    await restored("used-again");
    const pod = await leftMounted("used-again");

    await remove("used-again");

    const { claim, volume } = await held("used-again");
    await stage.kubelets[0].unmount(pod);
    await gone("used-again");
    expect(volume).toBe("Bound");
    expect(claim?.metadata.annotations).toMatchObject({
      "mooring.dev/force-release": expect.stringContaining("moved"),
    });
  });
});

it("thirty claims that are deleted in one go while they are unmounted all go", async () => {
  const { stage, claims, leftMounted, gone } = scene;
  const names = Array.from({ length: 30 }, (_, i) => `many-${i}`);
  await claims(names);
  const pods = await Promise.all(names.map((name) => leftMounted(name)));

  await scene.kubectl("delete", "pvc", ...names, "--wait=false");
  for (const pod of pods) await stage.kubelets[0].unmount(pod);

  await Promise.all(names.map((name) => gone(name, 60_000)));
});

describe("a namespace that is deleted with one mounted claim", () => {
  it("loses the others, and is gone once that one is unmounted", async () => {
    const { stage, claims, mounted, read, gone, volumePhase } = scene;
    await claims(["of-namespace", "beside-1", "beside-2"]);
    const pod = await mounted("of-namespace");

    await stage.api.remove(NAMESPACE_PATH);
    // The scene made "probe" before: each claim of the namespace goes at its own pace.
    for (const other of ["beside-1", "beside-2", "probe"]) await gone(other);
    const { stdout } = await scene.kubectl("get", "pvc", "-o", "jsonpath={.items[*].metadata.name}");
    const [claim, volume] = [await read("of-namespace"), await volumePhase("of-namespace")];
    await stage.kubelets[0].unmount(pod);

    const check = async (): Promise<void> => {
      const { status, text } = await stage.plane.api({ path: NAMESPACE_PATH });
      if (status !== 404) throw new Error(text);
    };
    await waitUntil(owner, { what: "the namespace gone", limitMs: 60_000, check });
    expect(stdout.split(" ").toSorted()).toEqual(["of-namespace"]);
    expect([claim?.metadata.deletionTimestamp, volume]).toEqual([expect.any(String), "Bound"]);
  });
});
