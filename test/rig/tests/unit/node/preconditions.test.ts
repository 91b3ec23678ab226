import { describe, expect, it } from "vitest";
import { adviceOn, missingPrograms } from "../../../node/preconditions.ts";

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

describe("adviceOn", () => {
  it("lists what is missing and how to install it", () => {
    expect(adviceOn(["root", "the program buildah"])).toBe(
      [
        "this machine cannot run nodes; what is missing:",
        "  - root",
        "  - the program buildah",
        "the packages of a Debian or Ubuntu are in .ci/e2e-packages, and .ci/run installs them, as root",
      ].join("\n"),
    );
  });
});
