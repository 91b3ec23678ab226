import { describe, expect, it } from "vitest";
import type { NodeUnmountRecord } from "../../../../aggregator/core/node-view.ts";
import { isSettledFor, latestUnmountRecords } from "../../../../aggregator/core/settlement.ts";
import type { ClaimStatus } from "../../../../common/storage/claim-status.ts";
import { claimWith, mountedStatus, NOON, nodeUnmountRecord, statusWith } from "../world.ts";
import { lastUseWith } from "./decisions.ts";

/** Another use of `n1` that is stored as the last one; a row's record ended at noon. */
const other = lastUseWith({ releaseId: "other", releasedAtMs: NOON - 1 });
const usedAt = (releasedAtMs: number) => ({ lastUse: { ...other, releasedAtMs } });
const own = (releasedAtMs: number) => statusWith({ lastUse: { ...other, releaseId: "release-1", releasedAtMs } });
const unused = (fields: Partial<ClaimStatus>) => statusWith({ unused: true, reason: "Unmounted", ...fields });
const goneWith = (node: string) =>
  unused({ lastUse: { ...other, releasedAtMs: NOON + 1, evidence: "node-gone", node } });
const mounted = mountedStatus(["n1"]);
const later = { id: "release-2", byMs: NOON + 1 };
const untold = { ...later, isReported: false };

interface Row {
  readonly name: string;
  readonly status?: ClaimStatus | undefined;
  readonly isDeleting?: boolean;
  readonly record?: Partial<NodeUnmountRecord>;
  readonly others?: readonly Partial<NodeUnmountRecord>[];
  readonly nowMs?: number;
  readonly settled: boolean;
}

function isSettled({ status, isDeleting = false, record = {}, others = [], nowMs = NOON }: Row): boolean {
  const unmountRecord = nodeUnmountRecord(record);
  const unmountRecords = [unmountRecord, ...others.map((one) => nodeUnmountRecord(one))];
  return isSettledFor(claimWith({ status, isDeleting }), unmountRecord, { unmountRecords, nowMs });
}

describe("isSettledFor", () => {
  it.each<Row>(
    // biome-ignore format: a row is a line
    [
      { name: "a claim without a status may get one from it", settled: false },
      { name: "it is stored as the last use", status: own(NOON - 1), settled: true },
      { name: "it is stored, but as of the future", status: own(NOON + 5_001), settled: false },
      { name: "an earlier use is stored", status: unused({ lastUse: other }), settled: false },
      { name: "a later use is stored", status: unused(usedAt(NOON)), settled: true },
      { name: "a later use is stored, but not yet that this one has ended, too", status: statusWith(usedAt(NOON)), settled: false },
      { name: "a later use is stored that ends in the future: it is forged", status: unused(usedAt(NOON + 5_001)), settled: false },
      { name: "a later use is stored, and our present time is a little behind it", status: unused(usedAt(NOON + 5_000)), settled: true },
      { name: "unused since it or later, but who used it last is not stored", status: unused({}), settled: false },
      { name: "a later end is stored that was assumed with its own node's", status: goneWith("n1"), settled: false },
      { name: "one is stored that was assumed with another node's a moment ago", status: goneWith("n2"), settled: false },
      { name: "one is stored that was so with its own ten minutes ago", status: goneWith("n1"), nowMs: NOON + 600_001, settled: false },
      { name: "one is stored that was so with another's ten minutes ago", status: goneWith("n2"), nowMs: NOON + 600_001, settled: true },
      { name: "mounted by what is stored", status: mounted, settled: false },
      { name: "its node tells of a later one", status: mounted, others: [later], settled: true },
      { name: "its node tells of a later one, whatever is stored", others: [later], settled: true },
      { name: "another node tells of a later one, and may go first", status: mounted, others: [{ ...later, node: "n2" }], settled: false },
      { name: "a later one is known by no journal", status: mounted, others: [untold], settled: false },
      { name: "no journal has it, nor the later one", status: mounted, record: { isReported: false }, others: [untold], settled: true },
      { name: "its node tells of an earlier one", status: mounted, others: [{ id: "release-0", byMs: NOON - 1 }], settled: false },
      { name: "that one's report took longer", status: mounted, others: [{ ...later, byMs: NOON + 5_000, by: 999 }], settled: false },
      { name: "it tells of one of a later boot", status: mounted, others: [{ id: "release-2", timeline: 1, by: 5 }], settled: true },
      { name: "it tells of one of an earlier boot", status: mounted, record: { timeline: 1 }, others: [{ ...later, by: 9_000 }], settled: false },
      { name: "of two at one time the second counts", status: mounted, others: [{ id: "release-2" }], settled: true },
      { name: "of two at one time the second is not settled", status: mounted, record: { id: "release-2" }, others: [{}], settled: false },
      { name: "a claim that is being deleted and says nothing gets no status", isDeleting: true, settled: true },
      { name: "a claim that is being deleted and is in use goes by it", status: mounted, isDeleting: true, settled: false },
    ],
  )("$name: $settled", (row) => {
    expect(isSettled(row)).toBe(row.settled);
  });
});

describe("of a node's records of a claim", () => {
  const first = nodeUnmountRecord({ id: "a", byMs: NOON });
  const second = nodeUnmountRecord({ id: "b", byMs: NOON + 1 });
  const unread = nodeUnmountRecord({ id: "c", byMs: NOON + 2, isReported: false });

  it.each([
    { name: "none of none", records: [], latest: [] },
    { name: "the later of those in a journal", records: [first, second], latest: [second] },
    { name: "it whichever comes first", records: [second, first], latest: [second] },
    { name: "one that no journal has beside it", records: [unread, first, second], latest: [second, unread] },
  ])("$name decides whether any other is settled", ({ records, latest }) => {
    expect(latestUnmountRecords(records)).toEqual(latest);
  });
});
