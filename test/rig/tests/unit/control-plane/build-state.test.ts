import { describe, expect, it } from "vitest";
import { afterLine, BUILD_BEGIN, describeBuild, diskNeeded } from "../../../control-plane/build-state.ts";
import { isNewEnough } from "../../../control-plane/go-build.ts";

function after(...lines: readonly string[]) {
  return lines.reduce(afterLine, BUILD_BEGIN);
}

describe("afterLine", () => {
  it.each([
    { name: "a downloaded module counts", line: "go: downloading k8s.io/api v0.36.3", change: { downloaded: 1 } },
    { name: "a package without objects is stale", line: "true", change: { listed: 1, stale: 1 } },
    { name: "a package with objects is listed only", line: "false", change: { listed: 1 } },
    { name: "a compiled package is printed as its path", line: "k8s.io/api/core/v1", change: { compiled: 1 } },
    { name: "a compiled package of Go itself has no host", line: "runtime", change: { compiled: 1 } },
    { name: "the title of an error is no package", line: "# k8s.io/api/core/v1", change: {} },
    { name: "an error is no package", line: "main.go:1:2: undefined: x", change: {} },
    { name: "an empty line does not count", line: "", change: {} },
  ])("$name", ({ line, change }) => {
    expect(afterLine(BUILD_BEGIN, line)).toEqual({ ...BUILD_BEGIN, ...change });
  });
});

describe("describeBuild", () => {
  it.each([
    {
      name: "first nothing is known",
      lines: [],
      text: "looking at what is to be compiled, 0 MB of about 4.0 GB of disk",
    },
    {
      name: "then modules come",
      lines: ["go: downloading a v1", "go: downloading b v1"],
      text: "2 modules downloaded, 0 MB of about 4.0 GB of disk",
    },
    {
      name: "then packages of those that are stale",
      lines: ["true", "true", "false", "false", "a/b"],
      text: "1 of 2 packages, 0 MB of about 2.0 GB of disk",
    },
    {
      name: "at last the programs are linked",
      lines: ["true", "false", "a/b"],
      text: "1 packages compiled, linking, 0 MB of about 2.0 GB of disk",
    },
  ])("$name", ({ lines, text }) => {
    expect(describeBuild(after(...lines), 4e9)).toBe(text);
  });
});

describe("diskNeeded", () => {
  it("is the whole until Go has listed what is stale", () => {
    expect(diskNeeded(BUILD_BEGIN, 4e9)).toBe(4e9);
  });

  it("is nothing when all objects are in Go's cache", () => {
    expect(diskNeeded(after("false", "false"), 4e9)).toBe(0);
  });
});

describe("isNewEnough", () => {
  it.each([
    { name: "the pinned Go is", version: "go1.26.0", enough: true },
    { name: "a later one is", version: "go1.30", enough: true },
    { name: "an earlier one is not", version: "go1.25.9", enough: false },
    { name: "a release of one digit is not", version: "go1.9", enough: false },
    { name: "a development version is not", version: "devel +abc", enough: false },
  ])("$name", ({ version, enough }) => {
    expect(isNewEnough(version)).toBe(enough);
  });
});
