import { describe, expect, it } from "vitest";
import { unprotected } from "../../simulation/engine/api/deletion.ts";
import { withOverride } from "../../simulation/engine/api/protection.ts";
import { createEngine, type Engine } from "../../simulation/engine/engine.ts";
import { Cluster } from "../../simulation/world/cluster.ts";

const CLAIM = { resource: "persistentvolumeclaims", namespace: "shop", name: "data" } as const;
const MOUNTED = { type: "mooring.dev/Unused", status: "False", message: "mounted on n1" };
const UNUSED = { type: "mooring.dev/Unused", status: "True" };
const STAGED = { type: "mooring.dev/Staged", status: "True" };

interface Scene {
  readonly engine: Engine;
  readonly cluster: Cluster;
  readonly say: (...conditions: readonly Readonly<Record<string, string>>[]) => void;
  readonly isThere: () => boolean;
  readonly pass: (ms: number) => Promise<void>;
}

/** A claim with its volume under enforced protection; only Kubernetes' own controllers run. */
function sceneWith({ reclaim = "Retain" }: { readonly reclaim?: "Retain" | "Delete" } = {}): Scene {
  const engine = createEngine({ seed: 1 });
  const { api, scheduler } = engine;
  api.protect("enforce");
  const { nowMs: now, after } = scheduler;
  const cluster = new Cluster({ api, now, wallMs: engine.trueWallMs, after });
  cluster.claims.create({ name: "data", kind: "csi", reclaim });
  return {
    engine,
    cluster,
    say: (...conditions) =>
      void api.update(CLAIM, (claim) => ({ ...claim, status: { phase: "Bound", conditions } }), {
        subresource: "status",
      }),
    isThere: () => api.get(CLAIM) !== undefined,
    pass: (ms) => scheduler.runUntil(now() + ms),
  };
}

describe("the simulated policy", () => {
  it.each([
    { name: "keeps a claim that is in use", conditions: [MOUNTED], isKept: true },
    { name: "keeps a staged claim", conditions: [UNUSED, STAGED], isKept: true },
    { name: "lets an unused claim go", conditions: [UNUSED], isKept: false },
    { name: "lets a claim go that Mooring never wrote", conditions: [], isKept: false },
    {
      name: "keeps a claim with an override for another one",
      conditions: [MOUNTED],
      override: "00000000",
      isKept: true,
    },
    {
      name: "keeps a claim with an override that is too short",
      conditions: [MOUNTED],
      override: "uid",
      length: 7,
      isKept: true,
    },
    { name: "lets a claim go with its own override", conditions: [MOUNTED], override: "uid", length: 8, isKept: false },
  ])("$name", async ({ conditions, override, length, isKept }) => {
    const { cluster, say, isThere, pass, engine } = sceneWith();
    say(...conditions);
    const uid = cluster.claims.get("data")?.uid ?? "";
    const value = override === "uid" ? uid.slice(0, length) : override;
    if (value !== undefined) cluster.claims.setOverride("data", value);

    cluster.claims.delete("data", undefined);
    await pass(5_000);

    expect(isThere()).toBe(isKept);
    await engine.close();
  });

  it("does not count an override that comes with the write that it would allow", async () => {
    const { engine, say, isThere, cluster } = sceneWith();
    say(MOUNTED);
    cluster.claims.delete("data", undefined);

    const isTaken = engine.api.attempt(CLAIM, (claim) => unprotected(withOverride(claim, claim.metadata.uid)));

    expect([isTaken, isThere()]).toEqual([false, true]);
    await engine.close();
  });
});

describe("the simulated kube-controller-manager", () => {
  it("retries at once when the claim is written, and its volume goes with it", async () => {
    const { engine, cluster, say, isThere, pass } = sceneWith({ reclaim: "Delete" });
    say(MOUNTED);
    cluster.claims.delete("data", undefined);
    await pass(300_000);
    const isProtected = isThere();

    say(UNUSED);
    await pass(200);

    expect([isProtected, isThere(), engine.api.list("persistentvolumes").length]).toEqual([true, false, 0]);
    await engine.close();
  });

  it.each([
    { name: "waits for a scheduled pod, also for a finished one", node: "n1", isKept: true },
    { name: "does not wait for an unscheduled pod", node: "", isKept: false },
  ])("$name", async ({ node, isKept }) => {
    const { engine, cluster, isThere, pass } = sceneWith();
    const pace = { mountMs: 1, publishMs: 1, startMs: 1, graceMs: 1, statusMs: 1, unmountMs: 1, unstageMs: 1 };
    const flags = { isStagingLeaked: false, isStacked: false, hasSubPaths: false, isTokenLast: false };
    const volumes = [{ by: "claim", claim: "data" }] as const;
    const pod = cluster.pods.create({ name: "web", node, volumes, pace: { ...pace, ...flags } });
    cluster.pods.postStatus(pod, "Succeeded");

    cluster.claims.delete("data", undefined);
    await pass(5_000);
    const wasKept = isThere();
    cluster.pods.remove(pod);
    await pass(5_000);

    expect([wasKept, isThere()]).toEqual([isKept, false]);
    await engine.close();
  });
});
