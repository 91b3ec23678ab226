import { describe, expect, it } from "vitest";
import { claimsOf, type Directory } from "../../../../aggregator/core/attribution.ts";
import type { Pod, Volume } from "../../../../aggregator/core/cluster-objects.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import type { MountKind, VolumeIdentity } from "../../../../common/storage/volume-identity.ts";
import { claimWith, podWith, volumeWith } from "../world.ts";

const HASH = "a".repeat(64);

interface World {
  readonly volumes: readonly Volume[];
  readonly pods: readonly Pod[];
  readonly claims: readonly Claim[];
}

function directoryOf({ volumes, pods, claims }: World): Directory {
  return {
    claim: (key) => claims.find((claim) => claim.key === key),
    volumeByName: (name) => volumes.find(({ key }) => key === name),
    volumesByHandle: (driver, handleHash) =>
      volumes.filter(({ csi }) => csi?.driver === driver && csi.handleHash === handleHash),
    podByUid: (uid) => pods.find((pod) => pod.uid === uid),
    knewClaim: (podUid, { key, uid }) => {
      const pod = pods.find((one) => one.uid === podUid);
      return pod !== undefined && claims.some((claim) => claim.key === key && claim.uid === uid);
    },
  };
}

const byName: VolumeIdentity = { by: "name", name: "pv-1" };
const byHandle: VolumeIdentity = { by: "handle", driver: "csi.example", handleHash: HASH };
const csi = { driver: "csi.example", handleHash: HASH };
const other = volumeWith({ key: "pv-2", uid: "volume-2", csi, claim: { key: "lab/copy", uid: "claim-2" } });
const scratch = claimWith({ name: "web-0-scratch", key: "shop/web-0-scratch" });
const scratchVolume = volumeWith({ claim: { key: "shop/web-0-scratch", uid: "claim-1" } });
const ephemeralPod = podWith({ claims: ["web-0-scratch"], ephemeralClaims: ["web-0-scratch"] });

