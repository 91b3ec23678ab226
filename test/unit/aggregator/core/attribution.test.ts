import { describe, expect, it } from "vitest";
import { claimsOf, type Directory, type Fact } from "../../../../aggregator/core/attribution.ts";
import type { Pod, Volume } from "../../../../aggregator/core/cluster-objects.ts";
import { type InTreeSource, migratedHandle } from "../../../../aggregator/core/migrated-volumes.ts";
import { claimKeysOf, mayUse, refersTo } from "../../../../aggregator/core/references.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import type { VolumeIdentity } from "../../../../common/storage/volume-identity.ts";
import { claimWith, podWith, volumeWith } from "../world.ts";

const HASH = "a".repeat(64);

interface World {
  readonly volumes?: readonly Volume[];
  readonly pods?: readonly Pod[];
  readonly claims?: readonly Claim[];
}

/** The volume `pv-1` with the claim and the pod that names it, unless a row says something else. */
function directoryOf({ volumes = [volumeWith()], pods = [podWith()], claims = [claimWith()] }: World): Directory {
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

const handle: VolumeIdentity = { by: "handle", driver: "csi.example", handleHash: HASH };
const csi = { driver: "csi.example", handleHash: HASH };
const withHandle = volumeWith({ csi });
const other = volumeWith({ key: "pv-2", uid: "volume-2", csi, claim: { key: "lab/copy", uid: "claim-2" } });
const hostPath = volumeWith({ isHostPath: true });
const NO_POD = { pods: [] };
const madeAt = (createdAtMs: number) => ({ claims: [claimWith({ createdAtMs })] });
const boundLater = { volumes: [volumeWith({ phaseSinceMs: 9_000_000 })], ...NO_POD };
const young = madeAt(9_000_000);
const at10s = { ...madeAt(10_000), ...NO_POD };
const scratch = claimWith({ name: "web-0-scratch" });
/** A generic ephemeral volume of `pod-1`, whose claim belongs to another pod, or to nobody. */
const ephemeral = (...claims: readonly Claim[]) => ({
  volumes: [volumeWith({ claim: { key: "shop/web-0-scratch", uid: "claim-1" } })],
  pods: [podWith({ claims: ["web-0-scratch"], ephemeralClaims: ["web-0-scratch"] })],
  claims,
});

describe("claimsOf", () => {
  it.each<readonly [name: string, world: World, fact: Partial<Fact>, claims: string]>(
    // biome-ignore format: a row is a line
    [
      ["a volume by its name belongs to the claim that its claimRef names by UID", {}, {}, "claim-1"],
      ["a volume that is not known belongs to nobody", { volumes: [] }, {}, ""],
      ["a volume without a claim belongs to nobody", { volumes: [volumeWith({ claim: undefined })] }, {}, ""],
      ["a pod that is not known may have named the claim", NO_POD, {}, "claim-1"],
      ["an inline volume called like a foreign volume belongs to nobody", { pods: [podWith({ claims: [] })] }, {}, ""],
      ["it may be the claim's where its pod is not known", { pods: [podWith({ uid: "pod-2", claims: [] })] }, {}, "claim-1"],
      ["a mount called like a hostPath volume belongs to nobody: that one shows none", { volumes: [hostPath] }, { kind: "pod" }, ""],
      ["a part of a hostPath volume that is mounted belongs to its claim", { volumes: [hostPath] }, { kind: "subpath" }, "claim-1"],
      ["a claim that is not listed yet may be the one that its volume names", { claims: [] }, {}, "claim-1"],
      ["one made again under its name is another", { claims: [claimWith({ uid: "claim-2", volume: "pv-2" })] }, {}, "claim-1"],
      ["a volume whose claim is bound to another volume belongs to nobody", { claims: [claimWith({ volume: "pv-2" })] }, {}, ""],
      ["a generic ephemeral volume is its claim's where the pod controls that", ephemeral({ ...scratch, controllerUid: "pod-1" }), {}, "claim-1"],
      ["it is nobody's where another controls the claim of that name", ephemeral({ ...scratch, controllerUid: "pod-0" }), {}, ""],
      ["it is nobody's where that claim is somebody's own", ephemeral(scratch), {}, ""],
      ["one that seems bound since is its claim's: anybody can say so", boundLater, { beganByMs: 4_999 }, "claim-1"],
      ["a pod that is there with the claim proves whose its use is, whatever clocks say", young, { beganByMs: 1 }, "claim-1"],
      ["it does so when it is over", young, { beganByMs: 1, byMs: 2 }, "claim-1"],
      ["a use that was over before the claim was made was an earlier claim's", at10s, { beganByMs: 5_000, byMs: 9_999 }, ""],
      ["a use that goes on and began before it was made was an earlier claim's", at10s, { beganByMs: 4_999 }, ""],
      ["one that began so shortly before may be this claim's by another clock", at10s, { beganByMs: 5_000 }, "claim-1"],
      ["one that was over in the second in which it was made may be its own", at10s, { beganByMs: 5_000, byMs: 10_000 }, "claim-1"],
      ["a staging mount is its present claim's", { ...young, volumes: [withHandle, other] }, { volume: handle, beganByMs: 1 }, "claim-1 claim-2"],
    ],
  )("%s", (...[, world, fact, claims]) => {
    const { volume = { by: "name", name: "pv-1" } } = fact;
    const podUid = volume.by === "handle" ? undefined : "pod-1";

    const found = claimsOf({ podUid, ...fact, volume }, directoryOf(world));

    expect(found.map(({ uid }) => uid).join(" ")).toBe(claims);
  });
});

describe("refersTo", () => {
  const ephemeral = { claims: ["data"], ephemeralClaims: ["data"] };

  it.each<{
    readonly name: string;
    readonly pod?: Partial<Pod>;
    readonly key?: string;
    readonly controllerUid?: string;
    readonly refers: boolean;
  }>(
    // biome-ignore format: a row is a line
    [
      { name: "a pod refers to the claim that it names", refers: true },
      { name: "nor to one of that name in another namespace", key: "lab/data", refers: false },
      { name: "an ephemeral volume refers to its pod's claim", pod: ephemeral, controllerUid: "pod-1", refers: true },
      { name: "an ephemeral volume does not to one that another controls", pod: ephemeral, controllerUid: "pod-0", refers: false },
    ],
  )("$name", ({ pod, key = "shop/data", controllerUid, refers }) => {
    expect(refersTo(podWith(pod), { key, controllerUid })).toBe(refers);
  });
});

describe("claimKeysOf", () => {
  it("claims are of the pod's own namespace", () => {
    expect(claimKeysOf(podWith({ claims: ["data", "web-0-scratch"] }))).toEqual(["shop/data", "shop/web-0-scratch"]);
  });
});

describe("mayUse", () => {
  const unplaced = podWith({ node: undefined });

  it.each([
    { name: "a pod may use the claim that it names", pod: unplaced, key: "shop/data", isDeleting: false, may: true },
    { name: "not another one", pod: unplaced, key: "shop/other", isDeleting: false, may: false },
    { name: "one that goes, where it is on a node", pod: podWith(), key: "shop/data", isDeleting: true, may: true },
    { name: "not one that goes while it is on none", pod: unplaced, key: "shop/data", isDeleting: true, may: false },
  ])("$name", ({ pod, key, isDeleting, may }) => {
    expect(mayUse(pod, { key, isDeleting })).toBe(may);
  });
});

const awsVolume = (volumeID: string): InTreeSource => ({ awsElasticBlockStore: { volumeID } });
const DISK = "/subscriptions/s/resourceGroups/g/disks/d";
const VMDK = "[ds] kubevols/d.vmdk";

describe("migratedHandle knows", () => {
  it.each<readonly [name: string, source: InTreeSource, handle: string | undefined]>([
    ["an EBS volume by its ID", awsVolume("vol-02399794d890f9375"), "ebs.csi.aws.com vol-02399794d890f9375"],
    ["an EBS volume by a URL without a zone", awsVolume("aws:///vol-02399794"), "ebs.csi.aws.com vol-02399794"],
    [
      "an EBS volume by a URL with its zone",
      awsVolume("aws://us-west-2a/vol-02399794"),
      "ebs.csi.aws.com vol-02399794",
    ],
    ["no EBS volume that upstream refuses to translate", awsVolume("aws://us-west-2a/02399794"), undefined],
    ["an Azure disk by its URI", { azureDisk: { diskURI: DISK } }, `disk.csi.azure.com ${DISK}`],
    ["a Cinder volume", { cinder: { volumeID: "c-1" } }, "cinder.csi.openstack.org c-1"],
    ["a vSphere disk by its path", { vsphereVolume: { volumePath: VMDK } }, `csi.vsphere.vmware.com ${VMDK}`],
    ["a Portworx volume by its ID", { portworxVolume: { volumeID: "p-1" } }, "pxd.portworx.com p-1"],
    ["no other source", {}, undefined],
  ])("%s", (_, source, handle) => {
    const found = migratedHandle(source);

    expect(found && `${found.driver} ${found.volumeHandle}`).toBe(handle);
  });
});
