import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isOfGoneRun, isOfRun, type LoopDevice, withDependents } from "../../../process/loop-devices.ts";
import { scratchFolder } from "./scratch.ts";

/** `loop1 on loop0`, `loop0 on image`, or `loop1 on 7:0 12`, which is a file of a filesystem on loop0. */
function loop(number: number, on: string): LoopDevice {
  return {
    device: `/dev/loop${number}`,
    file: on,
    fileIdentity: on,
    ownIdentity: `loop${number}`,
    number: `7:${number}`,
  };
}

describe("withDependents", () => {
  it.each([
    { name: "none is ours", all: [loop(0, "foreign")], found: [] },
    { name: "ours alone", all: [loop(0, "image"), loop(1, "foreign")], found: [0] },
    { name: "one upon ours goes first", all: [loop(0, "image"), loop(1, "loop0")], found: [1, 0] },
    { name: "one whose file is on ours goes first", all: [loop(0, "image"), loop(1, "7:0 12")], found: [1, 0] },
    {
      name: "one whose file is on another of a longer number stays",
      all: [loop(0, "image"), loop(1, "7:01 12")],
      found: [0],
    },
    { name: "so does one upon that", all: [loop(2, "loop1"), loop(1, "loop0"), loop(0, "image")], found: [2, 1, 0] },
    { name: "one upon a foreign one stays", all: [loop(0, "foreign"), loop(1, "loop0")], found: [] },
  ])("$name", ({ all, found }) => {
    const devices = withDependents(all, ({ file }) => file === "image").map(({ device }) => device);

    expect(devices).toEqual(found.map((number) => `/dev/loop${number}`));
  });

  it("does not take a device without a node for the ground of all others without one", () => {
    const nodeless = { ...loop(0, "image"), ownIdentity: undefined, number: undefined };

    expect(withDependents([nodeless, loop(1, "foreign")], ({ file }) => file === "image")).toEqual([nodeless]);
  });
});

describe("a loop device", () => {
  it.each([
    { name: "of a file in its folder", file: "/tmp/mooring-aB3xY9/disks/one", isOurs: true },
    { name: "of one that is deleted", file: "/tmp/mooring-aB3xY9/disks/one (deleted)", isOurs: true },
    { name: "of one that is named within a mount", file: "/mooring-aB3xY9/disks/one", isOurs: true },
    { name: "of another run's", file: "/tmp/mooring-aB3xY8/disks/one", isOurs: false },
    { name: "of a folder that begins like it", file: "/tmp/mooring-aB3xY9b/disks/one", isOurs: false },
  ])("$name: $isOurs", ({ file, isOurs }) => {
    expect(isOfRun({ file }, "/tmp/mooring-aB3xY9")).toBe(isOurs);
  });

  it("is of a run that is gone where its file is deleted and no folder has the name", () => {
    const parent = scratchFolder();
    mkdirSync(join(parent, "mooring-aB3xY9/mooring-inside"), { recursive: true });
    const of = (file: string, at = parent): boolean => isOfGoneRun({ file }, at);

    const gone = [`${parent}/mooring-cD4xY9/disk (deleted)`, "/mooring-cD4xY9/disk (deleted)"];
    const kept = [
      `${parent}/mooring-cD4xY9/disk`,
      `${parent}/mooring-aB3xY9/disk (deleted)`,
      "/mooring-aB3xY9/disk (deleted)",
      "/var/lib/disk (deleted)",
      "/srv/mooring-pool/disk (deleted)",
    ];

    expect(gone.filter((file) => !of(file))).toEqual([]);
    expect(kept.filter((file) => of(file))).toEqual([]);
    // A run inside another one looks for the outer one's folder as well.
    expect(of("/mooring-aB3xY9/disk (deleted)", join(parent, "mooring-aB3xY9/mooring-inside"))).toBe(false);
  });
});
