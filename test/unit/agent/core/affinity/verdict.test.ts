import { describe, expect, it } from "vitest";
import type { AffinityFacts, LivePod, LiveVolume, VolumeFacts } from "../../../../../agent/core/affinity/facts.ts";
import { affinityVerdict, misplacedVolumes } from "../../../../../agent/core/affinity/verdict.ts";
import {
  ATTACHED,
  claimWith,
  containerWith,
  FAILED,
  factsWith,
  inZone,
  MISSING,
  mountedBy,
  mountsWith,
  nodeWith,
  podWith,
  pvWith,
  read,
  staged,
  volumeFactsWith,
  volumeWith,
} from "./facts.ts";

/** A second volume of the pod: its own claim and PV, on a local disk. */
function second(pv: Partial<LiveVolume> = {}, changes: Partial<VolumeFacts> = {}): VolumeFacts {
  const claimRef = { namespace: "shop", name: "logs-0", uid: "claim-2" };
  return {
    volume: volumeWith({ name: "logs", claim: "logs-0" }),
    claim: read(claimWith({ name: "logs-0", uid: "claim-2", volume: "pv-2" })),
    pv: read(pvWith({ name: "pv-2", claimRef, source: { kind: "in-tree", plugin: "local" }, ...pv })),
    driver: undefined,
    ...changes,
  };
}

function bothVolumes(volumes: readonly VolumeFacts[], changes: Partial<AffinityFacts> = {}): AffinityFacts {
  return factsWith({ pod: read(podWith({ volumes: volumes.map(({ volume }) => volume) })), volumes, ...changes });
}

const right = volumeFactsWith({ pv: read(pvWith({ nodeAffinity: inZone("a") })) });
const wrong = volumeFactsWith();
const here = { nodeAffinity: inZone("a") };

