import { afterEach, describe, expect, it } from "vitest";
import type { Claim } from "../../../../common/storage/claim.ts";
import type { NodeReport } from "../../../../common/storage/node-report.ts";
import { Harness, type HarnessOptions } from "../harness.ts";
import { claimWith, mountedVolumeOf, NOON, nodeWith, podWith, reportWith, volumeWith } from "../world.ts";

const csi = { driver: "d", handleHash: "h".repeat(64) };
const deletion = { askedAtMs: NOON };

let harnesses: Harness[] = [];
let generation = 0;

function reportAt({ clock }: Harness, mountedVolumes: NodeReport["mountedVolumes"], node = "n1"): NodeReport {
  const endedAt = clock.monotonicMs();
  generation += 1;
  return reportWith({ node, scan: { beganAt: endedAt - 1, endedAt }, generation, observedSince: 1, mountedVolumes });
}

/** A claim that n1 has mounted, and that is being deleted; its pod is gone. */
async function deletedWhileMounted(options: HarnessOptions, fields: Partial<Claim> = {}): Promise<Harness> {
  const harness = new Harness({
    claims: [claimWith()],
    volumes: [volumeWith({ csi })],
    nodes: [nodeWith("n1")],
    ...options,
  });
  harnesses.push(harness);
  await harness.start();
  await harness.report(reportAt(harness, [mountedVolumeOf("pod-1")]));
  const { status, resourceVersion } = harness.stored.get("shop/data") ?? expect.fail("it is not stored");
  await harness.putClaim(claimWith({ status, resourceVersion, isDeleting: true, deletion, ...fields }));
  return harness;
}

/** The claim is gone. */
async function gone(harness: Harness): Promise<void> {
  const claim = harness.stored.get("shop/data") ?? expect.fail("it is not stored");
  harness.stored.delete(claim.key);
  harness.cluster.byKey.delete(claim.key);
  harness.reconciler.onClaimGone(claim);
  await harness.advance(0);
}

afterEach(async () => {
  await Promise.all(harnesses.map((harness) => harness.stop()));
  harnesses = [];
});

describe("a deleted claim that a node has mounted", () => {
  it("is told of with node and pod, once, after thirty seconds", async () => {
    const harness = await deletedWhileMounted({ protection: "enforce" });

    await harness.advance(29_000);
    const early = [...harness.warnings];
    await harness.advance(3_600_000);

    expect(early).toEqual([]);
    expect(harness.warnings).toEqual([{ kind: "deletion-held", mounts: [{ node: "n1", pod: "pod-1" }] }]);
    const { held } = harness.reconciler.deletions;
    expect([held.size, held.isHeld(claimWith()), held.isHeld(claimWith({ uid: "another" }))]).toEqual([1, true, false]);
  });

  it("is not told of while a pod that has finished is still there: Kubernetes keeps it", async () => {
    const harness = await deletedWhileMounted({ protection: "enforce" });
    await harness.putPod(podWith({ isTerminal: true }));
    await harness.advance(60_000);
    const before = [...harness.warnings];

    await harness.removePod("pod-1", "400");
    await harness.advance(60_000);

    expect([before, harness.warnings.length]).toEqual([[], 1]);
  });

  it.each([
    { name: "the volume is not protected", protection: "off", override: undefined, cause: "not-enforced" },
    { name: "that is only recorded", protection: "audit", override: undefined, cause: "not-enforced" },
    { name: "who may had it let go", protection: "enforce", override: "lost", cause: "override" },
    { name: "somebody else took its finalizer", protection: "enforce", override: undefined, cause: "unexpected" },
  ] as const)("that is gone since $name is told of once, and counted", async ({ protection, override, cause }) => {
    const harness = await deletedWhileMounted({ protection }, { deletion: { ...deletion, override } });
    const mounts = [{ node: "n1", pod: "pod-1" }];

    await gone(harness);
    await harness.advance(5_000);
    await harness.report(reportAt(harness, [mountedVolumeOf("pod-1")]));
    await harness.advance(3_600_000);

    const removed = harness.warnings.filter(({ kind }) => kind === "removed-while-mounted");
    expect(removed).toEqual([{ kind: "removed-while-mounted", mounts, cause }]);
    expect(harness.removals).toEqual([cause]);
  });

  it.each([
    { name: "its unmount is reported a moment later", mountedVolumes: [], isHeard: true },
    {
      name: "another pod has the volume mounted since",
      mountedVolumes: [{ ...mountedVolumeOf("pod-2"), since: 1e9 }],
      isHeard: true,
    },
    { name: "its node reports no more", mountedVolumes: [], isHeard: false },
  ])("that is gone is not told of when $name", async ({ mountedVolumes, isHeard }) => {
    const harness = await deletedWhileMounted({ protection: "audit" });
    await harness.advance(1_000);

    await gone(harness);
    await harness.advance(1_000);
    const since = harness.clock.monotonicMs() - 1;
    const moved = mountedVolumes.map((mountedVolume) => ({ ...mountedVolume, since }));
    if (isHeard) await harness.report(reportAt(harness, moved));
    await harness.advance(3_600_000);

    expect([harness.warnings, harness.removals]).toEqual([[], []]);
  });

  it("and that is staged when it is gone is told of, too", async () => {
    const staging = { ...mountedVolumeOf(undefined), volume: { by: "handle", ...csi } } as const;
    const harness = await deletedWhileMounted({ protection: "audit" });
    await harness.report(reportAt(harness, [staging]));

    await gone(harness);
    await harness.advance(5_000);
    await harness.report(reportAt(harness, [staging]));
    await harness.advance(20_000);

    expect(harness.warnings).toMatchObject([{ mounts: [{ node: "n1", pod: undefined }], cause: "not-enforced" }]);
  });
});
