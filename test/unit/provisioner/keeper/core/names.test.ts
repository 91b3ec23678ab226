import { describe, expect, it } from "vitest";
import { fileOf, filesOf, imageNamed, imagesIn, isEmpty } from "../../../../../provisioner/keeper/core/names.ts";

const A = "pvc-7f1e6d6c-3f0a-4c55-9a1e-0d5d3b1f2a10";
const B = "pvc-00000000-0000-0000-0000-000000000001";

describe("imageNamed", () => {
  it.each([
    { file: `${A}.partial`, state: "partial" },
    { file: `${A}.made`, state: "made" },
    { file: `${A}.img`, state: "published" },
  ] as const)("$file is an image that is $state", ({ file, state }) => {
    expect(imageNamed(file)).toEqual({ volume: A, state });
    expect(fileOf({ volume: A, state })).toBe(file);
  });

  it.each([
    { name: "a name without an ending", file: A },
    { name: "another ending", file: `${A}.image` },
    { name: "an ending behind the ending", file: `${A}.img.partial` },
    { name: "capital letters", file: `${A.toUpperCase()}.img` },
    { name: "no UID", file: "pvc-1.img" },
    { name: "a longer UID", file: `${A}0.img` },
    { name: "something in front", file: `x${A}.img` },
    { name: "a line feed at its end", file: `${A}.img\n` },
    { name: "the pool's file", file: "pool.json" },
    { name: "nothing", file: "" },
  ])("$name is no image", ({ file }) => {
    expect(imageNamed(file)).toBeUndefined();
  });
});

describe("imagesIn", () => {
  it.each([
    { name: "an empty folder has none", files: [], images: [] },
    {
      name: "each volume has one",
      files: [`${A}.img`, "pool.json", `${B}.partial`, "lost+found"],
      images: [
        { volume: A, state: "published" },
        { volume: B, state: "partial" },
      ],
    },
    {
      name: "of two files of a volume the one in the further state counts",
      files: [`${A}.partial`, `${A}.img`, `${A}.made`],
      images: [{ volume: A, state: "published" }],
    },
  ])("$name", ({ files, images }) => {
    expect(imagesIn(files)).toEqual(images);
    expect(imagesIn(files.toReversed()).toSorted((a, b) => Number(a.volume < b.volume) - 0.5)).toEqual(images);
  });

  it("knows every name that the file of a volume can have", () => {
    expect(filesOf(A)).toEqual([`${A}.img`, `${A}.made`, `${A}.partial`]);
  });
});

describe("isEmpty", () => {
  it.each([
    { name: "a folder without files", files: [], empty: true },
    { name: "what ext4 makes in a new filesystem", files: ["lost+found"], empty: true },
    { name: "what an interrupted begin leaves", files: ["pool.json.partial"], empty: true },
    { name: "an image", files: [`${A}.img`], empty: false },
    { name: "a part of an image", files: ["lost+found", `${A}.partial`], empty: false },
    { name: "a file of another program", files: ["notes.txt"], empty: false },
  ])("$name counts as empty: $empty", ({ files, empty }) => {
    expect(isEmpty(files)).toBe(empty);
  });
});
