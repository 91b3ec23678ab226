import { describe, expect, it } from "vitest";
import { WriteMemories } from "../../../../aggregator/writing/write-memories.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { claimWith, mountedStatus, statusWith } from "../world.ts";

const unused = statusWith({ unused: true, reason: "Unmounted" });
const apply = { kind: "apply", status: unused, upstream: "none", isRepair: false, canWait: false } as const;
const later = { ...apply, status: { ...unused, sinceMs: unused.sinceMs + 60_000 } } as const;

describe("WriteMemories", () => {
  it("keeps through a rest what must not be told or done again at once, and nothing else", () => {
    const memories = new WriteMemories(createFakeClock(), 5_000);
    const [told, putBack, folding] = ["a", "b", "c"].map((uid) => claimWith({ uid, key: `shop/${uid}` }));
    if (told === undefined || putBack === undefined || folding === undefined) return;
    memories.of(told).toldRefusal = "Forbidden";
    memories.of(putBack).isPutBackTold = true;
    memories.of(folding).reasonChangedAt = 7;
    const before = [told, putBack, folding].map((claim) => memories.of(claim));

    for (const claim of [told, putBack, folding]) memories.rest(claim);

    const kept = [told, putBack, folding].map((claim, index) => memories.of(claim) === before[index]);
    expect(kept).toEqual([true, true, false]);
    expect(memories.of(folding).reasonChangedAt).toBeUndefined();
  });

  it("forgets a claim that is gone, and not the one that has its name by now", () => {
    const memories = new WriteMemories(createFakeClock(), 5_000);
    memories.of(claimWith()).toldRefusal = "Forbidden";

    memories.forget(claimWith({ uid: "claim-0" }));
    const kept = memories.of(claimWith()).toldRefusal;
    memories.forget(claimWith());

    expect([kept, memories.of(claimWith()).toldRefusal]).toEqual(["Forbidden", undefined]);
  });

  it("begins anew with a claim that was re-created", () => {
    const memories = new WriteMemories(createFakeClock(), 5_000);
    memories.of(claimWith()).toldRefusal = "Forbidden";

    expect(memories.of(claimWith({ uid: "claim-2" })).toldRefusal).toBeUndefined();
  });

  it("remembers nothing of a claim that is looked at, written and at rest", () => {
    const memories = new WriteMemories(createFakeClock(), 5_000);

    const restMs = memories.restBefore(claimWith(), apply);
    memories.written(claimWith(), apply);

    expect([restMs, memories.known(claimWith())]).toEqual([0, undefined]);
  });

  it.each([
    { name: "the same status again", write: apply, isRepeated: true },
    { name: "another status", write: { ...apply, status: mountedStatus(["n1"]) }, isRepeated: false },
    { name: "the same of a later time where nothing is left of it", write: later, isRepeated: true },
    {
      name: "the same of a later time over what others put there",
      write: later,
      stands: statusWith(),
      isRepeated: true,
    },
    { name: "the same of a later time over itself", write: later, stands: unused, isRepeated: false },
    { name: "one of another claim", write: apply, uid: "claim-2", isRepeated: false },
    { name: "annotations", write: { kind: "clean", annotations: [] } as const, isRepeated: true },
    {
      name: "our own over an annotation",
      write: { ...apply, status: mountedStatus(["n1"]), isRepair: true },
      isRepeated: true,
    },
  ])("$name after it was written: it is repeated: $isRepeated", ({ write, uid = "claim-1", stands, isRepeated }) => {
    const memories = new WriteMemories(createFakeClock(), 5_000);
    memories.written(claimWith(), apply);

    expect(memories.isRepeated(claimWith({ uid, status: stands }), write)).toBe(isRepeated);
  });

  it("remembers the writes of the last 20,000 claims that were written", () => {
    const memories = new WriteMemories(createFakeClock(), 5_000);
    const claims = Array.from({ length: 20_001 }, (_, index) => claimWith({ uid: `claim-${index}` }));
    for (const claim of claims) memories.written(claim, apply);

    const known = [claims[0], claims[1], claims.at(-1)].map((claim) => claim && memories.isRepeated(claim, apply));

    expect(known).toEqual([false, true, true]);
  });

  it("counts how often the same was written in a row, until something else is", () => {
    const memories = new WriteMemories(createFakeClock(), 5_000);
    const other = { ...apply, status: mountedStatus(["n1"]) };

    const times = [apply, apply, apply, other, apply].map((write) => memories.written(claimWith(), write));

    expect(times).toEqual([1, 2, 3, 1, 1]);
  });
});
