import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isSameVolume, type VolumeIdentity, volumeKey } from "../../../../common/storage/volume-identity.ts";

/** Few different texts, so that equal ones meet. */
const text = fc.constantFrom("a", "b");
const identity: fc.Arbitrary<VolumeIdentity> = fc.oneof(
  fc.record({ by: fc.constant("name" as const), name: text }),
  fc.record({ by: fc.constant("handle" as const), driver: text, handleHash: text }),
  fc.record({ by: fc.constant("device" as const), plugin: text, path: text }),
);

describe("isSameVolume", () => {
  it("is true exactly where the keys are equal", () => {
    fc.assert(
      fc.property(identity, identity, (one, other) => {
        expect(isSameVolume(one, other)).toBe(volumeKey(one) === volumeKey(other));
      }),
      { numRuns: 500 },
    );
  });
});