describe("claimsOf", () => {
  it.each<{
    readonly name: string;
    readonly volume?: VolumeIdentity;
    readonly podUid?: string | undefined;
    readonly volumes?: readonly Volume[];
    readonly pods?: readonly Pod[];
    readonly known?: readonly Claim[];
    readonly kind?: MountKind;
    readonly beganByMs?: number;
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
      name: "a mount called like a hostPath volume belongs to nobody, though its pod names the claim: that one shows none",
      volumes: [volumeWith({ isHostPath: true })],
      kind: "pod",
      claims: [],
    },
    {
      name: "a part of a hostPath volume that is mounted belongs to its claim",
      volumes: [volumeWith({ isHostPath: true })],
      kind: "subpath",
      claims: ["claim-1"],
    },
    {
      name: "a claim of the same name in another namespace is another claim",
      pods: [podWith({ key: "lab/web-0" })],
      claims: [],
    },
    {
      name: "an inline volume called like a foreign volume, of a pod that is not known, may be the claim's",
      pods: [podWith({ uid: "pod-2", claims: [] })],
      claims: ["claim-1"],
    },
    {
      name: "a claim that is not listed yet may be the one that its volume names",
      known: [],
      claims: ["claim-1"],
    },
    {
      name: "a claim that was re-created under its name is not the one that the volume was bound to",
      known: [claimWith({ uid: "claim-2", volume: "pv-2" })],
      claims: ["claim-1"],
    },
    {
      name: "a volume that was made again under its name and is bound to another claim is that claim's",
      volumes: [volumeWith({ uid: "volume-2", claim: { key: "shop/data", uid: "claim-2" } })],
      known: [claimWith({ uid: "claim-2" })],
      claims: ["claim-2"],
    },
    {
      name: "a volume that was bound to another claim meanwhile is that claim's",
      volumes: [volumeWith({ claim: { key: "shop/next", uid: "claim-2" } })],
      pods: [],
      claims: ["claim-2"],
    },
    {
      name: "a volume whose claim is bound to another volume belongs to nobody",
      known: [claimWith({ volume: "pv-2" })],
      claims: [],
    },
    {
      name: "of two volumes with one handle a pod's mount tells by the name which one it is",
      volumes: [volumeWith({ csi }), other],
      claims: ["claim-1"],
    },
    {
      name: "an in-tree volume that a CSI driver has taken over is found by its name in the pod's directory",
      volumes: [volumeWith({ csi: { driver: "ebs.csi.aws.com", handleHash: HASH } })],
      claims: ["claim-1"],
    },
    {
      name: "an in-tree volume whose translated handle is known is found by its staging mount",
      volume: { ...byHandle, driver: "ebs.csi.aws.com" },
      volumes: [volumeWith({ csi: { driver: "ebs.csi.aws.com", handleHash: HASH } })],
      claims: ["claim-1"],
    },
    {
      name: "an in-tree volume whose translated handle is not known is not found by its staging mount",
      volume: { ...byHandle, driver: "pd.csi.storage.gke.io" },
      volumes: [volumeWith()],
      claims: [],
    },
    {
      name: "a generic ephemeral volume is its claim's where the pod controls that",
      volumes: [scratchVolume],
      pods: [ephemeralPod],
      known: [{ ...scratch, controllerUid: "pod-1" }],
      claims: ["claim-1"],
    },
    {
      name: "a generic ephemeral volume is nobody's where another controls the claim of that name",
      volumes: [scratchVolume],
      pods: [ephemeralPod],
      known: [{ ...scratch, controllerUid: "pod-0" }],
      claims: [],
    },
    {
      name: "a generic ephemeral volume is nobody's where the claim of that name is somebody's own",
      volumes: [scratchVolume],
      pods: [ephemeralPod],
      known: [scratch],
      claims: [],
    },
    {
      name: "a generic ephemeral volume may be its claim's as long as that is not listed",
      volumes: [scratchVolume],
      pods: [ephemeralPod],
      known: [],
      claims: ["claim-1"],
    },
    {
      name: "a use whose volume seems to be bound only since then is this claim's: anybody who may write its status can say so",
      volumes: [volumeWith({ phaseSinceMs: 9_000_000 })],
      pods: [],
      beganByMs: 4_999,
      claims: ["claim-1"],
    },
    {
      name: "a pod that is there with the claim proves whose its use is, whatever clocks say",
      known: [claimWith({ createdAtMs: 9_000_000 })],
      beganByMs: 1,
      claims: ["claim-1"],
    },
    {
      name: "so it does when it is over",
      known: [claimWith({ createdAtMs: 9_000_000 })],
      beganByMs: 1,
      byMs: 2,
      claims: ["claim-1"],
    },
    {
      name: "a use that was over before the claim was made was an earlier claim's",
      pods: [],
      known: [claimWith({ createdAtMs: 10_000 })],
      beganByMs: 5_000,
      byMs: 9_999,
      claims: [],
    },
    {
      name: "a use that goes on and began before the claim was made was an earlier claim's",
      pods: [],
      known: [claimWith({ createdAtMs: 10_000 })],
      beganByMs: 4_999,
      claims: [],
    },
    {
      name: "a use that goes on and began so shortly before the claim was made that another server's clock may tell may be this claim's",
      pods: [],
      known: [claimWith({ createdAtMs: 10_000 })],
      beganByMs: 5_000,
      claims: ["claim-1"],
    },
    {
      name: "a use that was over in the second in which the claim was made may be this claim's",
      pods: [],
      known: [claimWith({ createdAtMs: 10_000 })],
      beganByMs: 5_000,
      byMs: 10_000,
      claims: ["claim-1"],
    },
    {
      name: "a use of which it is not known when it began may be this claim's",
      pods: [],
      known: [claimWith({ createdAtMs: 9_000_000 })],
      claims: ["claim-1"],
    },
    {
      name: "a staging mount is its present claim's, however old it is",
      volume: byHandle,
      volumes: [volumeWith({ csi }), other],
      known: [claimWith({ createdAtMs: 9_000_000 })],
      beganByMs: 1,
      claims: ["claim-1", "claim-2"],
    },
  ])("$name", ({ volume = byName, podUid = "pod-1", beganByMs, byMs, kind, claims, ...row }) => {
    const { volumes = [volumeWith()], pods = [podWith()], known = [claimWith()] } = row;
    const fact = { volume, podUid: volume.by === "handle" ? undefined : podUid, beganByMs, byMs, kind };

    const found = claimsOf(fact, directoryOf({ volumes, pods, claims: known }));

    expect(found.map(({ uid }) => uid)).toEqual(claims);
  });
});
