import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  cacheKey,
  fill,
  goArchitecture,
  missingIn,
  programFolder,
  removeUnfinished,
} from "../../../control-plane/cache.ts";
import { scratchFolder } from "../process/scratch.ts";

const inputs = { version: "1.36.3", ldflags: "-s", platform: "linux-amd64", sources: ["module a", "sum"] };

describe("cacheKey", () => {
  it("explains its purpose", () => {
    expect(cacheKey("kubernetes", inputs)).toMatch(/^kubernetes-1\.36\.3-linux-amd64-[0-9a-f]{12}$/);
  });

  it("is the same for the same inputs", () => {
    expect(cacheKey("etcd", { ...inputs })).toBe(cacheKey("etcd", inputs));
  });

  it.each([
    { name: "another version has another key", change: { version: "1.36.4" } },
    { name: "other linker flags have another key", change: { ldflags: "-w" } },
    { name: "build tags have another key", change: { tags: ["no_zfs"] } },
    { name: "another platform has another key", change: { platform: "linux-arm64" } },
    { name: "another go.mod has another key", change: { sources: ["module b", "sum"] } },
    { name: "text that moves from go.mod to go.sum has another key", change: { sources: ["module", " asum"] } },
  ])("$name", ({ change }) => {
    expect(cacheKey("kubernetes", { ...inputs, ...change })).not.toBe(cacheKey("kubernetes", inputs));
  });
});

describe("goArchitecture", () => {
  it.each([
    { name: "x64 is amd64", arch: "x64", go: "amd64" },
    { name: "arm64 has one name", arch: "arm64", go: "arm64" },
  ])("$name", ({ arch, go }) => {
    expect(goArchitecture(arch)).toBe(go);
  });
});

describe("programFolder", () => {
  it("keeps modules apart below the cache", () => {
    const folders = [programFolder("/cache", "kubernetes"), programFolder("/cache", "etcd")];

    expect(folders.map(dirname)).toEqual(["/cache/bin", "/cache/bin"]);
    expect(new Set(folders).size).toBe(2);
  });
});

describe("missingIn", () => {
  it("names what is not there or not executable", () => {
    const folder = scratchFolder();
    writeFileSync(join(folder, "etcd"), "");
    chmodSync(join(folder, "etcd"), 0o755);
    writeFileSync(join(folder, "kubectl"), "");

    expect(missingIn(folder, ["etcd", "kubectl", "kubelet"])).toEqual(["kubectl", "kubelet"]);
  });
});

describe("fill", () => {
  it("moves over what is handed to it and nothing else", async () => {
    const folder = join(scratchFolder(), "bin", "etcd-key");

    await fill(folder, async (unfinished, keep) => {
      writeFileSync(join(unfinished, "server"), "program");
      writeFileSync(join(unfinished, "rest"), "");
      keep("server", "etcd");
    });

    expect(readFileSync(join(folder, "etcd"), "utf8")).toBe("program");
    expect(readdirSync(dirname(folder))).toEqual(["etcd-key"]);
    expect(readdirSync(folder)).toEqual(["etcd"]);
  });

  it("leaves nothing unfinished when the making fails", async () => {
    const folder = join(scratchFolder(), "bin", "etcd-key");
    const failing = fill(folder, async (unfinished) => {
      writeFileSync(join(unfinished, "half"), "");
      throw new Error("no more disk");
    });

    await expect(failing).rejects.toThrow("no more disk");

    expect(readdirSync(dirname(folder))).toEqual(["etcd-key"]);
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe("removeUnfinished", () => {
  it("removes what a killed run left beside the folder, and nothing of another", () => {
    const bin = join(scratchFolder(), "bin");
    const names = ["etcd-key", "etcd-key.new-abc", "kubernetes-key.new-abc"];
    for (const name of names) mkdirSync(join(bin, name), { recursive: true });

    removeUnfinished(join(bin, "etcd-key"));

    expect(names.filter((name) => existsSync(join(bin, name)))).toEqual(["etcd-key", "kubernetes-key.new-abc"]);
  });
});
