import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findBusybox, needsLoader, workloadImages } from "../../../node/workload.ts";
import { scratchFolder } from "../process/scratch.ts";

/** The head of a 64-bit ELF program with headers of these types. */
function elf(types: readonly number[], wordBytes = 2): Buffer {
  const bytes = Buffer.alloc(64 + types.length * 56);
  bytes.write("\u007fELF", 0, "latin1");
  bytes[4] = wordBytes;
  bytes.writeBigUInt64LE(64n, 32);
  bytes.writeUInt16LE(56, 54);
  bytes.writeUInt16LE(types.length, 56);
  for (const [index, type] of types.entries()) bytes.writeUInt32LE(type, 64 + index * 56);
  return bytes;
}

describe("needsLoader", () => {
  it.each([
    { name: "a program with a loader's name needs it", program: elf([6, 3, 1]), needs: true },
    { name: "a program without one needs none", program: elf([1, 1, 4]), needs: false },
    { name: "a script needs its interpreter", program: Buffer.from("#!/bin/sh\nexit 0\n"), needs: true },
    { name: "a 32-bit program is not inspected", program: elf([1], 1), needs: true },
    { name: "an empty file is no program", program: Buffer.alloc(0), needs: true },
  ])("$name", ({ program, needs }) => {
    expect(needsLoader(program)).toBe(needs);
  });
});

describe("findBusybox", () => {
  it("names the package to install where there is none", () => {
    expect(() => findBusybox(scratchFolder())).toThrow("no program busybox: apt-get install busybox-static");
  });

  it("refuses one that would not run in an image of its own", () => {
    const folder = scratchFolder();
    writeFileSync(join(folder, "busybox"), elf([3]));
    chmodSync(join(folder, "busybox"), 0o755);

    expect(() => findBusybox(folder)).toThrow("needs shared libraries: apt-get install busybox-static");
  });
});

describe("workloadImages", () => {
  it("links every command to busybox, but not busybox to itself", () => {
    const [image] = workloadImages(Buffer.from("program"), ["busybox", "cat", "sh"]);

    const links = image?.files.filter(({ kind }) => kind === "link").map(({ path }) => path);

    expect(links).toEqual(["bin/cat", "bin/sh"]);
  });
});
