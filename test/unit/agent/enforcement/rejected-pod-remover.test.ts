import { afterEach, describe, expect, it } from "vitest";
import { type ApiObject, type FakeCluster, refusal } from "./cluster.ts";
import { endScenes, pod, podAt, startScene } from "./scene.ts";

afterEach(endScenes);

const DELETING = { deleteRejected: true } as const;
/** From the moment at which a pod comes until it is rejected, and then until it is deleted. Milliseconds. */
const REJECTED_MS = 5_500;
const DELETED_MS = 15_000;

const REJECTED = { phase: "Failed", reason: "VolumeNodeAffinity", message: "Pod was rejected: " } as const;

/** A pod as an earlier run has left it. */
function rejected(name: string, { owner, status = REJECTED }: Parameters<typeof pod>[1] = {}): ApiObject {
  const made = pod(name, { owner, status });
  const annotations = { "mooring.dev/rejected": JSON.stringify({ at: "2026-09-09T00:00:00Z", level: 0 }) };
  return { ...made, metadata: { ...made.metadata, annotations } };
}

const CANNOT = 'User "agent" cannot delete resource "pods" in API group ""';

function deletionsIn(cluster: FakeCluster): readonly string[] {
  return cluster.asked().filter((line) => line.startsWith("DELETE"));
}

/** The first deletions meet refusals with these codes. */
function refuse(cluster: FakeCluster, ...codes: readonly number[]): void {
  const left = [...codes];
  cluster.intercept = ({ method }) => {
    const code = method === "DELETE" ? left.shift() : undefined;
    if (code === undefined) return undefined;
    return code === 409 ? refusal(code, "Conflict") : refusal(code, "Forbidden", { message: CANNOT });
  };
}

describe("a rejected pod", () => {
  it("is deleted where the settings say so, once its rejection holds", async () => {
    const { cluster, advance, phase, counted } = await startScene(DELETING);
    cluster.put(podAt("web"), pod("web"));

    await advance(REJECTED_MS + DELETED_MS - 1_000);
    const before = phase("web");
    await advance(1_000);

    expect(before).toBe("Failed");
    expect(cluster.get(podAt("web"))).toBeUndefined();
    expect(await counted()).toEqual({ rejected: 1, held: 1, deleted: 1 });
  });

  it.each([
    { name: "where the settings do not say so", config: {} },
    { name: "in audit mode", config: { ...DELETING, mode: "audit" } as const },
  ])("stays $name", async ({ config }) => {
    const { cluster, advance } = await startScene(config);

    cluster.put(podAt("web"), rejected("web"));
    await advance(120_000);

    expect(deletionsIn(cluster)).toEqual([]);
  });

  it.each<{ name: string; object: ApiObject }>([
    { name: "that no controller replaces", object: rejected("web", { owner: { kind: "", name: "" } }) },
    { name: "that another component has rejected", object: pod("web", { status: REJECTED }) },
    {
      name: "that failed for another reason",
      object: rejected("web", { status: { phase: "Failed", reason: "Evicted" } }),
    },
    { name: "that has the annotation and is Pending", object: rejected("web", { status: { phase: "Pending" } }) },
  ])("stays $name", async ({ object }) => {
    const { cluster, advance } = await startScene({ ...DELETING, rejectBarePods: true, graceMs: 600_000 });

    cluster.put(podAt("web"), object);
    await advance(120_000);

    expect(deletionsIn(cluster)).toEqual([]);
  });

  it("of an earlier run of the agent is deleted, too", async () => {
    const { cluster, advance } = await startScene(DELETING, (before) => before.put(podAt("web"), rejected("web")), 0);

    await advance(DELETED_MS + 1_000);

    expect(cluster.get(podAt("web"))).toBeUndefined();
  });

  it("whose rejection was reverted for a moment is deleted once it has held for the whole time again", async () => {
    const { cluster, advance } = await startScene({ ...DELETING, graceMs: 600_000 });
    cluster.put(podAt("web"), rejected("web"));
    await advance(10_000);

    cluster.put(podAt("web"), rejected("web", { status: { phase: "Pending" } }));
    await advance(1_000);
    cluster.put(podAt("web"), rejected("web"));
    await advance(DELETED_MS - 1_000);
    const early = deletionsIn(cluster).length;
    await advance(2_000);

    expect(early).toBe(0);
    expect(cluster.get(podAt("web"))).toBeUndefined();
  });

  it("is not confused with a pod that was re-created under its name", async () => {
    const { cluster, advance } = await startScene({ ...DELETING, graceMs: 600_000 });
    cluster.put(podAt("web"), rejected("web"));
    await advance(10_000);

    cluster.remove(podAt("web"));
    cluster.put(podAt("web"), pod("web", { uid: "u-other" }));
    await advance(60_000);

    expect(cluster.get(podAt("web"))?.metadata.uid).toBe("u-other");
    expect(deletionsIn(cluster)).toEqual([]);
  });

  it("that has changed is deleted in the state that the watch shows", async () => {
    const { cluster, advance, counted } = await startScene(DELETING);
    refuse(cluster, 409);

    cluster.put(podAt("web"), rejected("web"));
    await advance(DELETED_MS + 3_000);

    expect(cluster.get(podAt("web"))).toBeUndefined();
    expect(await counted()).toEqual({ conflict: 1, deleted: 1 });
  });

  it("stays while the aggregator pauses all rejections, which counts existing pods", async () => {
    const { cluster, advance, enforcement } = await startScene(DELETING);
    enforcement.onAnswer({ forget: [], pauseRejections: "20 pods a minute" });
    cluster.put(podAt("web"), rejected("web"));
    await advance(60_000);
    const held = deletionsIn(cluster).length;

    enforcement.onAnswer({ forget: [] });
    await advance(2_000);

    expect(held).toBe(0);
    expect(cluster.get(podAt("web"))).toBeUndefined();
  });

  it("without the permission to delete it is logged once, makes the agent not ready, and is deleted once the permission is granted", async () => {
    const { cluster, advance, enforcement, logger } = await startScene(DELETING);
    refuse(cluster, 403, 403);
    cluster.put(podAt("web"), rejected("web"));

    await advance(DELETED_MS + 61_000);
    const [messages, check] = [logger.messages("error"), enforcement.check()];
    await advance(61_000);

    expect(messages.filter((message) => message === "rejected pod could not be deleted")).toHaveLength(1);
    expect(check).toMatchObject({ ok: false, why: expect.stringContaining("pods (delete)") });
    expect(cluster.get(podAt("web"))).toBeUndefined();
    expect(enforcement.check().ok).toBe(true);
  });
});
