import { describe, expect, it } from "vitest";
import { isAbandonedLoop } from "../../../csi/loop-devices.ts";

describe("isAbandonedLoop", () => {
  const image = "mooring-csi-volumes/csi.test/volume-v/image";

  it.each([
    {
      name: "the image of a run whose folder is gone",
      file: `/tmp/mooring-aB3xY9/${image} (deleted)`,
      isAbandoned: true,
    },
    { name: "the same, opened through a node's mount", file: `/${image} (deleted)`, isAbandoned: true },
    { name: "the image of a run that continues", file: `/tmp/mooring-aB3xY9/${image}`, isAbandoned: false },
    { name: "a deleted file of another program", file: "/var/lib/disk/image (deleted)", isAbandoned: false },
  ])("$name: $isAbandoned", ({ file, isAbandoned }) => {
    expect(isAbandonedLoop({ file })).toBe(isAbandoned);
  });
});
