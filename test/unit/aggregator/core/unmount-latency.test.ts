import { describe, expect, it } from "vitest";
import type { Directory } from "../../../../aggregator/core/attribution.ts";
import type { Pod, Volume } from "../../../../aggregator/core/cluster-objects.ts";
import type { NodeView } from "../../../../aggregator/core/node-view.ts";
import { newUnmounts } from "../../../../aggregator/core/unmount-latency.ts";
import type { VolumeIdentity } from "../../../../common/storage/volume-identity.ts";
import { NOON, nodeUnmountRecord, podWith, viewWith, volumeWith } from "../world.ts";

const CSI = { driver: "block.example", handleHash: "a".repeat(64) };
const BY_NAME: VolumeIdentity = { by: "name", name: "pv-1" };

function directoryOf(pod: Pod | undefined, volume: Volume | undefined): Directory {
  const [podByUid, volumeByName] = [() => pod, () => volume];
  return { podByUid, volumeByName, volumesByHandle: () => [], claim: () => undefined, knewClaim: () => false };
}

/** Unmounts of the pod, so many milliseconds after noon. */
function viewOf(ends: Readonly<Record<string, number>>, volume = BY_NAME): NodeView {
  const records = Object.entries(ends).map(([id, ms]) => nodeUnmountRecord({ id, byMs: NOON + ms, volume }));
  return viewWith({ unmountRecords: new Map(records.map((one) => [one.id, one])) });
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
    const unmounts = newUnmounts(undefined, viewOf({ r1: 4_200 }), directoryOf(pod, volume));

    expect(unmounts).toEqual(name === undefined ? [] : [{ driver: name, ms: 4_200 }]);
  });

  it("counts each unmount record once, however often it is told and dated", () => {
    const again = newUnmounts(viewOf({ r1: 1_000 }), viewOf({ r1: 1_300, r2: 2_000 }), directoryOf(deleted, driver));

    expect(again).toEqual([{ driver: "block.example", ms: 2_000 }]);
  });

  it.each([
    { name: "a handle", volume: { by: "handle", ...CSI } as const, expected: "block.example" },
    { name: "a device", volume: { by: "device", plugin: "iscsi", path: "x" } as const, expected: "in-tree" },
  ])("knows the driver of $name without a PV", ({ volume, expected }) => {
    const [unmount] = newUnmounts(undefined, viewOf({ r1: 1 }, volume), directoryOf(deleted, undefined));

    expect(unmount?.driver).toBe(expected);
  });
});
