import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Image, imageArchive } from "../../../node/image.ts";
import { scratchFolder } from "../process/scratch.ts";

const files = [{ kind: "file", path: "hello", content: Buffer.from("world") }] as const;
const images: readonly Image[] = [
  { name: "mooring.test/a:1", files, command: ["/a"] },
  { name: "mooring.test/b:1", files, command: ["/b", "now"] },
];

function unpacked(): string {
  const folder = scratchFolder();
  execFileSync("tar", ["-x", "--no-same-owner", "-C", folder], { input: imageArchive(images, "arm64") });
  return folder;
}

function sha256(file: string): string {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}

describe("imageArchive", () => {
  it("has the layer that two images share once, and a configuration for each", () => {
    const folder = unpacked();

    const manifest = JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8"));

    expect(readdirSync(folder)).toHaveLength(4);
    expect(manifest.map(({ RepoTags }: { RepoTags: unknown }) => RepoTags)).toEqual([
      ["mooring.test/a:1"],
      ["mooring.test/b:1"],
    ]);
    expect(manifest[0].Layers).toEqual(manifest[1].Layers);
    expect(manifest[0].Config).not.toBe(manifest[1].Config);
  });

  it("has the layer's digest, the architecture and the command in its configuration", () => {
    const folder = unpacked();
    const [, second] = JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8"));

    const config = JSON.parse(readFileSync(join(folder, second.Config), "utf8"));

    expect(config).toMatchObject({
      architecture: "arm64",
      os: "linux",
      config: { Cmd: ["/b", "now"] },
      rootfs: { type: "layers", diff_ids: [`sha256:${sha256(join(folder, second.Layers[0]))}`] },
    });
    expect(second.Config).toBe(`${sha256(join(folder, second.Config))}.json`);
  });
});
