import { describe, expect, it } from "vitest";
import type { Directory } from "../../../../aggregator/core/attribution.ts";
import type { Pod, Volume } from "../../../../aggregator/core/cluster-objects.ts";
import type { NodeView } from "../../../../aggregator/core/node-view.ts";
import { newUnmounts } from "../../../../aggregator/core/unmount-latency.ts";
import type { VolumeIdentity } from "../../../../common/storage/volume-identity.ts";
import { NOON, nodeUnmountRecord, podWith, viewWith, volumeWith } from "../world.ts";

const CSI = { driver: "block.example", handleHash: "a".repeat(64) };
const BY_NAME = { by: "name", name: "pv-1" } as const;

function directoryOf(pod: Pod | undefined, volume: Volume | undefined): Directory {
  return {
    podByUid: (uid) => (uid === pod?.uid ? pod : undefined),
    volumeByName: (name) => (name === volume?.key ? volume : undefined),
    volumesByHandle: () => [],
    claim: () => undefined,
    knewClaim: () => false,
  };
}

function viewOf(
  ...ends: readonly { readonly id: string; readonly byMs: number; readonly volume?: VolumeIdentity }[]
): NodeView {
  return viewWith({
    unmountRecords: new Map(
      ends.map(({ id, byMs, volume = BY_NAME }) => [id, nodeUnmountRecord({ id, byMs, volume, podUid: "pod-1" })]),
    ),
  });
}

describe("newUnmounts", () => {
  const deleted = podWith({ deletedAtMs: NOON });
  const driver = volumeWith({ csi: CSI });

  const later = podWith({ deletedAtMs: NOON + 60_000 });
  it.each<readonly [name: string, driver: string | undefined, pod: Pod | undefined, volume: Volume | undefined]>([
    ["a pod that was deleted", "block.example", deleted, driver],
    ["a volume of another kind", "in-tree", deleted, volumeWith()],
    ["a volume that is not known", "unknown", deleted, undefined],
    ["a pod that nobody has deleted", undefined, podWith(), driver],
    ["a pod that was deleted long after it had ended", undefined, later, driver],
    ["a pod that is not known", undefined, undefined, driver],
  ])("of %s: %s", (...[, name, pod, volume]) => {
    const unmounts = newUnmounts(undefined, viewOf({ id: "r1", byMs: NOON + 4_200 }), directoryOf(pod, volume));

    expect(unmounts).toEqual(name === undefined ? [] : [{ driver: name, ms: 4_200 }]);
  });

  it("counts each unmount record once, however often it is told and dated", () => {
    const directory = directoryOf(deleted, driver);
    const first = viewOf({ id: "r1", byMs: NOON + 1_000 });

    const again = newUnmounts(
      first,
      viewOf({ id: "r1", byMs: NOON + 1_300 }, { id: "r2", byMs: NOON + 2_000 }),
      directory,
    );

    expect(again).toEqual([{ driver: "block.example", ms: 2_000 }]);
  });

  it.each([
    { name: "a handle", volume: { by: "handle", ...CSI } as const, expected: "block.example" },
    { name: "a device", volume: { by: "device", plugin: "iscsi", path: "x" } as const, expected: "in-tree" },
  ])("knows the driver of $name without a PV", ({ volume, expected }) => {
    const view = viewOf({ id: "r1", byMs: NOON + 1, volume });

    const [unmount] = newUnmounts(undefined, view, directoryOf(deleted, undefined));

    expect(unmount?.driver).toBe(expected);
  });
});
