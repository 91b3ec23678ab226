import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { projectNode } from "../../../../aggregator/sources/projections.ts";

const identity = { uid: "node-1", resourceVersion: "1" };
const metadata = { name: "n1", ...identity };

const hashed = (handle: string): string => createHash("sha256").update(handle).digest("hex");
const nodeInfoOf = (nodeInfo: object) => ({ status: { nodeInfo } });
const readyAs = (...statuses: readonly string[]) => {
  const [first, ...others] = statuses.map((status) => ({ type: "Ready", status, reason: "KubeletReady" }));
  return { status: { conditions: [{ type: "MemoryPressure", status: "True" }, first, ...others] } };
};
const taintedWith = (key: string, effect: string) => ({
  spec: {
    taints: [
      { key: "dedicated", effect: "NoSchedule" },
      { key, effect, value: "nodeshutdown" },
    ],
  },
});

describe("what is kept of a node", () => {
  const volumesInUse = [
    ...["kubernetes.io/csi/csi.example^vol-0a1b", "kubernetes.io/csi/csi.example^a^b/c"],
    ...["kubernetes.io/iscsi/10.0.0.1:iqn:0", "kubernetes.io/csi/no-handle"],
  ];
  const volumesAttached = ["vol-0a1b", "vol-2c3d"].map((handle) => ({
    name: `kubernetes.io/csi/csi.example^${handle}`,
  }));
  const [inUse, attached] = [
    [`csi.example/${hashed("vol-0a1b")}`, `csi.example/${hashed("a^b/c")}`],
    [`csi.example/${hashed("vol-2c3d")}`],
  ];
  const labels = { "kubernetes.io/os": "windows", constructor: "acme" };
  const dated = { metadata: { ...metadata, labels, creationTimestamp: "2026-11-21T12:00:00Z" } };
  const ready = { type: "Ready", status: "True", lastHeartbeatTime: "2026-11-21T12:00:00Z" };
  const [linux, unprintable] = ["Ubuntu 26.04 LTS", "\u001b[2J"];

  it.each<readonly [name: string, object: object, kept: object]>(
    // biome-ignore format: a row is a line
    [
      ["nothing but its identity where it has no status yet", {}, {}],
      ["the kubelet's boot ID", nodeInfoOf({ bootID: "boot-1", kubeletVersion: "v1.36.3" }), { bootId: "boot-1" }],
      ["no empty boot ID", nodeInfoOf({ bootID: "" }), { bootId: undefined }],
      ["its labels, when it was made, and its operating system", dated, { labels, createdAtMs: 1_795_262_400_000, os: "windows" }],
      ["what runs there", nodeInfoOf({ osImage: linux }), { distribution: linux }],
      ["nothing unprintable", nodeInfoOf({ containerRuntimeVersion: unprintable }), { containerRuntime: undefined }],
      ["that it is ready", readyAs("True"), { isReady: true }],
      ["that it is not ready", readyAs("False"), { isReady: false }],
      ["that it is unreachable", readyAs("Unknown"), { isReady: false, isUnreachable: true }],
      ["whether its kubelet is ready", { status: { conditions: [ready] } }, { isReady: true }],
      ["of no conditions, that it is not ready", { status: { conditions: null } }, { isReady: false }],
      ["that it is out of service", taintedWith("node.kubernetes.io/out-of-service", "NoExecute"), { isOutOfService: true }],
      ["the same, whatever the effect", taintedWith("node.kubernetes.io/out-of-service", "NoSchedule"), { isOutOfService: true }],
      ["no other taint", taintedWith("node.kubernetes.io/unreachable", "NoExecute"), { isOutOfService: false }],
      ["CSI volumes in use, by driver and hashed handle", { status: { volumesInUse } }, { attached: inUse }],
      ["those that are attached, too, each once", { status: { volumesInUse, volumesAttached } }, { attached: [...inUse, ...attached] }],
    ],
  )("is %s", (_, object, kept) => {
    const plain = { key: "n1", ...identity, isReady: false, isUnreachable: false, isOutOfService: false };

    expect(projectNode({ metadata, spec: {}, ...object })).toEqual({ ...plain, ...kept });
  });

  it.each([{}, null, { metadata: {} }, { metadata, spec: { taints: "none" } }])("is nothing of %j", (object) => {
    expect(() => projectNode(object)).toThrow();
  });
});
