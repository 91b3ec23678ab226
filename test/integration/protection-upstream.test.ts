import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { claimObject, claimThat, NAMESPACE, volumeObject } from "../rig/stand-in/stage.ts";
import { enforce, openProtectionScene, type ProtectionScene } from "./protection-scene.ts";

/** Where Mooring sees no mounts a deleted claim goes as it goes without Mooring: with the last pod that names it. */

const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;
const CLAIMS = `/api/v1/namespaces/${NAMESPACE}/persistentvolumeclaims`;

let owner: Owner;
let signals: Disposable;
let scene: ProtectionScene;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  scene = await openProtectionScene(owner);
  await enforce(scene);
  // No agent belongs there.
  const labels = { "kubernetes.io/os": "windows", "kubernetes.io/hostname": "panes" };
  await scene.stage.api.create("/api/v1/nodes", { metadata: { name: "panes", labels } });
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

async function createClaim(claim: string, source: object): Promise<void> {
  const { stage } = scene;
  const { metadata, spec } = volumeObject(claim, "panes");
  const { local: _, nodeAffinity, ...rest } = spec ?? {};
  await stage.api.create("/api/v1/persistentvolumes", { metadata, spec: { ...rest, ...source } });
  await stage.api.create(CLAIMS, claimObject(claim));
  await claimThat(stage, { claim, what: "Bound", holds: ({ phase }) => phase === "Bound" });
}

/** A pod that runs, as its status says; nothing of it is mounted where an agent would see it. */
async function runPod(claim: string, nodeName: string): Promise<string> {
  const { api } = scene.stage;
  const name = `user-of-${claim}`;
  const volumes = [{ name: "data", persistentVolumeClaim: { claimName: claim } }];
  const spec = { nodeName, terminationGracePeriodSeconds: 0, containers: [{ name: "main", image: "none" }], volumes };
  await api.create(PODS, { metadata: { name }, spec });
  await api.patch(`${PODS}/${name}/status`, { status: { phase: "Running" } });
  await claimThat(scene.stage, {
    claim,
    what: "referenced",
    holds: ({ status }) => status?.reason === "Referenced",
  });
  return name;
}

describe("goes with its last pod: a claim", () => {
  it.each([
    { name: "of a hostPath volume", claim: "on-host", node: "node-a", source: { hostPath: { path: "/data" } } },
    {
      name: "on a node where no agent belongs",
      claim: "on-panes",
      node: "panes",
      source: { nfs: { server: "192.0.2.1", path: "/" } },
    },
  ])("$name", async ({ claim, node, source }) => {
    const { stage, kubectl, remove, gone, held } = scene;
    await createClaim(claim, source);
    const pod = await runPod(claim, node);

    await remove(claim);
    const { volume } = await held(claim);
    await kubectl("delete", "pod", pod, "--force", "--grace-period=0");

    await gone(claim);
    expect([volume, (await stage.plane.api({ path: `${PODS}/${pod}` })).status]).toEqual(["Bound", 404]);
  });
});

describe("is not protected: a mounted claim", () => {
  it("that is Lost, whose PersistentVolume was deleted by hand", async () => {
    const { stage, claims, leftMounted, remove, gone } = scene;
    await claims(["lost"]);
    const pod = await leftMounted("lost");
    const volume = "/api/v1/persistentvolumes/pv-lost";
    await stage.api.remove(volume);
    await stage.api.patch(volume, { metadata: { finalizers: null } });
    await claimThat(stage, { claim: "lost", what: "Lost", holds: ({ phase }) => phase === "Lost" });

    await remove("lost");

    await gone("lost");
    await stage.kubelets[0].unmount(pod);
  });

  it("without a status", async () => {
    const { stage, claims, remove, gone } = scene;
    await stage.aggregator.child.stop();
    await claims(["unsaid"]);
    const volume = { name: "pv-unsaid" };
    const pod = await stage.kubelets[0].runPod({ namespace: NAMESPACE, name: "unsaid", claim: "unsaid", volume });
    await stage.kubelets[0].forceDelete(pod);

    await remove("unsaid");

    await gone("unsaid");
    await stage.kubelets[0].unmount(pod);
    await stage.aggregator.start();
    await stage.aggregator.ready();
  });
});
