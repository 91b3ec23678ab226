import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { VERSION } from "../../../../common/runtime/version.ts";

describe("the version of a process", () => {
  it("is that of the package", () => {
    const { version } = JSON.parse(readFileSync(new URL("../../../../package.json", import.meta.url), "utf8"));

    expect(VERSION).toBe(version);
  });
});
