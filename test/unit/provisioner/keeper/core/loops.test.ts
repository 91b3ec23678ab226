import { describe, expect, it } from "vitest";
import {
  attachedLoops,
  candidates,
  type Loop,
  orphansOf,
  stackedOn,
} from "../../../../../provisioner/keeper/core/loops.ts";
import { filesOf } from "../../../../../provisioner/keeper/core/names.ts";

const VOLUME = "pvc-7f1e6d6c-3f0a-4c55-9a1e-0d5d3b1f2a10";
const OTHER = "pvc-7f1e6d6c-3f0a-4c55-9a1e-0d5d3b1f2a11";
const KUBELET = `/var/lib/kubelet/plugins/kubernetes.io~local-volume/volumeDevices/${VOLUME}/3f0a-pod`;

function loops(...files: readonly string[]): readonly Loop[] {
  return files.map((backingFile, at) => ({ device: `/dev/loop${at}`, number: `7:${at}`, backingFile }));
}

const names = (found: readonly Loop[]): readonly string[] => found.map(({ device }) => device);

describe("attachedLoops", () => {
  it("takes a device that shows a file, and leaves one that shows none or goes in this moment", () => {
    const texts = [
      { name: "loop0", number: "7:0\n", backingFile: "/pool/a b.img\n" },
      { name: "loop1", number: "7:1\n", backingFile: undefined },
      { name: "loop2", number: undefined, backingFile: "/pool/c.img\n" },
    ];

    expect(attachedLoops(texts)).toEqual([{ device: "/dev/loop0", number: "7:0", backingFile: "/pool/a b.img" }]);
  });
});

describe("candidates", () => {
  it.each([
    { name: "the image by its path", file: `/pool/${VOLUME}.img`, found: true },
    { name: "the image as a mount namespace that is gone had it", file: `/${VOLUME}.made`, found: true },
    { name: "an image that was deleted", file: `/pool/${VOLUME}.img (deleted)`, found: true },
    { name: "an image that is being made", file: `/pool/${VOLUME}.partial`, found: true },
    { name: "another volume's image", file: `/pool/${OTHER}.img`, found: false },
    { name: "a file in a folder of that name", file: `/pool/${VOLUME}.img/x`, found: false },
    { name: "a file whose name ends like it", file: `/pool/x${VOLUME}.img`, found: false },
  ])("$name: $found", ({ file, found }) => {
    expect(names(candidates(loops(file), filesOf(VOLUME)))).toEqual(found ? ["/dev/loop0"] : []);
  });
});

describe("orphansOf", () => {
  it("takes only images that were deleted", () => {
    const all = loops(`/pool/${VOLUME}.img`, `/pool/${VOLUME}.img (deleted)`, `/pool/${OTHER}.img (deleted)`);

    expect(names(orphansOf(all, filesOf(VOLUME)))).toEqual(["/dev/loop1"]);
  });
});

describe("stackedOn", () => {
  it.each([
    { name: "the device itself", file: "/dev/loop5", found: true },
    { name: "the device by a node that was deleted", file: "/dev/loop5 (deleted)", found: true },
    { name: "what a kubelet bound it to for a Block volume", file: KUBELET, found: true },
    { name: "another device", file: "/dev/loop55", found: false },
    { name: "the image", file: `/pool/${VOLUME}.img`, found: false },
    { name: "a kubelet's path of another volume", file: KUBELET.replace(VOLUME, OTHER), found: false },
  ])("$name: $found", ({ file, found }) => {
    const stacked = stackedOn(loops(file), { device: "/dev/loop5", volume: VOLUME });

    expect(names(stacked)).toEqual(found ? ["/dev/loop0"] : []);
  });

  it("finds a kubelet's device also while no device shows the image", () => {
    expect(names(stackedOn(loops("/dev/loop5", KUBELET), { device: undefined, volume: VOLUME }))).toEqual([
      "/dev/loop1",
    ]);
  });
});
