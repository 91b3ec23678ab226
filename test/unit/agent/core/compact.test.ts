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

describe("compactReleases", () => {
  it.each([
    { name: "keeps all while there is room", unmountRecords: "a1 a2 b3", most: 3, kept: "a1 a2 b3" },
    { name: "keeps their order while there is just room", unmountRecords: "b3 a1", most: 2, kept: "b3 a1" },
    {
      name: "drops the oldest that a later one of its volume stands for",
      unmountRecords: "a1 a2 b3",
      most: 2,
      kept: "a2 b3",
    },
    { name: "drops no more than it must", unmountRecords: "a1 a2 a3 b4 b5", most: 4, kept: "a2 a3 b4 b5" },
    { name: "never drops the latest of a volume", unmountRecords: "a1 b2 c3", most: 1, kept: "a1 b2 c3" },
    { name: "goes by the time of the end, not by the order", unmountRecords: "a9 a1 b3", most: 2, kept: "b3 a9" },
    { name: "tells volumes of two namespaces apart", unmountRecords: "a1 A2 a3", most: 2, kept: "A2 a3" },
    { name: "keeps what may be another's", unmountRecords: "a1 A2", most: 1, kept: "a1 A2" },
    { name: "keeps that of a pod whose name was not known", unmountRecords: "?a1 a2 a3", most: 2, kept: "?a1 a3" },
  ])("$name", ({ unmountRecords, most, kept }) => {
    expect(compactUnmountRecords(unmountRecordsOf(unmountRecords), most).map(({ id }) => id)).toEqual(kept.split(" "));
  });

  it("keeps the latest end of every volume, and as many as it may", () => {
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

  it("has room for ten thousand", () => {
    expect(MAX_KEPT_UNMOUNT_RECORDS).toBe(10_000);
  });
});
