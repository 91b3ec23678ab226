import { describe, expect, it } from "vitest";
import type { EndedPod, Pod } from "../../../../aggregator/core/cluster-objects.ts";
import { EndedPods } from "../../../../aggregator/pod-watch/ended-pods.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import { claimWith, NOON, podWith, statusWith } from "../world.ts";

const LONG_AGO = NOON - 200_000;
const RECENTLY = LONG_AGO + 1;
const UNUSED = claimWith({ status: statusWith({ unused: true }) });
const IN_USE = claimWith({ status: statusWith({ unused: false }) });

function endAt(gone: number, pod: Partial<Pod> = {}, seenAtMs = LONG_AGO): EndedPod {
  return { pod: podWith({ uid: `pod-${gone}`, ...pod }), gone: String(gone), wasOver: false, claimUids: [], seenAtMs };
}

function storeWith(ends: readonly EndedPod[], claim: Claim = IN_USE) {
  const known: { claim: Claim | undefined } = { claim };
  const store = new EndedPods({ claim: () => known.claim, nowMs: () => NOON });
  for (const end of ends) store.note(end);
  return { store, known, kept: () => store.of("shop/data").map(({ gone }) => gone) };
}

describe("the end of a pod", () => {
  it("is kept for each claim that it named", () => {
    const { store } = storeWith([endAt(9, { claims: ["shop/data", "shop/logs"] })]);

    const found = ["shop/data", "shop/logs", "shop/other", "lab/data"].map((key) => store.of(key).length);

    expect(found).toEqual([1, 1, 0, 0]);
  });

  const elsewhere = [endAt(7, { node: "n1" }), endAt(8, { node: "n2" }), endAt(9, { node: "n1" })];
  const unstarted = [endAt(7), endAt(8, { hasStarted: false })];
  type Row = readonly [ends: readonly EndedPod[], claim: Claim, unstored: readonly string[], kept: readonly string[]];
  it.each<readonly [name: string, ...Row]>([
    ["is dropped when a leader has decided it and the claim includes it", [endAt(9)], UNUSED, [], []],
    ["is kept while the watch may have shown an older status", [endAt(9, {}, RECENTLY)], UNUSED, [], ["9"]],
    ["is kept while no leader has decided it", [endAt(11)], UNUSED, [], ["11"]],
    ["is kept while the claim does not include it: its node may not have answered", [endAt(9)], IN_USE, [], ["9"]],
    ["is kept while the decision is not stored", [endAt(9)], UNUSED, [UNUSED.uid], ["9"]],
    ["is dropped where another claim's decision is not stored", [endAt(9)], UNUSED, ["other"], []],
    ["replaces earlier ones on its node", elsewhere, IN_USE, [], ["9", "8"]],
    [
      "does not replace them while no leader has decided it",
      [endAt(10), endAt(11), endAt(12)],
      IN_USE,
      [],
      ["10", "11", "12"],
    ],
    ["of a started pod does not replace that of a pod that never started", unstarted, IN_USE, [], ["7", "8"]],
  ])("%s", (...[, ends, claim, unstored, kept]) => {
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

  it("is included where a leader has decided it, the claim counts as unused, and that is stored", () => {
    const [before, after] = [endAt(10), endAt(11)];
    const { store } = storeWith([]);
    store.settle("10", new Set(["claim-2"]));
    const other = { ...UNUSED, uid: "claim-2" };

    const included = [
      store.isIncluded(before, UNUSED),
      store.isIncluded(before, IN_USE),
      store.isIncluded(before, other),
      store.isIncluded(after, UNUSED),
    ];

    expect(included).toEqual([true, false, false, false]);
  });

  it("is open until a leader has decided it", () => {
    const { store } = storeWith([endAt(10), endAt(11)]);
    const open = (): readonly boolean[] => ["pod-10", "pod-11", "pod-12"].map((uid) => store.isOpen("shop/data", uid));
    const before = open();

    store.settle("10");

    expect([before, open()]).toEqual([
      [true, true, false],
      [false, true, false],
    ]);
  });

  it("is not kept without a bound, and the store says up to where ends are lost", () => {
    const ends = Array.from({ length: 50_001 }, (_, index) =>
      endAt(index + 1, { claims: [`shop/claim-${index + 1}`] }),
    );

    const { store } = storeWith(ends);

    expect(store.droppedUpTo).toBe("50001");
    expect([25_001, 25_002].map((at) => store.of(`shop/claim-${at}`).length)).toEqual([0, 1]);
  });
});
