import { describe, expect, it } from "vitest";
import type { NodeMountedVolume } from "../../../../aggregator/core/node-view.ts";
import { identitiesOf, volumeUse } from "../../../../aggregator/core/volume-use.ts";
import type { VolumeIdentity } from "../../../../common/storage/volume-identity.ts";
import { NOON, viewWith } from "../world.ts";

const CSI = { driver: "csi.example", handleHash: "a".repeat(64) };
const HANDLE: VolumeIdentity = { by: "handle", ...CSI };

/** `pod-1:subpath` holds the PV by its name, `staging` by its handle. */
function mountedVolumeOf(text: string, volume?: VolumeIdentity): NodeMountedVolume {
  const stamps = { since: 0, beganByMs: NOON };
  if (text === "staging")
    return { kind: "staging", volume: volume ?? HANDLE, podUid: undefined, pod: undefined, ...stamps };
  const [podUid = "", kind] = text.split(":");
  const named = volume ?? { by: "name", name: "pv-1" };
  return { kind: kind === "subpath" ? "subpath" : "pod", volume: named, podUid, pod: `shop/${podUid}`, ...stamps };
}

function useOf(
  nodes: Readonly<Record<string, readonly NodeMountedVolume[]>>,
  isOwn: (mountedVolume: NodeMountedVolume) => boolean = () => true,
) {
  const views = Object.entries(nodes).map(([node, mountedVolumes]) => viewWith({ node, mountedVolumes }));
  const { held, staged } = volumeUse(views, identitiesOf("pv-1", CSI), isOwn);
  return { held: held.map(({ node, pods }) => `${node}: ${pods.map(({ uid }) => uid).join(" ")}`), staged };
}

describe("volumeUse", () => {
  it.each(
    // biome-ignore format: a row is a line
    [
      { name: "nothing where nobody holds it", nodes: { n1: [] }, held: [], staged: [] },
      { name: "a pod's mount", nodes: { n1: [mountedVolumeOf("p1")] }, held: ["n1: p1"], staged: [] },
      {
        name: "nodes by name, whichever reported first",
        nodes: {
          n2: [mountedVolumeOf("p2"), mountedVolumeOf("staging")],
          n1: [mountedVolumeOf("p1"), mountedVolumeOf("staging")],
        },
        held: ["n1: p1", "n2: p2"],
        staged: ["n1", "n2"],
      },
      {
        name: "a pod once, however many mounts it has",
        nodes: { n1: [mountedVolumeOf("p1"), mountedVolumeOf("p1:subpath"), mountedVolumeOf("p2")] },
        held: ["n1: p1 p2"],
        staged: [],
      },
      { name: "a staging mount, which is no use", nodes: { n1: [mountedVolumeOf("staging")] }, held: [], staged: ["n1"] },
      {
        name: "no other volume's mounts",
        nodes: {
          n1: [
            mountedVolumeOf("p1", { by: "name", name: "pv-2" }),
            mountedVolumeOf("staging", { by: "handle", driver: "csi.example", handleHash: "b".repeat(64) }),
            mountedVolumeOf("staging", { by: "handle", driver: "csi.other", handleHash: CSI.handleHash }),
            mountedVolumeOf("p1", { by: "device", plugin: "pv-1", path: "pv-1" }),
          ],
        },
        held: [],
        staged: [],
      },
    ],
  )("shows $name", ({ nodes, held, staged }) => {
    expect(useOf(nodes)).toEqual({ held, staged });
  });

  it("leaves out what is only called like it", () => {
    const nodes = { n1: [mountedVolumeOf("inline"), mountedVolumeOf("p1")] };

    expect(useOf(nodes, ({ podUid }) => podUid !== "inline").held).toEqual(["n1: p1"]);
  });

  it("goes by the name alone for a volume without a handle", () => {
    expect(identitiesOf("pv-1", undefined)).toEqual([{ by: "name", name: "pv-1" }]);
  });
});
