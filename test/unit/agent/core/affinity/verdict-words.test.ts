import { describe, expect, it } from "vitest";
import type { LiveNode, LivePod, LiveRead } from "../../../../../agent/core/affinity/facts.ts";
import { nodeProblem, volumeWait } from "../../../../../agent/core/affinity/pod-conditions.ts";
import { volumeVerdict } from "../../../../../agent/core/affinity/volume-verdict.ts";
import {
  containerWith,
  driverWith,
  FAILED,
  factsWith,
  MISSING,
  nodeWith,
  podWith,
  read,
  staged,
  volumeWith,
} from "./facts.ts";
import { type Change, inTree, verdictOn } from "./volume-scenes.ts";

/** What operators read. Each sentence is behind the pod's name, or the volume's. */

describe("the reason of a pod that is not rejected", () => {
  it.each<{ pod: Partial<LivePod>; why: string }>([
    { pod: { nodeName: "n2" }, why: "it is not bound to this node" },
    { pod: { phase: "Running" }, why: "it runs" },
    { pod: { phase: "Succeeded" }, why: "it is over" },
    { pod: { isDeleting: true }, why: "it is being deleted" },
    { pod: { isGated: true }, why: "it has scheduling gates" },
    { pod: { podIps: ["10.0.0.7"] }, why: "it has an IP, so its volumes are mounted" },
    { pod: { readyToStartContainers: "True" }, why: "its sandbox is ready, so its volumes are mounted" },
    {
      pod: { containers: [containerWith({ name: "init", state: "running" })] },
      why: "container init is past being created, so its volumes are mounted",
    },
    { pod: { isStatic: true }, why: "it is a static pod, which the kubelet runs whatever the API server says" },
    { pod: { phase: "Unknown" }, why: "its phase is none that Mooring knows" },
    {
      pod: { isHostNetwork: true, podIps: ["192.0.2.1"] },
      why: "it uses the node's network, so that its IP does not tell whether its volumes are mounted",
    },
    { pod: { readyToStartContainers: "Unknown" }, why: "it is not known whether its sandbox is ready" },
    { pod: { containers: [containerWith({ state: "none" })] }, why: "the state of container app is not known" },
  ])("is: $why", ({ pod, why }) => {
    expect(volumeWait(podWith(pod), "n1")).toMatchObject({ why });
  });
});

describe("the reason of an unusable Node object", () => {
  const self = { nodeName: "n1", nodeUid: "node-1" };

  it.each<{ node: LiveRead<LiveNode>; nodeUid?: undefined; why: string }>([
    { node: MISSING, why: "the Node object is missing" },
    { node: FAILED, why: "the Node object could not be read: timed out" },
    { node: read(nodeWith({ name: "n2" })), why: "another Node object was read than the one of this node" },
    { node: read(nodeWith()), nodeUid: undefined, why: "the agent does not know its own Node object yet" },
    { node: read(nodeWith({ uid: "node-2" })), why: "the Node object was made again" },
    { node: read(nodeWith({ isDeleting: true })), why: "the Node object is being deleted" },
    {
      node: read(nodeWith({ createdAtMs: undefined })),
      why: "the Node object is not known to be older than the pod's binding",
    },
    { node: read(nodeWith({ labels: {} })), why: "the Node object has no labels" },
  ])("is: $why", ({ node, why, ...known }) => {
    expect(nodeProblem(node, podWith(), { ...self, ...known })).toBe(why);
  });
});

describe("the reason of an unknown volume", () => {
  const device = { by: "device", plugin: "iscsi", path: "lun-0" } as const;
  const wrong = 'it asks for zone In (b), the node has "a"; but ';

  it.each<{ change: Change; why: string }>([
    { change: { read: { volume: volumeWith({ name: "logs" }) } }, why: "nothing was read for it" },
    { change: { read: { claim: undefined } }, why: "claim data-0 was not read" },
    { change: { read: { claim: MISSING } }, why: "claim data-0 is missing" },
    { change: { claim: { name: "data-1" } }, why: "another claim was read than the pod names" },
    { change: { volume: { isEphemeral: true } }, why: "claim data-0 was not made for the pod" },
    { change: { claim: { isDeleting: true } }, why: "claim data-0 is being deleted" },
    { change: { claim: { volume: undefined } }, why: "claim data-0 is not bound" },
    { change: { pv: { name: "pv-2" } }, why: "another PV was read than the claim names" },
    { change: { pv: { claimRef: undefined } }, why: "PV pv-1 is not bound to the claim" },
    {
      change: { pv: inTree("cinder") },
      why: "its PV has a source for which the kubelet may translate the node affinity",
    },
    { change: { pv: { mode: "Block" } }, why: `${wrong}its PV's mode does not fit to how the pod uses it` },
    { change: { read: { driver: undefined } }, why: `${wrong}CSIDriver disk.example.com was not read` },
    {
      change: { read: { driver: read(driverWith({ name: "x" })) } },
      why: `${wrong}another CSIDriver was read than the PV names`,
    },
    {
      change: { pv: inTree("iscsi"), mountedVolumes: [staged(device)] },
      why: `${wrong}a mount of a device of the plugin iscsi may be its`,
    },
    {
      change: { pv: inTree("fc"), node: { volumesAttached: ["kubernetes.io/fc/50060e801049cfd1:0"] } },
      why: `${wrong}an attached fc volume may be it`,
    },
  ])("is: $why", ({ change, why }) => {
    expect(verdictOn(change)).toMatchObject({ finding: "unknown", why });
  });

  it.each([
    { csiNode: MISSING, why: "the CSINode object is missing" },
    { csiNode: read({ drivers: [] }), why: "driver disk.example.com is not registered on the node" },
  ])("is: $why", ({ csiNode, why }) => {
    expect(volumeVerdict(volumeWith(), podWith(), factsWith({ csiNode })).why).toBe(wrong + why);
  });

  it("is that it is staged", () => {
    expect(verdictOn({ mountedVolumes: [staged("pv-1")] }).why).toBe(`${wrong}it is staged on the node`);
  });
});
