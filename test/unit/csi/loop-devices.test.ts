import { describe, expect, it } from "vitest";
import { isAbandonedLoop, type LoopDevice, withDependents } from "../../csi/loop-devices.ts";

/** `loop1 on loop0` or `loop0 on image`. */
function loop(number: number, on: string): LoopDevice {
  return { device: `/dev/loop${number}`, file: on, fileIdentity: on, ownIdentity: `loop${number}` };
}

describe("withDependents", () => {
  it.each([
    { name: "none is ours", all: [loop(0, "foreign")], found: [] },
    { name: "ours alone", all: [loop(0, "image"), loop(1, "foreign")], found: [0] },
    { name: "one upon ours goes first", all: [loop(0, "image"), loop(1, "loop0")], found: [1, 0] },
    { name: "so does one upon that", all: [loop(2, "loop1"), loop(1, "loop0"), loop(0, "image")], found: [2, 1, 0] },
    { name: "one upon a foreign one stays", all: [loop(0, "foreign"), loop(1, "loop0")], found: [] },
  ])("$name", ({ all, found }) => {
    const devices = withDependents(all, ({ file }) => file === "image").map(({ device }) => device);

    expect(devices).toEqual(found.map((number) => `/dev/loop${number}`));
  });

  it("does not take a device without a node for the ground of all others without one", () => {
    const nodeless = { ...loop(0, "image"), ownIdentity: undefined };

    expect(withDependents([nodeless, loop(1, "foreign")], ({ file }) => file === "image")).toEqual([nodeless]);
  });
});

describe("isAbandonedLoop", () => {
  const image = "mooring-csi-volumes/csi.test/volume-v/image";

  it.each([
    {
      name: "the image of a run whose folder is gone",
      file: `/tmp/mooring-aB3xY9/${image} (deleted)`,
      isAbandoned: true,
    },
    { name: "the same, opened through a node's mount", file: `/${image} (deleted)`, isAbandoned: true },
    { name: "the image of a run that goes on", file: `/tmp/mooring-aB3xY9/${image}`, isAbandoned: false },
    { name: "somebody's deleted file", file: "/var/lib/disk/image (deleted)", isAbandoned: false },
  ])("$name: $isAbandoned", ({ file, isAbandoned }) => {
    expect(isAbandonedLoop({ ...loop(0, "x"), file })).toBe(isAbandoned);
  });
});
