import { describe, expect, it } from "vitest";
import type { Pod, Volume } from "../../../../aggregator/core/cluster-objects.ts";
import { ClaimValues, KeptClaim } from "../../../../aggregator/sources/kept-claim.ts";
import { KeptPod, PodValues } from "../../../../aggregator/sources/kept-pod.ts";
import { KeptVolume, VolumeValues } from "../../../../aggregator/sources/kept-volume.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import { mountedStatus, statusWith } from "../world.ts";

/** What a kept object says, field by field as it was told. */
function saidBy(kept: object, told: object): object {
  return Object.fromEntries(Object.keys(told).map((field) => [field, Reflect.get(kept, field)]));
}

const IDENTITY = { uid: "uid-1", resourceVersion: "300" };

const CLAIM: Claim = {
  ...IDENTITY,
  key: "shop/data",
  namespace: "shop",
  name: "data",
  phase: "Bound",
  isDeleting: false,
  createdAtMs: 1_795_262_400_000,
  controllerUid: undefined,
  volume: "pv-1",
  storageClass: "fast",
  capacity: "10Gi",
  status: undefined,
  strays: undefined,
  upstream: undefined,
};

const LAST_USE = {
  releaseId: "release-1",
  node: "n1",
  pod: "shop/web-0",
  podUid: "pod-1",
  releasedAtMs: 1_795_262_399_500,
  uncertaintyMs: undefined,
  evidence: "mount-table",
} as const;

const VOLUME: Volume & { readonly resourceVersion: string } = {
  ...IDENTITY,
  key: "pv-1",
  phase: "Bound",
  phaseSinceMs: 1_795_262_400_000,
  createdAtMs: 1_795_262_300_000,
  storageClass: "fast",
  capacity: "10Gi",
  reclaimPolicy: "Delete",
  claim: { key: "shop/data", uid: "claim-1" },
  csi: { driver: "csi.example", handleHash: "0a1b" },
  isHostPath: false,
  nodeAffinity: '{"nodeSelectorTerms":[]}',
  annotations: { mountedOn: "{}", lastUse: undefined },
};

const POD: Pod = {
  ...IDENTITY,
  key: "shop/web-0",
  node: "n1",
  claims: ["data"],
  ephemeralClaims: undefined,
  isTerminal: false,
  hasStarted: true,
  isAgent: undefined,
  createdAtMs: 1_795_262_400_000,
  deletedAtMs: undefined,
  rejection: undefined,
};

describe("a kept object says what was told", () => {
  const gap = { fromMs: 1_795_262_400_000, toMs: 1_795_262_401_000 };
  const stray = { annotation: "mooring.dev/last-use", fault: "unwanted", managers: ["kubectl"] } as const;
  it.each<{ readonly name: string; readonly change: Partial<Claim> }>([
    { name: "bound", change: {} },
    { name: "new", change: { phase: "Pending", volume: undefined, storageClass: undefined, capacity: undefined } },
    {
      name: "being deleted",
      change: { isDeleting: true, deletion: { askedAtMs: 1_795_262_400_000, override: "lost" } },
    },
    { name: "without a time", change: { createdAtMs: undefined } },
    { name: "made at no whole second", change: { createdAtMs: 1_795_262_400_123 } },
    { name: "of a generic ephemeral volume", change: { controllerUid: "pod-1" } },
    { name: "with a condition that nobody may believe", change: { isDisbelieved: true } },
    { name: "with strays", change: { strays: [stray] } },
    { name: "unused", change: { status: statusWith({ unused: true, reason: "Unmounted" }) } },
    { name: "mounted", change: { status: mountedStatus(["n1"]) } },
    {
      name: "unused since a use",
      change: { status: statusWith({ unused: true, reason: "Unmounted", lastUse: LAST_USE }) },
    },
    { name: "unused, and maybe used in a gap", change: { status: statusWith({ unused: true, blindGap: gap }) } },
    {
      name: "mounted, with a gap that somebody forged",
      change: { status: { ...mountedStatus(["n1"]), blindGap: gap } },
    },
    { name: "with Kubernetes' own condition", change: { upstream: { unused: true, sinceMs: 7, owner: "other" } } },
  ])("a claim, $name", ({ change }) => {
    const claim = { ...CLAIM, ...change };

    expect(saidBy(new KeptClaim(claim, new ClaimValues()), claim)).toEqual(claim);
  });

  it.each<{ readonly name: string; readonly change: Partial<Volume> }>([
    { name: "bound", change: {} },
    { name: "free", change: { phase: "Available", claim: undefined } },
    { name: "without a handle", change: { csi: undefined, isHostPath: true } },
    { name: "without times", change: { phaseSinceMs: undefined, createdAtMs: undefined } },
    { name: "bound at no whole second", change: { phaseSinceMs: 1_795_262_400_001, createdAtMs: -1 } },
    { name: "for anywhere", change: { nodeAffinity: undefined, storageClass: undefined, capacity: undefined } },
  ])("a volume, $name", ({ change }) => {
    const volume = { ...VOLUME, ...change };

    expect(saidBy(new KeptVolume(volume, new VolumeValues()), volume)).toEqual(volume);
  });

  it.each<{ readonly name: string; readonly change: Partial<Pod> }>([
    { name: "that names a claim", change: {} },
    { name: "that names none", change: { claims: [] } },
    { name: "that names several", change: { claims: ["data", "web-0-scratch"], ephemeralClaims: ["web-0-scratch"] } },
    { name: "of Mooring's agent", change: { isAgent: true } },
    { name: "that waits", change: { node: undefined, hasStarted: false, createdAtMs: undefined } },
    { name: "that is over", change: { isTerminal: true, rejection: { atMs: 7, level: 1 } } },
    { name: "that goes", change: { deletedAtMs: 1_795_262_400_000 } },
  ])("a pod $name", ({ change }) => {
    const pod = { ...POD, ...change };

    expect(saidBy(new KeptPod(pod, new PodValues()), pod)).toEqual(pod);
  });

  it("what many have in common is one: the nodes of claims that are mounted there", () => {
    const values = new ClaimValues();
    const [one, other] = ["a", "b"].map(
      (uid) => new KeptClaim({ ...CLAIM, uid, status: mountedStatus(["n1"]) }, values),
    );

    expect(other?.status?.mountedOn).toBe(one?.status?.mountedOn);
  });
});
