import { describe, expect, it } from "vitest";
import { claimsOf, type Directory, type Fact, mayUse } from "../../../../aggregator/core/claims/attribution.ts";
import type { Pod, Volume } from "../../../../aggregator/core/cluster-objects.ts";
import { claimsToRemember, VanishedPods } from "../../../../aggregator/core/pod-watch/vanished-pods.ts";
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
  };
}

const handle: VolumeIdentity = { by: "handle", driver: "csi.example", handleHash: HASH };
const csi = { driver: "csi.example", handleHash: HASH };
const withHandle = volumeWith({ csi });
const other = volumeWith({ key: "pv-2", uid: "volume-2", csi, claim: { key: "lab/copy", uid: "claim-2" } });
const hostPath = volumeWith({ isHostPath: true });
const NO_POD = { pods: [] };
const boundLater = { volumes: [volumeWith({ phaseSinceMs: 9_000_000 })], ...NO_POD };
const at10s = { claims: [claimWith({ createdAtMs: 10_000 })] };
const scratch = claimWith({ name: "web-0-scratch" });
/** A generic ephemeral volume of `pod-1`, whose claim belongs to another pod, or to none. */
const ephemeral = (...claims: readonly Claim[]) => ({
  volumes: [volumeWith({ claim: { key: "shop/web-0-scratch", uid: "claim-1" } })],
  pods: [podWith({ claims: ["shop/web-0-scratch"], ephemeralClaims: ["shop/web-0-scratch"] })],
  claims,
});

describe("claimsOf", () => {
  it.each<readonly [name: string, world: World, fact: Partial<Fact>, claims: string]>(
    // biome-ignore format: a row is a line
    [
      ["a volume by its name belongs to the claim that its claimRef names by UID", {}, {}, "claim-1"],
      ["a volume that is not known belongs to no claim", { volumes: [] }, {}, ""],
      ["a volume without a claim belongs to no claim", { volumes: [volumeWith({ claim: undefined })] }, {}, ""],
      ["an inline volume called like a foreign volume belongs to no claim", { pods: [podWith({ claims: [] })] }, {}, ""],
      ["it may belong to the claim where its pod is not known", { pods: [podWith({ uid: "pod-2", claims: [] })] }, {}, "claim-1"],
      ["a mount called like a hostPath volume belongs to no claim: a hostPath shows no mount", { volumes: [hostPath] }, { kind: "pod" }, ""],
      ["a part of a hostPath volume that is mounted belongs to its claim", { volumes: [hostPath] }, { kind: "subpath" }, "claim-1"],
      ["a claim that is not listed yet may be the one that its volume names", { claims: [] }, {}, "claim-1"],
      ["a claim made again under its name is another one", { claims: [claimWith({ uid: "claim-2", volume: "pv-2" })] }, {}, "claim-1"],
      ["a volume whose claim is bound to another volume belongs to no claim", { claims: [claimWith({ volume: "pv-2" })] }, {}, ""],
      ["a generic ephemeral volume is its claim's where the pod controls that", ephemeral({ ...scratch, controllerUid: "pod-1" }), {}, "claim-1"],
      ["it belongs to no claim where another pod owns that claim", ephemeral(scratch), {}, ""],
      ["a use that was over before the claim was made was an earlier claim's", at10s, { byMs: 9_999 }, ""],
      ["one that was over in the second in which it was made may be its own", at10s, { byMs: 10_000 }, "claim-1"],
      ["it may be its own though the volume seems bound since: any client can write that", boundLater, { byMs: 4_999 }, "claim-1"],
      ["what is mounted is its present claim's, whichever pod mounted it", at10s, {}, "claim-1"],
      ["a staging mount is its present claim's", { volumes: [withHandle, other] }, { volume: handle }, "claim-1 claim-2"],
    ],
  )("%s", (...[, world, fact, claims]) => {
    const { volume = { by: "name", name: "pv-1" } } = fact;
    const podUid = volume.by === "handle" ? undefined : "pod-1";

    const found = claimsOf({ podUid, ...fact, volume }, directoryOf(world));

    expect(found.map(({ uid }) => uid).join(" ")).toBe(claims);
  });
});

describe("mayUse", () => {
  const unplaced = podWith({ node: undefined });

  it.each([
    { name: "a claim that goes, where it is on a node", pod: podWith(), may: true },
    { name: "none that goes while it is on none", pod: unplaced, may: false },
  ])("a pod may use $name", ({ pod, may }) => {
    expect(mayUse(pod, claimWith({ isDeleting: true }))).toBe(may);
  });
});

const keys = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `shop/claim-${index}`);

describe("claimsToRemember", () => {
  const isLast = (key: string) => key === "shop/claim-2999";
  it.each([
    { name: "all that there are, however many", claims: 3_000, isThere: () => true, kept: 3_000 },
    { name: "as many that there are not as a pod that ran may have", claims: 32, isThere: () => false, kept: 32 },
    { name: "no more than that of thousands that there are not", claims: 3_000, isThere: () => false, kept: 32 },
    { name: "each one that there is beside those", claims: 3_000, isThere: isLast, kept: 33 },
  ])("keeps $name", ({ claims, isThere, kept }) => {
    expect(claimsToRemember(keys(claims), isThere)).toHaveLength(kept);
  });
});

describe("pods that vanished", () => {
  it.each([
    { name: "in number", pods: 40_000, claims: [], forgotten: "pod-0", kept: ["pod-1", "pod-40000"] },
    { name: "with their claims", pods: 40, claims: keys(999), forgotten: "pod-0", kept: ["pod-1", "pod-39"] },
  ])("are bounded $name, and the latest are remembered", ({ pods, claims, forgotten, kept }) => {
    const vanished = new VanishedPods();

    for (let at = 0; at <= pods; at += 1) vanished.note(podWith({ uid: `pod-${at}`, claims }));

    expect(vanished.get(forgotten)).toBeUndefined();
    expect(kept.map((uid) => vanished.get(uid)?.uid)).toEqual(kept);
  });

  it("are one when they vanish twice", () => {
    const vanished = new VanishedPods();

    for (let time = 0; time < 50_000; time += 1) vanished.note(podWith({ uid: `pod-${Math.min(time, 1)}` }));

    expect(vanished.get("pod-0")?.uid).toBe("pod-0");
  });
});
