import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { describeLibraries, libraryComponents, loadedLibraries } from "../../../.ci/libraries.ts";

const SHA_256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

/** A folder with a library, and dpkg's account of it. */
function distribution() {
  const folder = mkdtempSync(join(tmpdir(), "libraries-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const library = join(folder, "libx.so.1");
  writeFileSync(library, "hello");
  mkdirSync(join(folder, "dpkg/info"), { recursive: true });
  writeFileSync(join(folder, "dpkg/info/libx1:amd64.list"), `/.\n${library}\n`);
  writeFileSync(
    join(folder, "dpkg/status"),
    "Package: liby\nVersion: 9\n\nPackage: libx1\nStatus: install ok installed\nVersion: 1:2.0-3\n",
  );
  return { library, dpkg: join(folder, "dpkg") };
}

describe("the C libraries of the image", () => {
  it("are known by the distribution's package and its version", () => {
    const { library, dpkg } = distribution();

    expect(describeLibraries([library], dpkg)).toEqual([
      { path: library, sha256: SHA_256, package: { name: "libx1", version: "1:2.0-3" } },
    ]);
  });

  it("are known by path and hash where no package is known", () => {
    const { library } = distribution();

    expect(describeLibraries([library], "/nowhere")).toEqual([{ path: library, sha256: SHA_256 }]);
  });

  it("are one component of the SBOM for each package, with every file", () => {
    const from = { name: "libx1", version: "1:2.0-3" };
    const libraries = [
      { path: "/lib/libx.so.1", sha256: "a", package: from },
      { path: "/lib/liby.so.1", sha256: "b" },
      { path: "/lib/libx-more.so.1", sha256: "c", package: from },
    ];

    expect(libraryComponents(libraries)).toMatchObject([
      {
        name: "libx1",
        version: "1:2.0-3",
        purl: "pkg:deb/debian/libx1@1%3A2.0-3",
        components: [{ name: "/lib/libx.so.1" }, { name: "/lib/libx-more.so.1" }],
      },
      { name: "/lib/liby.so.1", components: [{ hashes: [{ alg: "SHA-256", content: "b" }] }] },
    ]);
  });

  it("are those that Node.js and the native package load, glibc among them", () => {
    const found = loadedLibraries();

    expect(found).toEqual(expect.arrayContaining([expect.stringMatching(/\/libc\.so\.6$/)]));
    expect(found.filter((path) => path.endsWith(".node"))).toEqual([]);
  });
});
