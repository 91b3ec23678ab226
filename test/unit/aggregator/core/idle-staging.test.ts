import { describe, expect, it } from "vitest";
import type { Directory } from "../../../../aggregator/core/attribution.ts";
import { type IdleStagings, idleStagings, NO_STAGINGS } from "../../../../aggregator/core/idle-staging.ts";
import type { NodeMountedVolume, NodeUnmountRecord } from "../../../../aggregator/core/node-view.ts";
import type { VolumeIdentity } from "../../../../common/storage/volume-identity.ts";
import { NOON, nodeUnmountRecord, viewWith, volumeWith } from "../world.ts";

const CSI = { driver: "csi.example", handleHash: "a".repeat(64) };
const volume = volumeWith({ csi: CSI });
const directory: Directory = {
  volumeByName: (name) => (name === "pv-1" ? volume : undefined),
  volumesByHandle: (_driver, handleHash) => (handleHash === CSI.handleHash ? [volume] : []),
  podByUid: () => undefined,
  claim: () => undefined,
  knewClaim: () => false,
};

function staging(beganByMs = NOON - 60_000, handleHash = CSI.handleHash): NodeMountedVolume {
  const of: VolumeIdentity = { by: "handle", driver: "csi.example", handleHash };
  return { kind: "staging", volume: of, podUid: undefined, pod: undefined, since: 0, beganByMs };
}

function use(name: string): NodeMountedVolume {
  return { kind: "pod", volume: { by: "name", name }, podUid: "p", pod: undefined, since: 0, beganByMs: NOON };
}

/** Minutes after noon since when the volume is idle after a report whose read ended at `readAt`. */
function idleAfter(
  known: IdleStagings,
  {
    readAt,
    mountedVolumes,
    unmountRecords = [],
  }: { readAt: number; mountedVolumes: readonly NodeMountedVolume[]; unmountRecords?: readonly NodeUnmountRecord[] },
): number | undefined {
  const view = viewWith({
    mountedVolumes,
    scanEndedMs: NOON + readAt * 60_000,
    unmountRecords: new Map(unmountRecords.map((unmountRecord) => [unmountRecord.id, unmountRecord])),
  });
  const sinceMs = idleStagings(known, view, directory).get("volume-1");
  return sinceMs === undefined ? undefined : (sinceMs - NOON) / 60_000;
}

const known: IdleStagings = new Map([["volume-1", NOON + 60_000]]);

describe("idleStagings", () => {
  it.each(
    // biome-ignore format: a row is a line
    [
      { name: "at the end of the scan that first showed it idle", known: NO_STAGINGS, mountedVolumes: [staging()], expected: 10 },
      { name: "when it had begun before", known, mountedVolumes: [staging()], expected: 1 },
      { name: "never, while a pod uses it by its name", known, mountedVolumes: [staging(), use("pv-1")], expected: undefined },
      {
        name: "never, while a pod uses it by its handle",
        known,
        mountedVolumes: [staging(), { ...staging(), kind: "block" as const, podUid: "p" }],
        expected: undefined,
      },
      { name: "although a pod uses another volume", known, mountedVolumes: [staging(), use("pv-2")], expected: 1 },
      { name: "never, when it is not staged", known, mountedVolumes: [], expected: undefined },
      { name: "anew, when it was staged anew", known, mountedVolumes: [staging(NOON + 5 * 60_000)], expected: 5 },
      {
        name: "at the end of a use that no report showed",
        known,
        mountedVolumes: [staging()],
        unmountRecords: [
          nodeUnmountRecord({ byMs: NOON + 7 * 60_000 }),
          nodeUnmountRecord({ id: "earlier", byMs: NOON + 2 * 60_000 }),
        ],
        expected: 7,
      },
      { name: "never, for a handle that no volume has", known: NO_STAGINGS, mountedVolumes: [staging(NOON, "b".repeat(64))], expected: undefined },
    ],
  )("a staged volume has been idle since: $name", ({ known, mountedVolumes, unmountRecords, expected }) => {
    expect(idleAfter(known, { readAt: 10, mountedVolumes, ...(unmountRecords && { unmountRecords }) })).toBe(expected);
  });

  it("begins anew after a use", () => {
    const view = viewWith({ mountedVolumes: [staging(), use("pv-1")] });

    const used = idleStagings(known, view, directory);

    expect(idleAfter(used, { readAt: 20, mountedVolumes: [staging()] })).toBe(20);
  });
});
