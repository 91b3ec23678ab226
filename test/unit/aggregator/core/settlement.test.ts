import { describe, expect, it } from "vitest";
import type { NodeUnmountRecord } from "../../../../aggregator/core/node-view.ts";
import { isSettledFor } from "../../../../aggregator/core/settlement.ts";
import type { ClaimStatus } from "../../../../common/storage/claim-status.ts";
import { claimWith, mountedStatus, NOON, nodeUnmountRecord, statusWith } from "../world.ts";

const stored = {
  releaseId: "other",
  node: "n1",
  pod: "shop/web-0",
  podUid: "pod-1",
  releasedAtMs: NOON - 1,
  uncertaintyMs: 20,
  evidence: "mount-table",
} as const;

function goneWith(node: string): ClaimStatus {
  const lastUse = { ...stored, releasedAtMs: NOON + 1, evidence: "node-gone", node } as const;
  return statusWith({ unused: true, reason: "NodeGone", lastUse });
}

const later = { id: "release-2", byMs: NOON + 1 };

describe("isSettledFor", () => {
  it.each<{
    readonly name: string;
    readonly status?: ClaimStatus | undefined;
    readonly unmountRecord?: Partial<NodeUnmountRecord>;
    readonly others?: readonly Partial<NodeUnmountRecord>[];
    readonly nowMs?: number;
    readonly settled: boolean;
  }>(
    // biome-ignore format: a row is a line
    [
      { name: "a claim without a status may get one from it", settled: false },
      { name: "it is stored as the last use", status: statusWith({ lastUse: { ...stored, releaseId: "release-1" } }), settled: true },
      {
        name: "a later use is stored",
        status: statusWith({ unused: true, reason: "Unmounted", lastUse: { ...stored, releasedAtMs: NOON } }),
        settled: true,
      },
      {
        name: "a later use is stored, but not yet that this one has ended, too",
        status: statusWith({ lastUse: { ...stored, releasedAtMs: NOON } }),
        settled: false,
      },
      { name: "an earlier use is stored", status: statusWith({ unused: true, lastUse: stored }), settled: false },
      {
        name: "a later use is stored that ends in the future: somebody has forged it",
        status: statusWith({ unused: true, reason: "Unmounted", lastUse: { ...stored, releasedAtMs: NOON + 5_001 } }),
        settled: false,
      },
      {
        name: "a later use is stored, and our bound of the present time is a little behind it",
        status: statusWith({ unused: true, reason: "Unmounted", lastUse: { ...stored, releasedAtMs: NOON + 5_000 } }),
        settled: true,
      },
      {
        name: "it is stored by its name, but as of the future",
        status: statusWith({ lastUse: { ...stored, releaseId: "release-1", releasedAtMs: NOON + 5_001 } }),
        settled: false,
      },
      {
        name: "unused since it or later, but who used it last is not stored",
        status: statusWith({ unused: true, reason: "NoPodUsing" }),
        settled: false,
      },
      { name: "a later end is stored that was only assumed with its own node's", status: goneWith("n1"), settled: false },
      { name: "a later end is stored that was assumed with another node's a moment ago: that may be back", status: goneWith("n2"), settled: false },
      {
        name: "a later end is stored that was assumed with another node's ten minutes ago",
        status: goneWith("n2"),
        nowMs: NOON + 600_001,
        settled: true,
      },
      { name: "mounted by what is stored", status: mountedStatus(["n1"]), settled: false },
      { name: "its node tells of a later one", status: mountedStatus(["n1"]), others: [later], settled: true },
      { name: "its node tells of a later one, whatever is stored", others: [later], settled: true },
      {
        name: "another node tells of a later one, and may go before it is stored",
        status: mountedStatus(["n1"]),
        others: [{ ...later, node: "n2" }],
        settled: false,
      },
      {
        name: "a later one is known by what a report lacked, and by no journal",
        status: mountedStatus(["n1"]),
        others: [{ ...later, isTold: false }],
        settled: false,
      },
      {
        name: "no journal has it, nor the later one that is known",
        status: mountedStatus(["n1"]),
        unmountRecord: { isTold: false },
        others: [{ ...later, isTold: false }],
        settled: true,
      },
      { name: "its node tells of an earlier one", status: mountedStatus(["n1"]), others: [{ id: "release-0", byMs: NOON - 1 }], settled: false },
      {
        name: "its node tells of an earlier one, whose report took longer",
        status: mountedStatus(["n1"]),
        others: [{ id: "release-2", byMs: NOON + 5_000, by: 999 }],
        settled: false,
      },
      {
        name: "its node tells of one of a later boot, whatever its stamp",
        status: mountedStatus(["n1"]),
        others: [{ id: "release-2", timeline: 1, by: 5 }],
        settled: true,
      },
      {
        name: "its node tells of one of an earlier boot, whatever its stamp",
        status: mountedStatus(["n1"]),
        unmountRecord: { timeline: 1 },
        others: [{ ...later, by: 9_000 }],
        settled: false,
      },
      { name: "of two at one time the second counts", status: mountedStatus(["n1"]), others: [{ id: "release-2" }], settled: true },
    ],
  )("$name: $settled", ({ status, unmountRecord: fields = {}, others = [], nowMs = NOON, settled }) => {
    const unmountRecord = nodeUnmountRecord(fields);
    const unmountRecords = [unmountRecord, ...others.map((other) => nodeUnmountRecord(other))];

    expect(isSettledFor(claimWith({ status }), unmountRecord, { unmountRecords, nowMs })).toBe(settled);
  });

  it.each([
    { name: "carries no condition: nothing is going to be written of it", status: undefined, settled: true },
    { name: "counts as used: the unmount record lets it go", status: mountedStatus(["n1"]), settled: false },
  ])("a claim that is being deleted and $name", ({ status, settled }) => {
    const unmountRecord = nodeUnmountRecord();
    const claim = claimWith({ isDeleting: true, status });

    expect(isSettledFor(claim, unmountRecord, { unmountRecords: [unmountRecord], nowMs: NOON })).toBe(settled);
  });

  it("of two unmount records at one time just one is settled", () => {
    const claim = claimWith({ status: mountedStatus(["n1"]) });
    const unmountRecords = [nodeUnmountRecord(), nodeUnmountRecord({ id: "release-2" })];

    const settled = unmountRecords.filter((unmountRecord) =>
      isSettledFor(claim, unmountRecord, { unmountRecords, nowMs: NOON }),
    );

    expect(settled).toHaveLength(1);
  });
});
