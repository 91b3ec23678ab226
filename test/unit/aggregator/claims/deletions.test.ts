import { afterEach, describe, expect, it } from "vitest";
import type { Claim } from "../../../../common/storage/claim.ts";
import type { Harness, HarnessOptions } from "../harness.ts";
import { running, stopHarnesses, storedClaim, tell, tellMounted } from "../running.ts";
import { claimWith, mountedVolumeOf, NOON, podWith, volumeWith } from "../world.ts";

const csi = { driver: "d", handleHash: "h".repeat(64) };
const deletion = { askedAtMs: NOON };
const MOUNTS = [{ node: "n1", pod: "pod-1" }];

afterEach(stopHarnesses);

/** A claim that n1 has mounted, and that is being deleted; its pod is gone. */
async function deletedWhileMounted(
  protection: NonNullable<HarnessOptions["protection"]>,
  fields: Partial<Claim> = {},
): Promise<Harness> {
  const harness = await running({ volumes: [volumeWith({ csi })], protection }, { silent: ["n1"] });
  await tellMounted(harness, ["pod-1"]);
  const { status, resourceVersion } = storedClaim(harness);
  await harness.putClaim(claimWith({ status, resourceVersion, isDeleting: true, deletion, ...fields }));
  return harness;
}

/** The claim is gone. */
async function gone(harness: Harness): Promise<void> {
  const claim = storedClaim(harness);
  harness.stored.delete(claim.key);
  harness.cluster.byKey.delete(claim.key);
  harness.reconciler.onClaimGone(claim);
  await harness.advance(0);
}

describe("a deleted claim that a node has mounted", () => {
  it("is told of with node and pod, once, after thirty seconds", async () => {
    const harness = await deletedWhileMounted("enforce");

    await harness.advance(29_000);
    const early = [...harness.warnings];
    await harness.advance(3_600_000);

    expect(early).toEqual([]);
    expect(harness.warnings).toEqual([{ kind: "deletion-held", mounts: MOUNTS }]);
    const { held } = harness.reconciler.deletions;
    expect([held.size, held.isHeld(claimWith()), held.isHeld(claimWith({ uid: "another" }))]).toEqual([1, true, false]);
  });

  it("is not told of while a pod that has finished is still there: Kubernetes keeps it", async () => {
    const harness = await deletedWhileMounted("enforce");
    await harness.putPod(podWith({ isTerminal: true }));
    await harness.advance(60_000);
    const before = [...harness.warnings];

    await harness.removePod("pod-1", "400");
    await harness.advance(60_000);

    expect([before, harness.warnings.length]).toEqual([[], 1]);
  });

  it.each([
    { name: "that is only recorded", protection: "audit", override: undefined, cause: "not-enforced" },
    { name: "who may had it let go", protection: "enforce", override: "lost", cause: "override" },
    { name: "somebody else took its finalizer", protection: "enforce", override: undefined, cause: "unexpected" },
  ] as const)("that is gone since $name is told of once, and counted", async ({ protection, override, cause }) => {
    const harness = await deletedWhileMounted(protection, { deletion: { ...deletion, override } });

    await gone(harness);
    await harness.advance(5_000);
    await tellMounted(harness, ["pod-1"]);
    await harness.advance(3_600_000);

    const removed = harness.warnings.filter(({ kind }) => kind === "removed-while-mounted");
    expect(removed).toEqual([{ kind: "removed-while-mounted", mounts: MOUNTS, cause }]);
    expect(harness.removals).toEqual([cause]);
  });

  it.each([
    { name: "its unmount is reported a moment later", pods: [] },
    { name: "another pod has the volume mounted since", pods: ["pod-2"] },
    { name: "its node reports no more", pods: undefined },
  ])("that is gone is not told of when $name", async ({ pods }) => {
    const harness = await deletedWhileMounted("audit");
    await harness.advance(1_000);

    await gone(harness);
    await harness.advance(1_000);
    const since = harness.clock.monotonicMs() - 1;
    if (pods !== undefined)
      await tell(harness, { mountedVolumes: pods.map((pod) => ({ ...mountedVolumeOf(pod), since })) });
    await harness.advance(3_600_000);

    expect([harness.warnings, harness.removals]).toEqual([[], []]);
  });

  it("and that is staged when it is gone is told of, too", async () => {
    const staging = { ...mountedVolumeOf(undefined), volume: { by: "handle", ...csi } } as const;
    const harness = await deletedWhileMounted("audit");
    await tell(harness, { mountedVolumes: [staging] });

    await gone(harness);
    await harness.advance(5_000);
    await tell(harness, { mountedVolumes: [staging] });
    await harness.advance(20_000);

    expect(harness.warnings).toMatchObject([{ mounts: [{ node: "n1", pod: undefined }], cause: "not-enforced" }]);
  });
});
