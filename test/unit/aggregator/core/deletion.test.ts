import { describe, expect, it } from "vitest";
import { causeOf, isKept, isStillMounted, type ProtectionMode } from "../../../../aggregator/core/deletion.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import { claimWith, mountedStatus, NOON, nodeMountedVolume, statusWith, viewWith } from "../world.ts";

const OVERRIDE = { askedAtMs: undefined, override: "broken node" };

describe("a claim that is being deleted", () => {
  const used: Partial<Claim> = { isDeleting: true, phase: "Bound", status: mountedStatus(["n1"]) };
  const unused = statusWith({ unused: true, reason: "Unmounted" });

  it.each<readonly [name: string, claim: Partial<Claim>, kept: boolean]>([
    ["in use", used, true],
    ["staged", { ...used, status: { ...unused, staged: "Staged on n1" } }, true],
    ["unused", { ...used, status: unused }, false],
    ["without a status", { ...used, status: undefined }, false],
    ["that is not bound", { ...used, phase: "Pending" }, false],
    ["that is not deleted", { ...used, isDeleting: false }, false],
  ])("is kept where the policy keeps it: %s", (_, claim, kept) => {
    expect(isKept(claimWith(claim))).toBe(kept);
  });

  it.each<readonly [mode: ProtectionMode, claim: Partial<Claim>, cause: string]>([
    ["off", { deletion: OVERRIDE }, "not-enforced"],
    ["audit", {}, "not-enforced"],
    ["enforce", { deletion: OVERRIDE }, "override"],
    ["enforce", { deletion: { askedAtMs: NOON } }, "unexpected"],
    ["enforce", {}, "unexpected"],
  ])("has a cause where it goes all the same: %s, %o", (mode, claim, cause) => {
    expect(causeOf(claimWith(claim), mode)).toBe(cause);
  });
});

describe("a volume whose claim is gone", () => {
  const [early, late] = [nodeMountedVolume("pod-1"), { ...nodeMountedVolume("pod-1"), beganByMs: NOON + 1 }];
  const isItsVolume = (volume: { readonly by: string; readonly name?: string }): boolean => volume.name === "pv-1";

  it.each<readonly [name: string, view: Parameters<typeof viewWith>[0], mounted: boolean | undefined]>([
    ["unknown before a scan since then", { mountedVolumes: [early], scanFromMs: NOON }, undefined],
    [
      "unknown where only the later bound of the scan is known",
      { scanFromMs: undefined, scanBeganMs: NOON },
      undefined,
    ],
    ["true where the scan shows it", { mountedVolumes: [early], scanFromMs: NOON + 1 }, true],
    [
      "true where it was mounted in that moment",
      { mountedVolumes: [{ ...early, beganByMs: NOON }], scanFromMs: NOON + 1 },
      true,
    ],
    ["false where it was mounted later", { mountedVolumes: [late], scanFromMs: NOON + 1 }, false],
    ["false for another volume", { mountedVolumes: [nodeMountedVolume("pod-1", "pv-2")], scanFromMs: NOON + 1 }, false],
    ["false where nothing is mounted", { scanFromMs: undefined, scanBeganMs: NOON + 1 }, false],
  ])("is still mounted: %s", (_, view, mounted) => {
    expect(isStillMounted({ isItsVolume, goneAtMs: NOON }, viewWith(view))).toBe(mounted);
  });
});