describe("a pod", () => {
  it.each<{ name: string; facts: AffinityFacts; kind: string }>([
    { name: "with a volume that excludes the node is rejected", facts: factsWith(), kind: "reject" },
    { name: "with a wrong and a right one is rejected", facts: bothVolumes([wrong, second(here)]), kind: "reject" },
    {
      name: "that has mounted the right one already is rejected for the wrong one",
      facts: bothVolumes([wrong, second(here)], { mounts: mountsWith(mountedBy("pod-1", "pv-2")) }),
      kind: "reject",
    },
    { name: "with two wrong ones is rejected", facts: bothVolumes([wrong, second()]), kind: "reject" },
    {
      name: "with one that is wrong and one that is wrong but attached is rejected",
      facts: bothVolumes([wrong, second()], { node: read(nodeWith({ volumesAttached: [ATTACHED] })) }),
      kind: "reject",
    },
    {
      name: "with a wrong volume and an unknown one is not rejected",
      facts: bothVolumes([wrong, second({}, { pv: FAILED })]),
      kind: "unknown",
    },
    {
      name: "with a wrong volume and an unused one is rejected, whatever is unknown of the unused one",
      facts: bothVolumes([
        wrong,
        second({}, { volume: volumeWith({ name: "logs", claim: "logs-0", isMounted: false }), claim: FAILED }),
      ]),
      kind: "reject",
    },
    { name: "with a right volume is not rejected", facts: bothVolumes([right]), kind: "allow" },
    {
      name: "without a claim is not rejected",
      facts: factsWith({ pod: read(podWith({ volumes: [] })), volumes: [] }),
      kind: "allow",
    },
    {
      name: "that uses none of its claims runs on any node",
      facts: bothVolumes([volumeFactsWith({ volume: volumeWith({ isMounted: false }) })]),
      kind: "allow",
    },
    {
      name: "whose wrong volume is attached is reported",
      facts: factsWith({ node: read(nodeWith({ volumesAttached: [ATTACHED] })) }),
      kind: "attached",
    },
    {
      name: "whose wrong volume is staged is reported",
      facts: factsWith({ mounts: mountsWith(staged("pv-1")) }),
      kind: "attached",
    },
    {
      name: "that has its wrong volume mounted is not rejected",
      facts: factsWith({ mounts: mountsWith(mountedBy("pod-1")) }),
      kind: "allow",
    },
    { name: "that is gone is not rejected", facts: factsWith({ pod: MISSING }), kind: "allow" },
    { name: "that could not be read is unknown", facts: factsWith({ pod: FAILED }), kind: "unknown" },
    { name: "with a volume that was not read is unknown", facts: factsWith({ volumes: [] }), kind: "unknown" },
    {
      name: "with nothing but right volumes may be static",
      facts: bothVolumes([right], { pod: read(podWith({ isStatic: true })) }),
      kind: "allow",
    },
    {
      name: "with nothing but right volumes needs no mount table",
      facts: bothVolumes([right], { mounts: undefined }),
      kind: "allow",
    },
    {
      name: "is unknown before the mount table was read",
      facts: factsWith({ mounts: undefined }),
      kind: "unknown",
    },
    {
      name: "is unknown when a line of the mount table was damaged",
      facts: factsWith({ mounts: { ...mountsWith(), incomplete: "1 damaged lines" } }),
      kind: "unknown",
    },
    {
      name: "with a mounted volume in a damaged mount table is not rejected either",
      facts: factsWith({ mounts: { ...mountsWith(mountedBy("pod-1")), incomplete: "1 damaged lines" } }),
      kind: "unknown",
    },
    { name: "is unknown when another Node was read", facts: factsWith({ node: FAILED }), kind: "unknown" },
    {
      name: "is unknown when the Node was re-created",
      facts: factsWith({ node: read(nodeWith({ uid: "node-2" })) }),
      kind: "unknown",
    },
    {
      name: "is unknown when the Node has lost its labels",
      facts: factsWith({ node: read(nodeWith({ labels: {} })) }),
      kind: "unknown",
    },
  ])("$name", ({ facts, kind }) => {
    expect(affinityVerdict(facts).kind).toBe(kind);
  });

  it.each<{ name: string; pod: Partial<LivePod>; kind: string }>([
    { name: "that runs", pod: { phase: "Running", podIps: ["10.0.0.7"] }, kind: "allow" },
    { name: "with an IP", pod: { podIps: ["10.0.0.7"] }, kind: "allow" },
    {
      name: "whose image cannot be fetched",
      pod: { containers: [containerWith({ waitingReason: "ImagePullBackOff" })] },
      kind: "allow",
    },
    { name: "of another node", pod: { nodeName: "n2" }, kind: "allow" },
    { name: "that is static", pod: { isStatic: true }, kind: "unknown" },
    { name: "of an unknown phase", pod: { phase: "Dreaming" }, kind: "unknown" },
  ])("$name is not rejected, although its volume is wrong", ({ pod, kind }) => {
    const verdict = affinityVerdict(factsWith({ pod: read(podWith(pod)) }));

    expect(verdict.kind).toBe(kind);
    expect(misplacedVolumes(verdict).map(({ pv }) => pv)).toEqual(["pv-1"]);
  });

  it("has exactly those volumes misplaced that exclude its node", () => {
    const scans = [volumeFactsWith({ pv: FAILED }), second(here), second({}, { driver: FAILED })];

    const misplaced = scans.map((one) => misplacedVolumes(affinityVerdict(bothVolumes([one]))));

    expect(misplaced.map((volumes) => volumes.map(({ pv }) => pv))).toEqual([[], [], ["pv-2"]]);
  });
});

describe("the reason in a pod's verdict", () => {
  it.each([
    {
      name: "is each unknown",
      facts: factsWith({ node: MISSING, mounts: undefined }),
      why: "the Node object is missing; the mount table has not been read; volume data: the labels of the node are not known",
    },
    {
      name: "is why it is not rejected",
      facts: factsWith({ pod: read(podWith({ podIps: ["10.0.0.7"] })) }),
      why: "it has an IP, so its volumes are mounted",
    },
    { name: "is why it could not be read", facts: factsWith({ pod: FAILED }), why: "it could not be read: timed out" },
  ])("$name", ({ facts, why }) => {
    expect(affinityVerdict(facts).why).toBe(why);
  });

  it("has a finding for every volume in the pod's order", () => {
    const { volumes } = affinityVerdict(
      bothVolumes([second(here), wrong, second({}, { volume: volumeWith({ name: "x", isMounted: false }) })]),
    );

    expect(volumes.map(({ volume, finding }) => [volume.name, finding])).toEqual([
      ["logs", "right"],
      ["data", "wrong"],
      ["x", "unused"],
    ]);
  });
});
