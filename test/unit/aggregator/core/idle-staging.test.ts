import { describe, expect, it } from "vitest";
import type { Directory } from "../../../../aggregator/core/attribution.ts";
import { type IdleStagings, idleStagings, NO_STAGINGS } from "../../../../aggregator/core/idle-staging.ts";
import type { NodeHold, NodeRelease } from "../../../../aggregator/core/node-view.ts";
import type { VolumeIdentity } from "../../../../common/storage/volume-identity.ts";
import { NOON, nodeRelease, viewWith, volumeWith } from "../world.ts";

const CSI = { driver: "csi.example", handleHash: "a".repeat(64) };
const volume = volumeWith({ csi: CSI });
const directory: Directory = {
  volumeByName: (name) => (name === "pv-1" ? volume : undefined),
  volumesByHandle: (_driver, handleHash) => (handleHash === CSI.handleHash ? [volume] : []),
  podByUid: () => undefined,
  claim: () => undefined,
  knewClaim: () => false,
};

function staging(beganByMs = NOON - 60_000, handleHash = CSI.handleHash): NodeHold {
  const of: VolumeIdentity = { by: "handle", driver: "csi.example", handleHash };
  return { kind: "staging", volume: of, podUid: undefined, pod: undefined, since: 0, beganByMs };
}

function use(name: string): NodeHold {
  return { kind: "pod", volume: { by: "name", name }, podUid: "p", pod: undefined, since: 0, beganByMs: NOON };
}

/** Minutes after noon since when the volume is idle after a report whose read ended at `readAt`. */
function idleAfter(
  known: IdleStagings,
  { readAt, holds, releases = [] }: { readAt: number; holds: readonly NodeHold[]; releases?: readonly NodeRelease[] },
): number | undefined {
  const view = viewWith({
    holds,
    readEndedMs: NOON + readAt * 60_000,
    releases: new Map(releases.map((release) => [release.id, release])),
  });
  const sinceMs = idleStagings(known, view, directory).get("volume-1");
  return sinceMs === undefined ? undefined : (sinceMs - NOON) / 60_000;
}

const known: IdleStagings = new Map([["volume-1", NOON + 60_000]]);

describe("idleStagings", () => {
  it.each([
    { name: "at the end of the read that first showed it idle", known: NO_STAGINGS, holds: [staging()], expected: 10 },
    { name: "when it had begun before", known, holds: [staging()], expected: 1 },
    { name: "never, while a pod uses it by its name", known, holds: [staging(), use("pv-1")], expected: undefined },
    {
      name: "never, while a pod uses it by its handle",
      known,
      holds: [staging(), { ...staging(), kind: "block" as const, podUid: "p" }],
      expected: undefined,
    },
    { name: "although a pod uses another volume", known, holds: [staging(), use("pv-2")], expected: 1 },
    { name: "never, when it is not staged", known, holds: [], expected: undefined },
    { name: "anew, when it was staged anew", known, holds: [staging(NOON + 5 * 60_000)], expected: 5 },
    {
      name: "at the end of a use that no report showed",
      known,
      holds: [staging()],
      releases: [nodeRelease({ byMs: NOON + 7 * 60_000 }), nodeRelease({ id: "earlier", byMs: NOON + 2 * 60_000 })],
      expected: 7,
    },
    {
      name: "never, for a handle that no volume has",
      known: NO_STAGINGS,
      holds: [staging(NOON, "b".repeat(64))],
      expected: undefined,
    },
  ])("a staged volume has been idle since: $name", ({ known, holds, releases, expected }) => {
    expect(idleAfter(known, { readAt: 10, holds, ...(releases && { releases }) })).toBe(expected);
  });

  it("begins anew after a use", () => {
    const view = viewWith({ holds: [staging(), use("pv-1")] });

    const used = idleStagings(known, view, directory);

    expect(idleAfter(used, { readAt: 20, holds: [staging()] })).toBe(20);
  });
});
