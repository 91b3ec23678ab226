import { describe, expect, it } from "vitest";
import { UnsettledEnds } from "../../../aggregator/unsettled-ends.ts";
import { NOON, podWith } from "./world.ts";

function endAt(gone: number, fields: { readonly wasOver?: boolean; readonly claims?: readonly string[] } = {}) {
  const { wasOver = false, claims = ["data"] } = fields;
  return { pod: podWith({ uid: `pod-${gone}`, claims }), gone: String(gone), wasOver, seenAtMs: NOON };
}

describe("ends of pods that no leader has dealt with", () => {
  it("are kept until a leader has come as far as they", () => {
    const ends = new UnsettledEnds();
    for (const gone of [9, 10, 11]) ends.note(endAt(gone));

    ends.settle("10");

    expect(ends.all.map(({ gone }) => gone)).toEqual(["11"]);
    expect(ends.droppedUpTo).toBeUndefined();
  });

  it.each([
    { name: "named no claim", end: endAt(1, { claims: [] }) },
    { name: "was over in the first list, and can be read again", end: endAt(1, { wasOver: true }) },
  ])("do not include that of a pod that $name", ({ end }) => {
    const ends = new UnsettledEnds();

    ends.note(end);

    expect(ends.all).toEqual([]);
  });

  it("are not kept without a bound, and it is known up to where they are lost", () => {
    const ends = new UnsettledEnds();

    for (let gone = 1; gone <= 50_001; gone += 1) ends.note(endAt(gone));

    expect(ends.all).toHaveLength(25_001);
    expect(ends.droppedUpTo).toBe("25000");
  });
});
