import { describe, expect, it } from "vitest";
import type { ContainerState, LivePod } from "../../../../../agent/core/affinity/facts.ts";
import { mountsProblem, nodeProblem, volumeWait } from "../../../../../agent/core/affinity/pod-conditions.ts";
import { CREATED_MS, containerWith, FAILED, factsWith, MISSING, mountsWith, nodeWith, podWith, read } from "./facts.ts";

describe("a pod that is Pending on its node", () => {
  it.each<{ name: string; pod: Partial<LivePod>; kind: string }>([
    { name: "waits for its volumes", pod: {}, kind: "waits" },
    { name: "waits before the kubelet has written anything", pod: { containers: [] }, kind: "waits" },
    {
      name: "waits where the condition of its sandbox is missing",
      pod: { readyToStartContainers: undefined },
      kind: "waits",
    },
    { name: "with an IP does not wait", pod: { podIps: ["10.0.0.7"] }, kind: "not-waiting" },
    { name: "with a sandbox does not wait", pod: { readyToStartContainers: "True" }, kind: "not-waiting" },
    {
      name: "with a sandbox that may be ready may not wait",
      pod: { readyToStartContainers: "Unknown" },
      kind: "unknown",
    },
    {
      name: "on the node's network with its IP may wait",
      pod: { isHostNetwork: true, podIps: ["192.0.2.1"] },
      kind: "unknown",
    },
    {
      name: "on the node's network with a sandbox does not wait",
      pod: { isHostNetwork: true, podIps: ["192.0.2.1"], readyToStartContainers: "True" },
      kind: "not-waiting",
    },
    { name: "on the node's network without an IP waits", pod: { isHostNetwork: true }, kind: "waits" },
    { name: "of another node does not wait", pod: { nodeName: "n2" }, kind: "not-waiting" },
    { name: "that is not bound does not wait", pod: { nodeName: undefined }, kind: "not-waiting" },
    { name: "that is deleted does not wait", pod: { isDeleting: true }, kind: "not-waiting" },
    { name: "with a gate does not wait", pod: { isGated: true }, kind: "not-waiting" },
    { name: "that is static is unknown", pod: { isStatic: true }, kind: "unknown" },
  ])("$name", ({ pod, kind }) => {
    expect(volumeWait(podWith(pod), "n1").kind).toBe(kind);
  });

  it.each([
    { phase: "Running", kind: "not-waiting" },
    { phase: "Succeeded", kind: "not-waiting" },
    { phase: "Failed", kind: "not-waiting" },
    { phase: "Unknown", kind: "unknown" },
    { phase: "", kind: "unknown" },
    { phase: "pending", kind: "unknown" },
  ])("that becomes $phase changes its answer", ({ phase, kind }) => {
    expect(volumeWait(podWith({ phase }), "n1").kind).toBe(kind);
  });
});

describe("a container", () => {
  const begun = (changes: Partial<ContainerState>) => ({ changes, kind: "not-waiting" });

  it.each<{ name: string; changes: Partial<ContainerState>; kind: string }>([
    { name: "that is being created has not begun", changes: {}, kind: "waits" },
    {
      name: "that waits for init containers has not begun",
      changes: { waitingReason: "PodInitializing" },
      kind: "waits",
    },
    { name: "that runs has begun", ...begun({ state: "running", waitingReason: undefined }) },
    { name: "that is terminated has begun", ...begun({ state: "terminated", waitingReason: undefined }) },
    {
      name: "without its image has begun: a hostPath volume shows no mount",
      ...begun({ waitingReason: "ImagePullBackOff" }),
    },
    { name: "in ImagePullBackOff has begun", ...begun({ waitingReason: "ErrImagePull" }) },
    { name: "that lacks its configuration has begun", ...begun({ waitingReason: "CreateContainerConfigError" }) },
    { name: "in CrashLoopBackOff has begun", ...begun({ waitingReason: "CrashLoopBackOff" }) },
    { name: "with an unknown waiting reason has begun", ...begun({ waitingReason: "Pondering" }) },
    { name: "that ran before has begun", ...begun({ hasRun: true }) },
    { name: "that waits without a reason is unknown", changes: { waitingReason: undefined }, kind: "unknown" },
    { name: "that waits with an empty reason is unknown", changes: { waitingReason: "" }, kind: "unknown" },
    { name: "without a state is unknown", changes: { state: "none", waitingReason: undefined }, kind: "unknown" },
    { name: "with several states is unknown", changes: { state: "several" }, kind: "unknown" },
  ])("$name", ({ changes, kind }) => {
    for (const of of ["init", "main", "ephemeral"] as const) {
      const containers = [containerWith({ name: "first" }), containerWith({ kind: of, ...changes })];

      expect(volumeWait(podWith({ containers }), "n1").kind).toBe(kind);
    }
  });

  it("that has begun counts, whatever is unknown of another", () => {
    const containers = [containerWith({ state: "none" }), containerWith({ kind: "init", state: "running" })];

    expect(volumeWait(podWith({ containers }), "n1").kind).toBe("not-waiting");
  });
});

describe("the Node object", () => {
  const SELF = { nodeName: "n1", nodeUid: "node-1" };

  it("is usable when it is this node's, and older than the pod's binding", () => {
    expect(nodeProblem(read(nodeWith()), podWith(), SELF)).toBeUndefined();
  });

  it.each([
    { name: "it is missing", node: MISSING },
    { name: "it could not be read", node: FAILED },
    { name: "it is another node's", node: read(nodeWith({ name: "n2" })) },
    { name: "it was re-created", node: read(nodeWith({ uid: "node-2" })) },
    { name: "the agent does not know its own", node: read(nodeWith()), self: { nodeName: "n1", nodeUid: undefined } },
    { name: "it is being deleted", node: read(nodeWith({ isDeleting: true })) },
    { name: "it is younger than the binding", node: read(nodeWith({ createdAtMs: CREATED_MS + 1_000 })) },
    { name: "it is of the binding's second", node: read(nodeWith({ createdAtMs: CREATED_MS })) },
    { name: "it has no age", node: read(nodeWith({ createdAtMs: undefined })) },
    { name: "it is not known when the pod was bound", node: read(nodeWith()), pod: { boundAtMs: undefined } },
    { name: "it has lost its labels", node: read(nodeWith({ labels: {} })) },
    { name: "its labels are null", node: read(nodeWith({ labels: null })) },
    { name: "it has none", node: read(nodeWith({ labels: undefined })) },
  ])("is not usable when $name", ({ node, self = SELF, pod = {} }) => {
    expect(nodeProblem(node, podWith(pod), self)).toBeTypeOf("string");
  });
});

describe("the mount table", () => {
  it("proves an absence when it was read completely after everything else", () => {
    expect(mountsProblem(factsWith())).toBeUndefined();
    expect(mountsProblem(factsWith({ mounts: { ...mountsWith(), beganAt: 5_000 } }))).toBeUndefined();
  });

  it.each([
    { name: "it was not read", mounts: undefined },
    { name: "it was read before the objects", mounts: { ...mountsWith(), beganAt: 4_999 } },
    { name: "it was read at an unknown time", mounts: { ...mountsWith(), beganAt: Number.NaN } },
    { name: "a line of it was damaged", mounts: { ...mountsWith(), incomplete: "1 damaged lines" } },
  ])("proves no absence when $name", ({ mounts }) => {
    expect(mountsProblem(factsWith({ mounts }))).toBeTypeOf("string");
  });
});
