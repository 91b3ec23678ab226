import { describe, expect, it } from "vitest";
import { claimsOf, type Directory } from "../../../../aggregator/core/attribution.ts";
import type { Pod, Volume } from "../../../../aggregator/core/cluster-objects.ts";
import type { VolumeIdentity } from "../../../../common/storage/volume-identity.ts";
import { podWith, volumeWith } from "../world.ts";

const HASH = "a".repeat(64);

function directoryOf(volumes: readonly Volume[], pods: readonly Pod[]): Directory {
  return {
    volumeByName: (name) => volumes.find(({ key }) => key === name),
    volumesByHandle: (driver, handleHash) =>
      volumes.filter(({ csi }) => csi?.driver === driver && csi.handleHash === handleHash),
    podByUid: (uid) => pods.find((pod) => pod.uid === uid),
  };
}

const byName: VolumeIdentity = { by: "name", name: "pv-1" };
const byHandle: VolumeIdentity = { by: "handle", driver: "csi.example", handleHash: HASH };
const csi = { driver: "csi.example", handleHash: HASH };
const other = volumeWith({ key: "pv-2", csi, claim: { key: "lab/copy", uid: "claim-2" } });

describe("claimsOf", () => {
  it.each<{
    readonly name: string;
    readonly volume?: VolumeIdentity;
    readonly podUid?: string | undefined;
    readonly volumes?: readonly Volume[];
    readonly pods?: readonly Pod[];
    readonly byMs?: number;
    readonly claims: readonly string[];
  }>([
    { name: "a volume by its name belongs to the claim that its claimRef names by UID", claims: ["claim-1"] },
    { name: "a volume that is not known belongs to nobody", volumes: [], claims: [] },
    { name: "a volume without a claim belongs to nobody", volumes: [volumeWith({ claim: undefined })], claims: [] },
    {
      name: "a staging mount belongs to the volume with that driver and handle",
      volume: byHandle,
      podUid: undefined,
      volumes: [volumeWith({ csi })],
      claims: ["claim-1"],
    },
    {
      name: "one handle in several volumes belongs to all their claims",
      volume: byHandle,
      podUid: undefined,
      volumes: [volumeWith({ csi }), other],
      claims: ["claim-1", "claim-2"],
    },
    {
      name: "the same handle of another driver is another volume",
      volume: { ...byHandle, driver: "csi.other" },
      podUid: undefined,
      volumes: [volumeWith({ csi })],
      claims: [],
    },
    {
      name: "a device that only an in-tree plugin has a name for belongs to nobody",
      volume: { by: "device", plugin: "fc", path: "pv-1" },
      claims: [],
    },
    { name: "a pod that is not known may have named the claim", pods: [], claims: ["claim-1"] },
    {
      name: "an inline volume called like a foreign volume belongs to nobody",
      pods: [podWith({ claims: [] })],
      claims: [],
    },
    {
      name: "a claim of the same name in another namespace is another claim",
      pods: [podWith({ key: "lab/web-0" })],
      claims: [],
    },
    {
      name: "a use that ended before the volume was bound was an earlier claim's",
      volumes: [volumeWith({ boundSinceMs: 5_000 })],
      byMs: 4_999,
      claims: [],
    },
    {
      name: "a use that ended in the second of the binding may be this claim's",
      volumes: [volumeWith({ boundSinceMs: 5_000 })],
      byMs: 5_000,
      claims: ["claim-1"],
    },
    {
      name: "a mount that is still there is this claim's, whenever it began",
      volumes: [volumeWith({ boundSinceMs: 5_000 })],
      claims: ["claim-1"],
    },
  ])("$name", ({ volume = byName, podUid = "pod-1", volumes = [volumeWith()], pods = [podWith()], byMs, claims }) => {
    const fact = { volume, podUid: volume.by === "handle" ? undefined : podUid, ...(byMs && { byMs }) };

    const found = claimsOf(fact, directoryOf(volumes, pods));

    expect(found.map(({ uid }) => uid)).toEqual(claims);
  });
});
