import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isOlder } from "../../../../common/kube/resource-version.ts";

describe("isOlder", () => {
  it.each([
    { version: "9", other: "10", older: true },
    { version: "10", other: "9", older: false },
    { version: "10", other: "10", older: false },
    { version: "18446744073709551614", other: "18446744073709551615", older: true },
    { version: "", other: "1", older: false },
    { version: "1", other: "", older: false },
    { version: "abc", other: "1", older: false },
    { version: "1", other: "abc", older: false },
    { version: "1.5", other: "2", older: false },
    { version: "-1", other: "2", older: false },
    { version: "007", other: "8", older: false },
  ])('says of "$version" and "$other": $older', ({ version, other, older }) => {
    expect(isOlder(version, other)).toBe(older);
  });

  it("is the order of the numbers", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n }), fc.bigInt({ min: 0n, max: 2n ** 64n }), (one, other) => {
        expect(isOlder(String(one), String(other))).toBe(one < other);
      }),
    );
  });
});
