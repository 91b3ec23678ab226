import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { missingForImages } from "../../image/buildah.ts";

function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), "scratch-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe("missingForImages", () => {
  it("names the program and its package", () => {
    expect(missingForImages(scratch())).toEqual(["the program buildah, which is in the package buildah"]);
  });

  it("is nothing where the program is", () => {
    const folder = scratch();
    writeFileSync(join(folder, "buildah"), "", { mode: 0o755 });

    expect(missingForImages(folder)).toEqual([]);
  });
});
