import { describe, expect, it } from "vitest";
import { REJECTED_ANNOTATION, rejectionMark } from "../../../../common/storage/rejection.ts";

const AT = "2026-11-21T23:00:00.250Z";
const AT_MS = 1_795_302_000_250;

function pod(annotation: string | undefined, status: { phase?: string; reason?: string | undefined } = {}) {
  return {
    phase: "Failed",
    reason: "VolumeNodeAffinity",
    annotations: annotation === undefined ? undefined : { [REJECTED_ANNOTATION]: annotation },
    ...status,
  };
}

describe("rejectionMark", () => {
  it.each([
    { name: "time and level", text: JSON.stringify({ pv: "pv-a", at: AT, level: 3 }), mark: { atMs: AT_MS, level: 3 } },
    { name: "no level", text: JSON.stringify({ at: AT }), mark: { atMs: AT_MS, level: 0 } },
    { name: "no time", text: JSON.stringify({ level: 2 }), mark: { atMs: undefined, level: 2 } },
    { name: "a time that is none", text: JSON.stringify({ at: "yesterday" }), mark: { atMs: undefined, level: 0 } },
    { name: "a time that is no text", text: JSON.stringify({ at: 5, level: 1 }), mark: { atMs: undefined, level: 1 } },
    { name: "a level below zero", text: JSON.stringify({ at: AT, level: -1 }), mark: { atMs: AT_MS, level: 0 } },
    { name: "a level without measure", text: JSON.stringify({ at: AT, level: 1e9 }), mark: { atMs: AT_MS, level: 0 } },
    { name: "a list", text: "[]", mark: { atMs: undefined, level: 0 } },
    { name: "no JSON", text: "{", mark: { atMs: undefined, level: 0 } },
  ])("reads the annotation of a rejected pod: $name", ({ text, mark }) => {
    expect(rejectionMark(pod(text))).toEqual(mark);
  });

  it.each([
    { name: "one without the annotation: the kubelet itself did it", of: pod(undefined) },
    { name: "one that is not over", of: pod("{}", { phase: "Pending" }) },
    { name: "one with another reason", of: pod("{}", { reason: "Evicted" }) },
    { name: "one without a reason", of: pod("{}", { reason: undefined }) },
    { name: "one without annotations", of: { ...pod("{}"), annotations: null } },
  ])("reads no rejection of a pod that no agent rejected: $name", ({ of }) => {
    expect(rejectionMark(of)).toBeUndefined();
  });
});
