import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Claim } from "../../common/storage/claim.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";
import { waitUntil } from "../rig/process/wait.ts";
import { claimThat } from "../rig/stand-in/stage.ts";
import { enforce, openProtectionScene, type ProtectionScene, pathOf } from "./protection-scene.ts";

/** Real mounts and programs; what nodes and agents do to a claim that is deleted while it is mounted. */

/** Times of seconds instead of minutes; the rules are the same. */
const FLAGS = ["--node-stale-after", "8s", "--node-gone-after", "3s"];
const OURS = "tests.mooring.dev/look";
const KUBERNETES = "kubernetes.io/pvc-protection";

let owner: Owner;
let signals: Disposable;
let scene: ProtectionScene;

beforeAll(async () => {
  owner = await openOwner();
  signals = closeOnSignals(owner);
  scene = await openProtectionScene(owner, FLAGS);
  await enforce(scene);
});

afterAll(async () => {
  await owner.close();
  signals[Symbol.dispose]();
});

/** A finalizer of the tests keeps what is left of a claim, so that its last condition can be read. */
async function keepForReading(claim: string): Promise<void> {
  await scene.stage.api.patch(pathOf(claim), { metadata: { finalizers: [KUBERNETES, OURS] } });
}

/** Waits until Kubernetes has let the claim go, and answers what Mooring wrote last. */
async function lastWords(claim: string): Promise<Claim> {
  const { stage, read } = scene;
  const check = async (): Promise<void> => expect((await read(claim))?.metadata.finalizers).toEqual([OURS]);
  await waitUntil(owner, { what: `${claim} let go`, limitMs: 60_000, check });
  const { claim: last } = await claimThat(stage, { claim, what: "there", holds: () => true });
  await stage.api.patch(pathOf(claim), { metadata: { finalizers: [] } });
  return last;
}

async function stopped(node: 0 | 1, during: () => Promise<void>): Promise<void> {
  const agent = scene.stage.agents[node];
  await agent.child.stop();
  await during();
  await agent.start();
  await agent.ready();
}

describe("a volume that is staged", () => {
  it("holds its deleted claim, whose pod is gone and unmounted, until it is unstaged", async () => {
    const { stage, claims, mounted, remove, held, gone } = scene;
    await claims(["shared"]);
    const pod = await mounted("shared");
    await stage.kubelets[0].forceDelete(pod);
    await stage.kubelets[0].unmount(pod);
    await claimThat(stage, { claim: "shared", what: "unused", holds: ({ status }) => status?.unused === true });

    await remove("shared");
    const { claim, volume } = await held("shared");
    await stage.kubelets[0].unstage(pod.volume);
    await gone("shared");

    expect(volume).toBe("Bound");
    expect(claim?.status.conditions).toContainEqual(
      expect.objectContaining({
        type: "mooring.dev/Staged",
        status: "True",
        message: expect.stringContaining("node-a"),
      }),
    );
  });
});

describe("a Stale node", () => {
  it("keeps the claim that it showed, and the claim's status names the node as Stale", async () => {
    const { stage, claims, leftMounted, remove, held, gone } = scene;
    await claims(["stale"]);
    const pod = await leftMounted("stale");
    await remove("stale");

    await stopped(0, async () => {
      await claimThat(stage, {
        claim: "stale",
        what: "told to be out of date",
        holds: ({ status }) => status?.message.includes("no report of the mounts on node-a") === true,
      });
      const { claim, volume } = await held("stale");

      expect([claim?.metadata.deletionTimestamp, volume]).toEqual([expect.any(String), "Bound"]);
    });
    await stage.kubelets[0].unmount(pod);
    await gone("stale");
  });

  it("holds the claim of a pod that ends meanwhile until the next scan", async () => {
    const { stage, claims, mounted, remove, held, gone } = scene;
    await claims(["meanwhile"]);
    const pod = await mounted("meanwhile");

    await stopped(0, async () => {
      await stage.kubelets[0].unmount(pod);
      await stage.kubelets[0].forceDelete(pod);
      await remove("meanwhile");

      const { claim, volume } = await held("meanwhile");
      expect([claim?.metadata.deletionTimestamp, volume]).toEqual([expect.any(String), "Bound"]);
    });

    await gone("meanwhile");
  });
});

describe("a node that is Gone releases its claims, whose status names it:", () => {
  it("out of service and not ready", async () => {
    const { stage, claims, leftMounted, remove, held } = scene;
    const { api } = stage;
    await claims(["off"], 1);
    await keepForReading("off");
    await leftMounted("off", 1);
    await remove("off");
    const before = await held("off");

    await stopped(1, async () => {
      const taints = [{ key: "node.kubernetes.io/out-of-service", value: "nodeshutdown", effect: "NoExecute" }];
      await api.patch("/api/v1/nodes/node-b", { spec: { taints } });
      await notReady("Unknown");
      const { status } = await lastWords("off");
      await api.patch("/api/v1/nodes/node-b", { spec: { taints: null } });
      await notReady("True");

      expect(before.claim?.metadata.finalizers).toContain(KUBERNETES);
      expect(status).toMatchObject({ unused: true, reason: "NodeGone", lastUse: { node: "node-b" } });
    });
  });

  it("its Node object deleted, and no report for longer than --node-gone-after", async () => {
    const { stage, claims, leftMounted, remove, held } = scene;
    await claims(["deleted"], 1);
    await keepForReading("deleted");
    await leftMounted("deleted", 1);
    await remove("deleted");
    const before = await held("deleted");

    await stage.agents[1].child.stop();
    await stage.api.remove("/api/v1/nodes/node-b");
    const { status } = await lastWords("deleted");

    expect(before.claim?.metadata.finalizers).toContain(KUBERNETES);
    expect(status).toMatchObject({ unused: true, reason: "NodeGone", lastUse: { node: "node-b" } });
  });
});

async function notReady(status: "True" | "Unknown"): Promise<void> {
  await scene.stage.api.patch("/api/v1/nodes/node-b/status", {
    status: { conditions: [{ type: "Ready", status, reason: "Test" }] },
  });
}
