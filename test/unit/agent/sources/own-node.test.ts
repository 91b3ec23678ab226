import { afterEach, describe, expect, it } from "vitest";
import { createOwnNode } from "../../../../agent/sources/own-node.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { createFakeByteStream } from "../../../fakes/byte-stream.ts";
import { createFakeClock, settle } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFakeRandom } from "../../../fakes/random.ts";
import { createFakeConnection, createFakeTransport, json } from "../../../fakes/transport.ts";

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

interface Change {
  readonly labels?: Readonly<Record<string, string>> | null;
  readonly uid?: string;
  readonly kubeletVersion?: string;
  readonly attached?: readonly string[];
}

function node(
  version: number,
  { labels = { zone: "a" }, uid = "n1", kubeletVersion = "v1.36.3", attached = [] }: Change = {},
) {
  return {
    metadata: { name: "node-1", uid, resourceVersion: String(version), labels },
    status: { nodeInfo: { kubeletVersion }, volumesAttached: attached.map((name) => ({ name, devicePath: "" })) },
  };
}

async function follow() {
  const clock = createFakeClock();
  const watch = createFakeByteStream();
  const transport = createFakeTransport(({ path }) =>
    path.includes("watch=true") ? { body: watch } : json({ metadata: { resourceVersion: "100" }, items: [node(1)] }),
  );
  const client = createKubeClient(createFakeConnection(transport), { clock });
  let changes = 0;
  const parts = { client, clock, random: createFakeRandom(), logger: createFakeLogger() };
  const nodes = createOwnNode(parts, "node-1", () => {
    changes += 1;
  });
  const stop = new AbortController();
  const running = nodes.run(stop.signal);
  cleanUps.push(async () => {
    stop.abort();
    await running;
  });
  await settle();
  const begun = changes;
  return { transport, nodes, begun, changes: () => changes - begun, send: watch.writeLine };
}

describe("the own Node", () => {
  it("is watched by its name, and reported when it is first seen", async () => {
    const { transport, begun, nodes } = await follow();

    expect(transport.requests[0]?.path).toBe("/api/v1/nodes?fieldSelector=metadata.name%3Dnode-1&resourceVersion=0");
    expect(begun).toBe(1);
    expect(nodes.get("node-1")).toMatchObject({ uid: "n1", labels: { zone: "a" }, kubeletVersion: "v1.36.3" });
  });

  it.each<{ readonly name: string; readonly change: Change; readonly changes: number }>([
    { name: "another value of a label", change: { labels: { zone: "b" } }, changes: 1 },
    { name: "another label beside it", change: { labels: { zone: "a", rack: "1" } }, changes: 1 },
    { name: "another label in its place", change: { labels: { rack: "a" } }, changes: 1 },
    { name: "no label any more", change: { labels: null }, changes: 1 },
    { name: "another kubelet", change: { kubeletVersion: "v1.37.0" }, changes: 1 },
    { name: "another Node of its name", change: { uid: "n2" }, changes: 2 },
    { name: "a status that its kubelet wrote", change: { attached: ["kubernetes.io/csi/d^h"] }, changes: 0 },
  ])("with $name is reported $changes times", async ({ change, changes: expected }) => {
    const { send, changes } = await follow();

    send({ type: "MODIFIED", object: node(101, change) });
    await settle();

    expect(changes()).toBe(expected);
  });

  it("is reported when it is gone", async () => {
    const { send, changes, nodes } = await follow();

    send({ type: "DELETED", object: node(101) });
    await settle();

    expect(changes()).toBe(1);
    expect(nodes.get("node-1")).toBeUndefined();
  });
});
