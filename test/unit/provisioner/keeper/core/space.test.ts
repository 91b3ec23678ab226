import { describe, expect, it } from "vitest";
import { imageBytes, spaceOf } from "../../../../../provisioner/keeper/core/space.ts";

const GIB = 2 ** 30;
/** A filesystem of 100 GiB with blocks of 4 KiB. */
const disk = (freeGib: number) => ({
  blockBytes: 4_096,
  blocks: (100 * GIB) / 4_096,
  availableBlocks: (freeGib * GIB) / 4_096,
});
const whole = { bytes: GIB, allocatedBytes: GIB };

describe("spaceOf", () => {
  it.each([
    { name: "without a reserve all that is available is free", freeGib: 60, reservePercent: 0, images: [], free: 60 },
    { name: "the reserve is a share of the whole filesystem", freeGib: 60, reservePercent: 20, images: [], free: 40 },
    { name: "nothing is free where the reserve is touched", freeGib: 19, reservePercent: 20, images: [], free: 0 },
    { name: "a full filesystem has no less than nothing", freeGib: 0, reservePercent: 95, images: [whole], free: 0 },
    {
      name: "images that have all their blocks owe nothing",
      freeGib: 60,
      reservePercent: 0,
      images: [whole],
      free: 60,
    },
    {
      name: "the blocks that an image gave back stay its own",
      freeGib: 60,
      reservePercent: 0,
      images: [{ bytes: 8 * GIB, allocatedBytes: 3 * GIB }, whole],
      free: 55,
    },
    {
      name: "an image with more blocks than its size, as XFS gives ahead, lends nothing to others",
      freeGib: 60,
      reservePercent: 0,
      images: [
        { bytes: GIB, allocatedBytes: 5 * GIB },
        { bytes: 4 * GIB, allocatedBytes: 0 },
      ],
      free: 56,
    },
    {
      name: "more is owed than there is",
      freeGib: 2,
      reservePercent: 0,
      images: [{ bytes: 8 * GIB, allocatedBytes: 0 }],
      free: 0,
    },
  ])("$name", ({ freeGib, reservePercent, images, free }) => {
    expect(spaceOf(disk(freeGib), { reservePercent, images })).toEqual({
      totalBytes: 100 * GIB,
      freeBytes: free * GIB,
    });
  });
});

describe("imageBytes", () => {
  it.each([
    { requested: 2 ** 20, bytes: 2 ** 20 },
    { requested: 2 ** 20 + 1, bytes: 2 ** 20 + 4_096 },
    { requested: 1_000_000_000, bytes: 1_000_001_536 },
    { requested: 2 ** 46, bytes: 2 ** 46 },
  ])("$requested bytes take $bytes", ({ requested, bytes }) => {
    expect(imageBytes(requested)).toBe(bytes);
  });
});
