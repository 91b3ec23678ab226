import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  isUse,
  type MountedVolume,
  useKey,
  type VolumeIdentity,
  volumeKey,
  volumeMatcher,
} from "../../../../common/storage/volume-identity.ts";

/** Few different texts, so that equal ones meet. */
const text = fc.constantFrom("a", "b");
const identity: fc.Arbitrary<VolumeIdentity> = fc.oneof(
  fc.record({ by: fc.constant("name" as const), name: text }),
  fc.record({ by: fc.constant("handle" as const), driver: text, handleHash: text }),
  fc.record({ by: fc.constant("device" as const), plugin: text, path: text }),
);

describe("volumeMatcher", () => {
  it("is true exactly for the volumes whose keys are among those wanted", () => {
    fc.assert(
      fc.property(fc.array(identity, { maxLength: 3 }), identity, (wanted, volume) => {
        expect(volumeMatcher(wanted)(volume)).toBe(wanted.map(volumeKey).includes(volumeKey(volume)));
      }),
      { numRuns: 1_000, seed: 5541 },
    );
  });
});

describe("isUse", () => {
  const volume = { by: "name", name: "pv-1" } as const;

  it.each<{ readonly name: string; readonly mountedVolume: MountedVolume; readonly isUsed: boolean }>([
    { name: "a pod's mount is use", mountedVolume: { kind: "pod", volume, podUid: "u1" }, isUsed: true },
    { name: "so is that of a subPath", mountedVolume: { kind: "subpath", volume, podUid: "u1" }, isUsed: true },
    { name: "so is a block device", mountedVolume: { kind: "block", volume, podUid: "u1" }, isUsed: true },
    { name: "staging is none", mountedVolume: { kind: "staging", volume, podUid: undefined }, isUsed: false },
    {
      name: "staging is none, whatever pod it names",
      mountedVolume: { kind: "staging", volume, podUid: "u1" },
      isUsed: false,
    },
    { name: "without a pod there is none", mountedVolume: { kind: "block", volume, podUid: undefined }, isUsed: false },
  ])("$name", ({ mountedVolume, isUsed }) => {
    expect(isUse(mountedVolume)).toBe(isUsed);
  });
});

describe("the keys of volumes", () => {
  const all: readonly VolumeIdentity[] = [
    { by: "name", name: "a" },
    { by: "name", name: "b" },
    { by: "handle", driver: "a", handleHash: "a" },
    { by: "handle", driver: "a", handleHash: "b" },
    { by: "handle", driver: "b", handleHash: "a" },
    { by: "device", plugin: "a", path: "a" },
    { by: "device", plugin: "a", path: "b" },
    { by: "device", plugin: "b", path: "a" },
  ];

  it("differ for volumes that differ in anything", () => {
    expect(new Set(all.map(volumeKey)).size).toBe(all.length);
  });

  it("make those of two pods' uses differ, and those of one pod's two volumes", () => {
    const uses = ["u1", "u2"].flatMap((podUid) => all.map((volume) => useKey({ podUid, volume })));

    expect(new Set(uses).size).toBe(uses.length);
  });
});
