import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fileNameOf } from "../../../csi/volumes.ts";

describe("fileNameOf", () => {
  it.each([
    { name: "a plain handle is kept legible", handle: "pvc-12.a_b", file: /^volume-pvc-12\.a_b$/ },
    { name: "a path is hidden", handle: "../../etc", file: /^hash-[0-9a-f]{64}$/ },
    { name: "a long handle is shortened", handle: "x".repeat(128), file: /^hash-[0-9a-f]{64}$/ },
    { name: "dots cannot climb", handle: "..", file: /^volume-\.\.$/ },
  ])("$name", ({ handle, file }) => {
    expect(fileNameOf(handle)).toMatch(file);
  });

  it("gives different handles different names that are one plain part of a path", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.constantFrom("", "/", "\n"), (one, other, between) => {
        const [first, second] = [fileNameOf(one), fileNameOf(one + between + other)];
        expect(first).toMatch(/^[A-Za-z0-9_.-]{1,255}$/);
        expect(first === second).toBe(between + other === "");
      }),
    );
  });
});
