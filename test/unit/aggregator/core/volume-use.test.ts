import { describe, expect, it } from "vitest";
import type { NodeMountedVolume } from "../../../../aggregator/core/node-view.ts";
import { claimOfVolume, identitiesOf, mayMount, volumeUse } from "../../../../aggregator/core/volume-use.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import type { VolumeIdentity } from "../../../../common/storage/volume-identity.ts";
import { claimWith, NOON, podWith, viewWith, volumeWith } from "../world.ts";

const CSI = { driver: "csi.example", handleHash: "a".repeat(64) };
const HANDLE: VolumeIdentity = { by: "handle", ...CSI };

type Nodes = Readonly<Record<string, readonly NodeMountedVolume[]>>;

/** `pod-1:subpath` holds the PV by its name, `staging` by its handle. */
function mountedVolumeOf(text: string, volume?: VolumeIdentity): NodeMountedVolume {
  const stamps = { since: 0, beganByMs: NOON };
  if (text === "staging")
    return { kind: "staging", volume: volume ?? HANDLE, podUid: undefined, pod: undefined, ...stamps };
  const [podUid = "", kind] = text.split(":");
  const named = volume ?? { by: "name", name: "pv-1" };
  return { kind: kind === "subpath" ? "subpath" : "pod", volume: named, podUid, pod: `shop/${podUid}`, ...stamps };
}

function useOf(nodes: Nodes, isOwn: (mountedVolume: NodeMountedVolume) => boolean = () => true): string {
  const views = Object.entries(nodes).map(([node, mountedVolumes]) => viewWith({ node, mountedVolumes }));
  const { held, staged } = volumeUse(views, identitiesOf("pv-1", CSI), isOwn);
  const byPods = held.map(({ node, pods }) => `${node} by ${pods.map(({ uid }) => uid).join(" ")}`);
  return [...byPods, ...staged.map((node) => `staged on ${node}`)].join(", ");
}

describe("volumeUse", () => {
  const [p1, p2, staging] = [mountedVolumeOf("p1"), mountedVolumeOf("p2"), mountedVolumeOf("staging")];
  const others = [
    mountedVolumeOf("p1", { by: "name", name: "pv-2" }),
    mountedVolumeOf("staging", { by: "handle", driver: "csi.example", handleHash: "b".repeat(64) }),
    mountedVolumeOf("staging", { by: "handle", driver: "csi.other", handleHash: CSI.handleHash }),
    mountedVolumeOf("p1", { by: "device", plugin: "pv-1", path: "pv-1" }),
  ];
  const both = "n1 by p1, n2 by p2, staged on n1, staged on n2";
  it.each<readonly [name: string, nodes: Nodes, use: string]>([
    ["nothing where nobody holds it", { n1: [] }, ""],
    ["a pod's mount", { n1: [p1] }, "n1 by p1"],
    ["nodes by name, whichever reported first", { n2: [p2, staging], n1: [p1, staging] }, both],
    ["a pod once, however many mounts it has", { n1: [p1, mountedVolumeOf("p1:subpath"), p2] }, "n1 by p1 p2"],
    ["a staging mount, which is no use", { n1: [staging] }, "staged on n1"],
    ["no other volume's mounts", { n1: others }, ""],
  ])("shows %s", (_, nodes, use) => {
    expect(useOf(nodes)).toBe(use);
  });

  it("leaves out what is only called like it", () => {
    expect(useOf({ n1: [mountedVolumeOf("inline"), p1] }, ({ podUid }) => podUid !== "inline")).toBe("n1 by p1");
  });

  it("goes by the name alone for a volume without a handle", () => {
    expect(identitiesOf("pv-1", undefined)).toEqual([{ by: "name", name: "pv-1" }]);
  });
});

describe("the claim of a volume", () => {
  const volume = volumeWith({ claim: { key: "shop/data", uid: "claim-1" } });

  it.each<readonly [name: string, claim: Claim | undefined, isIts: boolean]>([
    ["the one that both name", claimWith({ volume: "pv-1" }), true],
    ["not one that was re-created", claimWith({ volume: "pv-1", uid: "claim-2" }), false],
    ["not one that names another volume", claimWith({ volume: "pv-2" }), false],
    ["nothing where it is gone", undefined, false],
  ])("is %s", (_, claim, isIts) => {
    expect(claimOfVolume(volume, () => claim)).toBe(isIts ? claim : undefined);
  });

  it("is nothing for a volume that names none", () => {
    expect(claimOfVolume(volumeWith({ claim: undefined }), () => claimWith({ volume: "pv-1" }))).toBeUndefined();
  });
});

describe("a mount with a volume's name", () => {
  const bound = volumeWith({ phase: "Bound", claim: { key: "shop/data", uid: "claim-1" } });
  const released = volumeWith({ phase: "Released", claim: { key: "shop/data", uid: "claim-1" } });
  const [data, other] = [["data"], ["inline", "other"]];

  it.each([
    { name: "an unknown pod's", volume: bound, claims: undefined, isOwn: true },
    { name: "a pod's that uses its claim", volume: bound, claims: data, isOwn: true },
    { name: "a pod's with an inline volume of that name", volume: bound, claims: other, isOwn: false },
    { name: "a pod's without claims", volume: released, claims: [], isOwn: false },
    { name: "a pod's whose claim is gone, of a released volume", volume: released, claims: other, isOwn: true },
    {
      name: "a pod's whose claim names it, of a released volume",
      volume: released,
      claims: ["other"],
      of: "pv-1",
      isOwn: true,
    },
    { name: "a pod's whose claim has another volume", volume: released, claims: ["other"], of: "pv-2", isOwn: false },
  ])("may be its own: $name", ({ volume, claims, of, isOwn }) => {
    const pod = claims && podWith({ claims });
    const find = (key: string): Claim | undefined => (of === undefined ? undefined : claimWith({ key, volume: of }));

    expect(mayMount(pod, volume, { claim: find })).toBe(isOwn);
  });
});
