import { describe, expect, it } from "vitest";
import { missingPrograms } from "../../node/preconditions.ts";

describe("missingPrograms", () => {
  it("names each program that is not here, with its package", () => {
    expect(missingPrograms((name) => name !== "nft" && name !== "runc")).toEqual([
      "the program nft, which is in the package nftables",
      "the program runc, which is in the package runc",
    ]);
  });

  it("names none where all are here", () => {
    expect(missingPrograms(() => true)).toEqual([]);
  });
});
