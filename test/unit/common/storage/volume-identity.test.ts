import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type VolumeIdentity, volumeKey, volumeMatcher } from "../../../../common/storage/volume-identity.ts";

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
