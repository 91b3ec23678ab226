import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { contentHash, contextFiles, namesKept } from "../../image/context.ts";

function scratch(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "scratch-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, ".."), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

describe("namesKept", () => {
  it("are those that are taken back from the exclusion of all", () => {
    expect(namesKept("# a remark\n*\n!agent\n\n!.npmrc\n!cli/uninstall\n")).toEqual([
      "agent",
      ".npmrc",
      "cli/uninstall",
    ]);
  });

  it.each([
    { name: "that does not exclude all first", text: "!agent\n*\n" },
    { name: "with a pattern that this does not understand", text: "*\n!agent/**/*.ts\n" },
    { name: "that excludes something again", text: "*\n!agent\nagent/main.ts\n" },
    { name: "that is empty", text: "" },
  ])("refuses a list $name", ({ text }) => {
    expect(() => namesKept(text)).toThrow("must exclude all");
  });
});

describe("contextFiles", () => {
  it("are the files of the names that are kept, and those that say how to build", () => {
    const root = scratch({
      ".dockerignore": "*\n!agent\n!LICENSE\n",
      Dockerfile: "",
      LICENSE: "",
      "agent/main.ts": "",
      "agent/core/mounted-volumes.ts": "",
      "node_modules/a.js": "",
    });

    expect(contextFiles(root)).toEqual([
      ".dockerignore",
      "Dockerfile",
      "LICENSE",
      "agent/core/mounted-volumes.ts",
      "agent/main.ts",
    ]);
  });
});

describe("contentHash", () => {
  const root = (): string => scratch({ one: "1", other: "2" });
  const files = (folder: string, names: readonly string[]) =>
    names.map((name) => ({ name, source: join(folder, name) }));

  it("is the same for the same names and contents, wherever they are", () => {
    expect(contentHash(files(root(), ["one", "other"]))).toBe(contentHash(files(root(), ["one", "other"])));
  });

  it.each([
    { name: "a file is missing", change: () => contentHash(files(root(), ["one"])) },
    {
      name: "a content is another",
      change: () => contentHash(files(scratch({ one: "1", other: "3" }), ["one", "other"])),
    },
    {
      name: "two files have changed their contents with each other",
      change: () => contentHash(files(scratch({ one: "2", other: "1" }), ["one", "other"])),
    },
  ])("is another one when $name", ({ change }) => {
    expect(change()).not.toBe(contentHash(files(root(), ["one", "other"])));
  });
});
