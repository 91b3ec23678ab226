import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { noticeOf, packagesOf } from "../../../.ci/notices.ts";

function packageIn(root: string, { manifest, files = {} }: { manifest: object; files?: Record<string, string> }): void {
  const folder = join(root, "node_modules/thing");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
}

function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), "scratch-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe("packagesOf", () => {
  it.each([
    { name: "a file of a package", files: ["node_modules/a/index.js"], packages: ["node_modules/a"] },
    { name: "a package with a scope", files: ["node_modules/@a/b/c/d.js"], packages: ["node_modules/@a/b"] },
    {
      name: "a package inside another one",
      files: ["node_modules/a/node_modules/b/c.js"],
      packages: ["node_modules/a/node_modules/b"],
    },
    {
      name: "many files, each package once and in order",
      files: ["node_modules/b/1.js", "node_modules/a/1.js", "node_modules/b/2.js"],
      packages: ["node_modules/a", "node_modules/b"],
    },
    { name: "files of our own", files: ["agent/main.ts"], packages: [] },
  ])("names the package of $name", ({ files, packages }) => {
    expect(packagesOf(files)).toEqual(packages);
  });
});

describe("noticeOf", () => {
  it.each(["LICENSE", "LICENCE.md", "license.txt", "COPYING", "NOTICE"])("has the text of a package's %s", (file) => {
    const root = scratch();
    packageIn(root, {
      manifest: { name: "thing", version: "1.2.3", license: "MIT" },
      files: { [file]: "You may.", "README.md": "How to." },
    });

    const notice = noticeOf(root, ["node_modules/thing"]);

    for (const part of ["thing 1.2.3", "Licence: MIT", "You may."]) expect(notice).toContain(part);
    expect(notice).not.toContain("How to.");
  });

  it("names the licence of a package that brings no text", () => {
    const root = scratch();
    packageIn(root, { manifest: { name: "thing", version: "1.2.3", license: "ISC" } });

    expect(noticeOf(root, ["node_modules/thing"])).toContain("thing 1.2.3\n\nLicence: ISC\n");
  });

  it("refuses a package without a licence", () => {
    const root = scratch();
    packageIn(root, { manifest: { name: "thing", version: "1.2.3" } });

    expect(() => noticeOf(root, ["node_modules/thing"])).toThrow("thing 1.2.3 does not say under which licence it is");
  });
});
