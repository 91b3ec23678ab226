import { describe, expect, it } from "vitest";
import type { NodeHold } from "../../../../aggregator/core/node-view.ts";
import { identitiesOf, volumeUse } from "../../../../aggregator/core/volume-use.ts";
import type { VolumeIdentity } from "../../../../common/storage/volume-identity.ts";
import { NOON, viewWith } from "../world.ts";

const CSI = { driver: "csi.example", handleHash: "a".repeat(64) };
const HANDLE: VolumeIdentity = { by: "handle", ...CSI };

/** `pod-1:subpath` holds the PV by its name, `staging` by its handle. */
function holdOf(text: string, volume?: VolumeIdentity): NodeHold {
  const stamps = { since: 0, beganByMs: NOON };
  if (text === "staging")
    return { kind: "staging", volume: volume ?? HANDLE, podUid: undefined, pod: undefined, ...stamps };
  const [podUid = "", kind] = text.split(":");
  const named = volume ?? { by: "name", name: "pv-1" };
  return { kind: kind === "subpath" ? "subpath" : "pod", volume: named, podUid, pod: `shop/${podUid}`, ...stamps };
}

function useOf(nodes: Readonly<Record<string, readonly NodeHold[]>>, isOwn: (hold: NodeHold) => boolean = () => true) {
  const views = Object.entries(nodes).map(([node, holds]) => viewWith({ node, holds }));
  const { held, staged } = volumeUse(views, identitiesOf("pv-1", CSI), isOwn);
  return { held: held.map(({ node, pods }) => `${node}: ${pods.map(({ uid }) => uid).join(" ")}`), staged };
}

describe("volumeUse", () => {
  it.each([
    { name: "nothing where nobody holds it", nodes: { n1: [] }, held: [], staged: [] },
    { name: "a pod's mount", nodes: { n1: [holdOf("p1")] }, held: ["n1: p1"], staged: [] },
    {
      name: "nodes by name, whichever reported first",
      nodes: { n2: [holdOf("p2"), holdOf("staging")], n1: [holdOf("p1"), holdOf("staging")] },
      held: ["n1: p1", "n2: p2"],
      staged: ["n1", "n2"],
    },
    {
      name: "a pod once, however many mounts it has",
      nodes: { n1: [holdOf("p1"), holdOf("p1:subpath"), holdOf("p2")] },
      held: ["n1: p1 p2"],
      staged: [],
    },
    { name: "a staging mount, which is no use", nodes: { n1: [holdOf("staging")] }, held: [], staged: ["n1"] },
    {
      name: "no other volume's mounts",
      nodes: {
        n1: [
          holdOf("p1", { by: "name", name: "pv-2" }),
          holdOf("staging", { by: "handle", driver: "csi.example", handleHash: "b".repeat(64) }),
          holdOf("staging", { by: "handle", driver: "csi.other", handleHash: CSI.handleHash }),
          holdOf("p1", { by: "device", plugin: "pv-1", path: "pv-1" }),
        ],
      },
      held: [],
      staged: [],
    },
  ])("shows $name", ({ nodes, held, staged }) => {
    expect(useOf(nodes)).toEqual({ held, staged });
  });

  it("leaves out what is only called like it", () => {
    const nodes = { n1: [holdOf("inline"), holdOf("p1")] };

    expect(useOf(nodes, ({ podUid }) => podUid !== "inline").held).toEqual(["n1: p1"]);
  });

  it("goes by the name alone for a volume without a handle", () => {
    expect(identitiesOf("pv-1", undefined)).toEqual([{ by: "name", name: "pv-1" }]);
  });
});
