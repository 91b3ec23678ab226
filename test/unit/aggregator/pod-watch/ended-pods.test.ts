import { describe, expect, it } from "vitest";
import type { EndedPod, Pod } from "../../../../aggregator/core/cluster-objects.ts";
import { EndedPods } from "../../../../aggregator/pod-watch/ended-pods.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import { claimWith, NOON, podWith, statusWith } from "../world.ts";

const LONG_AGO = NOON - 200_000;
const RECENTLY = LONG_AGO + 1;
const JUST_NOW = NOON - 29_999;
const UNUSED = claimWith({ status: statusWith({ unused: true }) });
const IN_USE = claimWith({ status: statusWith({ unused: false }) });

function endAt(gone: number, pod: Partial<Pod> = {}, seenAtMs = LONG_AGO): EndedPod {
  return { pod: podWith({ uid: `pod-${gone}`, ...pod }), gone: String(gone), wasOver: false, seenAtMs };
}

function storeWith(ends: readonly EndedPod[], claim: Claim = IN_USE) {
  const known: { claim: Claim | undefined } = { claim };
  const store = new EndedPods({ claim: () => known.claim, nowMs: () => NOON });
  for (const end of ends) store.note(end);
  return { store, known, kept: () => store.of("shop/data").map(({ gone }) => gone) };
}

describe("the end of a pod", () => {
  it("is kept for each claim that it named", () => {
    const { store } = storeWith([endAt(9, { claims: ["data", "logs"] })]);

    const found = ["shop/data", "shop/logs", "shop/other", "lab/data"].map((key) => store.of(key).length);

    expect(found).toEqual([1, 1, 0, 0]);
  });

  it.each<{
    readonly name: string;
    readonly ends?: readonly EndedPod[];
    readonly claim?: Claim;
    readonly unstored?: readonly string[];
    readonly kept: readonly string[];
  }>([
    { name: "is dropped when a leader has dealt with it and the claim tells of it", claim: UNUSED, kept: [] },
    { name: "is kept while no leader has come as far", ends: [endAt(11)], claim: UNUSED, kept: ["11"] },
    { name: "is kept while the claim does not tell of it: its node may not have answered", claim: IN_USE, kept: ["9"] },
    { name: "is kept while what was decided is not stored", claim: UNUSED, unstored: [UNUSED.uid], kept: ["9"] },
    { name: "is dropped where another claim's decision is not stored", claim: UNUSED, unstored: ["other"], kept: [] },
    {
      name: "is kept while another claim of that name may come to light",
      ends: [endAt(9, {}, LONG_AGO), endAt(10, { node: "n2" }, RECENTLY)],
      claim: UNUSED,
      kept: ["10"],
    },
    {
      name: "on a node makes earlier ones there superfluous",
      ends: [endAt(7, { node: "n1" }), endAt(8, { node: "n2" }), endAt(9, { node: "n1" })],
      kept: ["9", "8"],
    },
    {
      name: "does not while it is not dealt with",
      ends: [endAt(10), endAt(11), endAt(12)],
      kept: ["10", "11", "12"],
    },
    {
      name: "that had started says nothing of one that had not",
      ends: [endAt(7), endAt(8, { hasStarted: false })],
      kept: ["7", "8"],
    },
  ])("$name", ({ ends = [endAt(9)], claim, unstored = [], kept }) => {
    const world = storeWith(ends, claim);

    world.store.settle("10", new Set(unstored));

    expect(world.kept()).toEqual(kept);
  });

  it("is dropped with its claim, once the watch has surely shown that", () => {
    const world = storeWith([endAt(9), endAt(10, { node: "n2" }, RECENTLY)]);
    world.known.claim = undefined;

    world.store.settle("10");

    expect(world.kept()).toEqual(["10"]);
  });

  it("is told where it is dealt with, the claim counts as unused, and that is stored", () => {
    const [before, after] = [endAt(10), endAt(11)];
    const { store } = storeWith([]);
    store.settle("10", new Set(["claim-2"]));
    const other = { ...UNUSED, uid: "claim-2" };

    const told = [
      store.isIncluded(before, UNUSED),
      store.isIncluded(before, IN_USE),
      store.isIncluded(before, other),
      store.isIncluded(after, UNUSED),
    ];

    expect(told).toEqual([true, false, false, false]);
  });

  it.each([
    { name: "stays told when its claim is used again", end: endAt(10, {}, RECENTLY), told: true },
    { name: "does not where the watch may have shown an older status", end: endAt(10, {}, JUST_NOW), told: false },
  ])("$name", ({ end, told }) => {
    const { store } = storeWith([end], UNUSED);

    store.settle("10");

    expect([store.isIncluded(end, IN_USE), store.isIncluded(end, { ...IN_USE, uid: "claim-2" })]).toEqual([
      told,
      false,
    ]);
  });

  it("is open until a leader has come as far", () => {
    const { store } = storeWith([endAt(10), endAt(11)]);
    const open = (): readonly boolean[] => ["pod-10", "pod-11", "pod-12"].map((uid) => store.isOpen("shop/data", uid));
    const before = open();

    store.settle("10");

    expect([before, open()]).toEqual([
      [true, true, false],
      [false, true, false],
    ]);
  });

  it("is not kept without a bound, and it is known up to where they are lost", () => {
    const ends = Array.from({ length: 50_001 }, (_, index) => endAt(index + 1, { claims: [`claim-${index + 1}`] }));

    const { store } = storeWith(ends);

    expect(store.droppedUpTo).toBe("25001");
    expect([25_001, 25_002].map((at) => store.of(`shop/claim-${at}`).length)).toEqual([0, 1]);
  });
});
