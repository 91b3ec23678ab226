import { describe, expect, it } from "vitest";
import type { Directory } from "../../../../aggregator/core/attribution.ts";
import { type IdleStagings, idleStagings, NO_STAGINGS } from "../../../../aggregator/core/idle-staging.ts";
import type { NodeMountedVolume, NodeUnmountRecord } from "../../../../aggregator/core/node-view.ts";
import type { VolumeIdentity } from "../../../../common/storage/volume-identity.ts";
import { NOON, nodeUnmountRecord, viewWith, volumeWith } from "../world.ts";
import { countedRecords } from "./evidence.ts";

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

const MIN = 60_000;
const known: IdleStagings = new Map([["volume-1", NOON + MIN]]);

/** Minutes after noon since when the volume is idle after a report whose scan ended ten minutes after noon. */
function idleAfter(
  before: IdleStagings,
  mountedVolumes: Mounts,
  records: readonly NodeUnmountRecord[],
): number | undefined {
  const unmountRecords = new Map(records.map((one) => [one.id, one]));
  const view = viewWith({ mountedVolumes, unmountRecords, scanEndedMs: NOON + 10 * MIN });
  const sinceMs = idleStagings(before, view, directory).get("volume-1");
  return sinceMs === undefined ? undefined : (sinceMs - NOON) / MIN;
}

type Mounts = readonly NodeMountedVolume[];
type Row = readonly [
  name: string,
  before: IdleStagings,
  mounts: Mounts,
  records: readonly NodeUnmountRecord[],
  since: number | undefined,
];

describe("a staged volume has been idle", () => {
  const used = () => idleStagings(known, viewWith({ mountedVolumes: [staging(), use("pv-1")] }), directory);
  const byHandle: NodeMountedVolume = { ...staging(), kind: "block", podUid: "p" };
  const ends = [7, 2].map((minutes) => nodeUnmountRecord({ id: `${minutes}`, byMs: NOON + minutes * MIN }));
  it.each<Row>([
    ["since the scan that first showed it so", NO_STAGINGS, [staging()], [], 10],
    ["since it had begun before", known, [staging()], [], 1],
    ["never while a pod uses it by its name", known, [staging(), use("pv-1")], [], undefined],
    ["never while a pod uses it by its handle", known, [staging(), byHandle], [], undefined],
    ["although a pod uses another volume", known, [staging(), use("pv-2")], [], 1],
    ["never when it is not staged", known, [], [], undefined],
    ["anew when it was staged anew", known, [staging(NOON + 5 * MIN)], [], 5],
    ["since the end of a use that no report showed", known, [staging()], ends, 7],
    ["never for a handle that no volume has", NO_STAGINGS, [staging(NOON, "b".repeat(64))], [], undefined],
  ])("%s", (...[, before, mounts, records, since]) => {
    expect(idleAfter(before, mounts, records)).toBe(since);
  });

  it("anew after a use", () => {
    expect(idleAfter(used(), [staging()], [])).toBe(10);
  });

  it("by one look at each unmount record, for all volumes that are staged", () => {
    const { unmountRecords, looks } = countedRecords(1_000);
    const mountedVolumes = Array.from({ length: 500 }, (_, at): NodeMountedVolume => {
      return { ...staging(), volume: { by: "name", name: `pv-${at}` } };
    });
    const volumeByName = (name: string) => volumeWith({ key: name, uid: name });

    const idle = idleStagings(NO_STAGINGS, viewWith({ mountedVolumes, unmountRecords }), {
      ...directory,
      volumeByName,
    });

    expect(idle.size).toBe(500);
    expect(looks()).toBe(1_000);
  });
});
