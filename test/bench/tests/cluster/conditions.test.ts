import { describe, expect, it } from "vitest";
import { CONDITION_TYPE, LAST_USE, readClaimStatus } from "../../../../common/storage/claim-status.ts";
import { writtenCondition } from "../../cluster/conditions.ts";
import { claimPlace, nodeName, sizesOf } from "../../cluster/layout.ts";
import { Template } from "../../cluster/template.ts";

const sizes = sizesOf(0.002);
/** A whole second. */
const WRITTEN = 1_795_000_000_000;

function written(index: number, uid: string) {
  return writtenCondition(claimPlace(index, sizes), { uid, atMs: WRITTEN });
}

function statusOf(index: number) {
  const { metadata, status } = written(index, "uid-1");
  return readClaimStatus({ uid: "uid-1", condition: status.conditions[0], annotations: metadata.annotations });
}

describe("a condition of before the start", () => {
  it.each([
    {
      name: "a claim that a pod of the node has mounted says so",
      index: 41,
      expected: { unused: false, reason: "Mounted", mountedOn: { nodes: [nodeName(1)], more: false } },
    },
    {
      name: "an idle claim was never seen in use",
      index: 60,
      expected: { unused: true, reason: "NeverObservedInUse" },
    },
    {
      name: "or its last use comes from the mount table",
      index: 61,
      expected: { unused: true, reason: "Unmounted", lastUse: { node: nodeName(1), evidence: "mount-table" } },
    },
  ])("is one that the product reads: $name", ({ index, expected }) => {
    expect(statusOf(index)).toMatchObject({ ...expected, sinceMs: WRITTEN });
  });

  it("has texts as long on each node, so that a copy of it is one, too", () => {
    const bytes = Buffer.from(written(21, "uid-1").metadata.annotations[LAST_USE] ?? "");

    const copy = new Template(bytes, written(21, "uid-1")).copy(written(21 + 160, "uid-2"));

    expect(copy.toString()).toBe(written(21 + 160, "uid-2").metadata.annotations[LAST_USE]);
  });

  it("is Mooring's own and no other", () => {
    expect(written(0, "uid-1").status.conditions.map(({ type }) => type)).toEqual([CONDITION_TYPE]);
  });
});
