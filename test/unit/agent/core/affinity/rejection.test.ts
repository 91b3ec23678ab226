import { describe, expect, it } from "vitest";
import {
  type MisplacedVolume,
  misplacementText,
  rejectionPatch,
} from "../../../../../agent/core/affinity/rejection.ts";
import { REJECTED_ANNOTATION, rejectionMark } from "../../../../../common/storage/rejection.ts";
import { parseTimestamp } from "../../../../../common/storage/timestamp.ts";

const AT = "2026-11-21T10:00:00Z";

function volume(change: Partial<MisplacedVolume> = {}): MisplacedVolume {
  return { volume: "data", claim: "orders", pv: "pv-1", why: "zone is not b", ...change };
}

function patchOf(first: MisplacedVolume, ...others: readonly MisplacedVolume[]) {
  const patch = rejectionPatch({ node: "node-1", at: AT, level: 2, volumes: [first, ...others] });
  const annotation = patch.metadata.annotations[REJECTED_ANNOTATION] ?? "";
  return { ...patch, annotation, note: JSON.parse(annotation) };
}

describe("the patch that rejects a pod", () => {
  it("looks like the kubelet's own rejection", () => {
    const { status } = patchOf(volume());

    expect(status).toEqual({
      phase: "Failed",
      reason: "VolumeNodeAffinity",
      message: "Pod was rejected: the node affinity of volume pv-1 of claim orders excludes node node-1: zone is not b",
    });
  });

  it("contains volume, claim, PV, node, reason, time and the back-off level of the owner", () => {
    const { note } = patchOf(volume());

    expect(note).toEqual({
      volume: "data",
      claim: "orders",
      pv: "pv-1",
      node: "node-1",
      at: AT,
      level: 2,
      why: "zone is not b",
    });
  });

  it("is recognized by a later run", () => {
    const { status, metadata } = patchOf(volume());

    expect(rejectionMark({ ...status, annotations: metadata.annotations })).toEqual({
      atMs: parseTimestamp(AT),
      level: 2,
    });
  });

  it("names the claims of other volumes, and counts them", () => {
    const { status, note } = patchOf(volume(), volume({ claim: "cache" }), volume({ claim: "logs" }));

    expect(status.message).toMatch(/; the same of claim cache, claim logs$/);
    expect(note.more).toBe(2);
  });

  it.each([
    { name: "a long sentence", why: "w".repeat(5_000) },
    { name: "a sentence that JSON makes six times as long", why: "\u0001".repeat(1_024) },
    { name: "a sentence of quotation marks", why: '"'.repeat(900) },
    { name: "a sentence of characters of two units", why: "😀".repeat(700) },
  ])("keeps message and annotation within 1,024 characters for $name", ({ why }) => {
    const { status, annotation, note } = patchOf(volume({ why }));

    expect(status.message.length).toBeLessThanOrEqual(1_024);
    expect(annotation.length).toBeLessThanOrEqual(1_024);
    expect(annotation.length).toBeGreaterThan(1_000);
    expect(note).toMatchObject({ pv: "pv-1", level: 2 });
  });

  it("keeps them within 1,024 characters with the longest names", () => {
    const name = "n".repeat(253);
    const { annotation } = patchOf(volume({ volume: "v".repeat(63), claim: name, pv: name }), volume());

    expect(annotation.length).toBeLessThanOrEqual(1_024);
  });
});

describe("misplacementText", () => {
  it("is a sentence about the volume, the claim and the node", () => {
    expect(misplacementText({ node: "node-1", volumes: [volume()] })).toBe(
      "the node affinity of volume pv-1 of claim orders excludes node node-1: zone is not b",
    );
  });
});
