import { afterEach, describe, expect, it } from "vitest";
import { createNodePods, type NodePod } from "../../../../agent/sources/node-pods.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import type { StoreChange } from "../../../../common/kube/store.ts";
import { createFakeByteStream } from "../../../fakes/byte-stream.ts";
import { createFakeClock, settle } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFakeRandom } from "../../../fakes/random.ts";
import { createFakeConnection, createFakeTransport, json } from "../../../fakes/transport.ts";

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

function pod(version: number, phase = "Running", uid = "u1") {
  return { metadata: { namespace: "team", name: "web", uid, resourceVersion: String(version) }, status: { phase } };
}

async function follow(items: readonly unknown[]) {
  const clock = createFakeClock();
  const watch = createFakeByteStream();
  const transport = createFakeTransport(({ path }) =>
    path.includes("watch=true") ? { body: watch } : json({ metadata: { resourceVersion: "100" }, items }),
  );
  const client = createKubeClient(createFakeConnection(transport), { clock });
  let ends = 0;
  const changes: StoreChange<NodePod>[] = [];
  const pods = createNodePods({ client, clock, random: createFakeRandom(), logger: createFakeLogger() }, "node-1", {
    onEnd: () => {
      ends += 1;
    },
    onChange: (change) => changes.push(change),
  });
  const stop = new AbortController();
  const running = pods.run(stop.signal);
  cleanUps.push(async () => {
    stop.abort();
    await running;
  });
  await settle();
  const begun = ends;
  return { transport, watch, pods, changes, ends: () => ends - begun, begun };
}

describe("the pods of a node", () => {
  it("are those of this node only", async () => {
    const { transport } = await follow([]);

    expect(transport.requests.map(({ path }) => path)).toEqual([
      "/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-1&resourceVersion=0",
      expect.stringMatching(/^\/api\/v1\/pods\?fieldSelector=spec\.nodeName%3Dnode-1&watch=true/),
    ]);
  });

  it("request a scan after each list, as a pod may have ended, unobserved", async () => {
    const { begun } = await follow([pod(1)]);

    expect(begun).toBe(1);
  });

  it.each([
    { name: "a pod that succeeded", event: { type: "MODIFIED", object: pod(101, "Succeeded") }, ends: 1 },
    { name: "a pod that failed", event: { type: "MODIFIED", object: pod(101, "Failed") }, ends: 1 },
    { name: "a pod that vanished", event: { type: "DELETED", object: pod(101) }, ends: 1 },
    {
      name: "a pod that was replaced under its name",
      event: { type: "MODIFIED", object: pod(101, "Pending", "u2") },
      ends: 1,
    },
    {
      name: "a pod that was over when it was first seen",
      event: {
        type: "ADDED",
        object: { metadata: { ...pod(101).metadata, name: "job", uid: "u3" }, status: { phase: "Succeeded" } },
      },
      ends: 1,
    },
    { name: "a pod that keeps running", event: { type: "MODIFIED", object: pod(101) }, ends: 0 },
    {
      name: "a pod that terminates",
      event: {
        type: "MODIFIED",
        object: { ...pod(101), metadata: { ...pod(101).metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } },
      },
      ends: 0,
    },
    {
      name: "a pod that ran and whose status is unknown",
      event: { type: "MODIFIED", object: { metadata: pod(101).metadata } },
      ends: 0,
    },
  ])("report the end of $name: $ends", async ({ event, ends }) => {
    const { watch, ends: seen } = await follow([pod(1)]);

    watch.writeLine(event);
    await settle();

    expect(seen()).toBe(ends);
  });

  it("report an end once, however often the finished pod changes", async () => {
    const { watch, ends } = await follow([pod(1)]);

    watch.writeLine({ type: "MODIFIED", object: pod(101, "Succeeded") });
    watch.writeLine({ type: "MODIFIED", object: pod(102, "Succeeded") });
    await settle();

    expect(ends()).toBe(1);
  });
});

describe("a pod of a node", () => {
  async function only(object: object): Promise<NodePod | undefined> {
    const { pods } = await follow([object]);
    return [...pods.all()][0];
  }

  it.each([
    { name: "was just bound", change: { phase: "Pending" }, isWaiting: true },
    { name: "has an address", change: { phase: "Pending", podIP: "10.0.0.1" }, isWaiting: false },
    {
      name: "shows the node's address",
      change: { phase: "Pending", podIP: "10.0.0.1" },
      spec: { hostNetwork: true },
      isWaiting: true,
    },
    { name: "runs", change: { phase: "Running", podIP: "10.0.0.1" }, isWaiting: false },
    { name: "is over", change: { phase: "Failed" }, isWaiting: false },
    {
      name: "is being deleted",
      change: { phase: "Pending" },
      metadata: { deletionTimestamp: "2026-11-21T10:00:00Z" },
      isWaiting: false,
    },
  ])("that $name may be waiting for a volume: $isWaiting", async ({ change, spec, metadata, isWaiting }) => {
    const object = pod(1);
    const found = await only({ metadata: { ...object.metadata, ...metadata }, spec, status: change });

    expect(found?.isWaiting).toBe(isWaiting);
  });

  it("has the claims that its volumes name", async () => {
    const volumes = [
      { name: "data", persistentVolumeClaim: { claimName: "orders" } },
      { name: "scratch", ephemeral: { volumeClaimTemplate: {} } },
      { name: "tmp", emptyDir: {} },
    ];

    expect((await only({ ...pod(1), spec: { volumes } }))?.claims).toEqual(["orders", "web-scratch"]);
    expect((await only(pod(1)))?.claims).toEqual([]);
  });

  it.each([
    { name: "rejected", status: { phase: "Failed", reason: "VolumeNodeAffinity" }, isKnown: true },
    { name: "failed for another reason", status: { phase: "Failed", reason: "Evicted" }, isKnown: false },
    { name: "only marked", status: { phase: "Pending" }, isKnown: false },
  ])("that was $name is known as rejected: $isKnown", async ({ status, isKnown }) => {
    const metadata = {
      ...pod(1).metadata,
      annotations: { "mooring.dev/rejected": '{"at":"2026-11-21T10:00:00Z","level":2}' },
      ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "r1", controller: true }],
    };

    const known = { atMs: 1_795_255_200_000, level: 2, ownerUid: "r1" };
    expect((await only({ metadata, status }))?.rejection).toEqual(isKnown ? known : undefined);
  });

  it("is reported when it is added and when it changes", async () => {
    const { changes, watch } = await follow([pod(1)]);

    watch.writeLine({ type: "MODIFIED", object: pod(101) });
    await settle();

    expect(changes.map(({ kind }) => kind)).toEqual(["added", "updated"]);
  });
});
