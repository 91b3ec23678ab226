import { execFileSync } from "node:child_process";
import { lstatSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Entry, tar } from "../../../node/archive.ts";
import { scratchFolder } from "../process/scratch.ts";

function unpacked(entries: readonly Entry[]): string {
  const folder = scratchFolder();
  execFileSync("tar", ["-x", "-p", "--no-same-owner", "-C", folder], { input: tar(entries) });
  return folder;
}

describe("tar", () => {
  it.each([
    { name: "an empty file", content: "" },
    { name: "a file of one byte", content: "x" },
    { name: "a file that fills a block", content: "x".repeat(512) },
    { name: "a file of a block and a byte", content: "x".repeat(513) },
  ])("keeps $name and what comes after it", ({ content }) => {
    const folder = unpacked([
      { kind: "file", path: "first", content: Buffer.from(content) },
      { kind: "file", path: "last", content: Buffer.from("end") },
    ]);

    expect(readFileSync(join(folder, "first"), "utf8")).toBe(content);
    expect(readFileSync(join(folder, "last"), "utf8")).toBe("end");
  });

  it("keeps folders, links and modes", () => {
    const folder = unpacked([
      { kind: "folder", path: "bin", mode: 0o1777 },
      { kind: "file", path: "bin/program", mode: 0o755, content: Buffer.from("") },
      { kind: "file", path: "text", content: Buffer.from("") },
      { kind: "link", path: "bin/other", target: "program" },
    ]);

    expect(lstatSync(join(folder, "bin")).mode & 0o7777).toBe(0o1777);
    expect(lstatSync(join(folder, "bin/program")).mode & 0o7777).toBe(0o755);
    expect(lstatSync(join(folder, "text")).mode & 0o7777).toBe(0o644);
    expect(readlinkSync(join(folder, "bin/other"))).toBe("program");
  });

  it("belongs to root and is dated to the epoch, so that the same files always give the same bytes", () => {
    const listed = execFileSync("tar", ["-tv", "--full-time", "--utc", "--numeric-owner"], {
      input: tar([{ kind: "file", path: "a", content: Buffer.from("abc") }]),
    });

    expect(listed.toString().replaceAll(/ +/g, " ").trim()).toBe("-rw-r--r-- 0/0 3 1970-01-01 00:00:00 a");
  });

  it.each([
    { name: "path", entry: { kind: "folder", path: "x".repeat(100) } },
    { name: "target", entry: { kind: "link", path: "x", target: "y".repeat(101) } },
  ] as const)("refuses a $name that does not fit instead of cutting it", ({ entry }) => {
    expect(() => tar([entry])).toThrow("is too long for an archive: 100 bytes are the limit");
  });
});
