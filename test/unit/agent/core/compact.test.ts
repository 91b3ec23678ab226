import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compactUnmountRecords, MAX_KEPT_UNMOUNT_RECORDS } from "../../../../agent/core/compact.ts";
import { volumeKey } from "../../../../common/storage/volume-identity.ts";
import { unmountRecordOf } from "../../../fakes/node-states.ts";

/** `a1` is the end of volume a's use at 1 by a pod of namespace `team`; `A1` of one of another namespace, `?a1` of an unknown pod. */
function unmountRecordsOf(text: string) {
  return text.split(" ").map((word) => {
    const [, unknown, letter = "", at] = /^(\??)([a-zA-Z])(\d+)$/.exec(word) ?? [];
    const { pod: _, ...unmountRecord } = unmountRecordOf(letter.toLowerCase().charCodeAt(0), Number(at));
    const namespace = letter === letter.toLowerCase() ? "team" : "test";
    return { ...unmountRecord, id: word, ...(unknown === "?" ? {} : { pod: `${namespace}/web-${at}` }) };
  });
}

describe("compactUnmountRecords", () => {
  it.each([
    { name: "keeps all below the limit", unmountRecords: "a1 a2 b3", most: 3, kept: "a1 a2 b3" },
    { name: "keeps their order at the limit", unmountRecords: "b3 a1", most: 2, kept: "b3 a1" },
    {
      name: "drops the oldest record that has a later one of its volume",
      unmountRecords: "a1 a2 b3",
      most: 2,
      kept: "a2 b3",
    },
    { name: "drops no more than it must", unmountRecords: "a1 a2 a3 b4 b5", most: 4, kept: "a2 a3 b4 b5" },
    { name: "never drops the latest of a volume", unmountRecords: "a1 b2 c3", most: 1, kept: "a1 b2 c3" },
    { name: "compares the time of the unmount, not the order", unmountRecords: "a9 a1 b3", most: 2, kept: "b3 a9" },
    { name: "separates volumes of two namespaces", unmountRecords: "a1 A2 a3", most: 2, kept: "A2 a3" },
    { name: "keeps a record that may be of another volume", unmountRecords: "a1 A2", most: 1, kept: "a1 A2" },
    { name: "keeps the record of a pod whose name is unknown", unmountRecords: "?a1 a2 a3", most: 2, kept: "?a1 a3" },
  ])("$name", ({ unmountRecords, most, kept }) => {
    expect(compactUnmountRecords(unmountRecordsOf(unmountRecords), most).map(({ id }) => id)).toEqual(kept.split(" "));
  });

  it("keeps the latest record of every volume, and as many as the limit allows", () => {
    const unmountRecord = fc.tuple(fc.nat(5), fc.nat(100)).map(([n, at]) => unmountRecordOf(n, 30 + at));
    fc.assert(
      fc.property(fc.uniqueArray(unmountRecord, { selector: ({ id }) => id }), fc.nat(20), (unmountRecords, most) => {
        const kept = compactUnmountRecords(unmountRecords, most);

        const latest = new Map(
          unmountRecords.toSorted((one, other) => one.by - other.by).map((one) => [volumeKey(one.volume), one.by]),
        );
        for (const one of unmountRecords) {
          if (latest.get(volumeKey(one.volume)) === one.by) expect(kept).toContainEqual(one);
        }
        expect(kept.length).toBe(Math.min(unmountRecords.length, Math.max(most, kept.length)));
        if (kept.length > most) expect(kept.length).toBe(latest.size);
      }),
      { seed: 5541 },
    );
  });

  it("has a limit of ten thousand", () => {
    expect(MAX_KEPT_UNMOUNT_RECORDS).toBe(10_000);
  });
});
