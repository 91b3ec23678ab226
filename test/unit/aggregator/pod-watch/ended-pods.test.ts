import { describe, expect, it } from "vitest";
import { EndedPods, type SeenEndedPod } from "../../../../aggregator/pod-watch/ended-pods.ts";
import { NOON, podWith } from "../world.ts";

interface EndFields {
  readonly wasOver?: boolean;
  readonly claims?: readonly string[];
  readonly node?: string;
  readonly hasStarted?: boolean;
  readonly seenAtMs?: number;
}

function endAt(gone: number, fields: EndFields = {}): SeenEndedPod {
  const { wasOver = false, claims = ["data"], node = `n${gone}`, hasStarted = true, seenAtMs = NOON - 60_000 } = fields;
  return { pod: podWith({ uid: `pod-${gone}`, claims, node, hasStarted }), gone: String(gone), wasOver, seenAtMs };
}

function endsWith(ends: readonly SeenEndedPod[], told: readonly string[] = []) {
  const untold = new Set(ends.map(({ gone }) => gone).filter((gone) => !told.includes(gone)));
  const unsettled = new EndedPods({ isTold: ({ gone }) => !untold.has(gone), nowMs: () => NOON });
  for (const end of ends) unsettled.note(end);
  const open = (): readonly string[] => unsettled.open.map(({ gone }) => gone);
  return { unsettled, open };
}

describe("ends of pods that are not settled", () => {
  it.each([
    {
      name: "are those that no leader has come as far as",
      ends: [endAt(9), endAt(10), endAt(11)],
      told: ["9", "10", "11"],
      expected: ["11"],
    },
    {
      name: "are also those of which no status tells yet: their nodes may not have answered",
      ends: [endAt(8), endAt(9), endAt(11)],
      told: ["8"],
      expected: ["9", "11"],
    },
    {
      name: "are the last ones only, of several on one node",
      ends: [endAt(7, { node: "n1" }), endAt(8, { node: "n2" }), endAt(9, { node: "n1" })],
      told: [],
      expected: ["9", "8"],
    },
    {
      name: "are one of a pod that had started and one of a pod that had not: they may mean different things",
      ends: [endAt(7, { node: "n1" }), endAt(8, { node: "n1", hasStarted: false })],
      told: [],
      expected: ["7", "8"],
    },
    { name: "are none of pods that named no claim", ends: [endAt(11, { claims: [] })], told: [], expected: [] },
    {
      name: "are none that the first list showed: they can be read again",
      ends: [endAt(11, { wasOver: true })],
      told: [],
      expected: [],
    },
  ])("$name", ({ ends, told, expected }) => {
    const { unsettled, open } = endsWith(ends, told);

    unsettled.settle("10");

    expect(open()).toEqual(expected);
  });

  it("are not forgotten while the watch of claims may lag behind: the status that it shows may be an older one", () => {
    let isTold = true;
    const unsettled = new EndedPods({ isTold: () => isTold, nowMs: () => NOON });
    for (const end of [endAt(9, { seenAtMs: NOON - 29_000 }), endAt(10, { seenAtMs: NOON - 31_000 })])
      unsettled.note(end);
    unsettled.settle("10");
    const before = unsettled.open;

    isTold = false;

    expect(before).toEqual([]);
    expect(unsettled.open.map(({ gone }) => gone)).toEqual(["9"]);
  });

  it("are those of claims of which the leader says that the API server has not stored what it decided", () => {
    const isTold = (_: SeenEndedPod, unstored: ReadonlySet<string>): boolean => !unstored.has("data-uid");
    const unsettled = new EndedPods({ isTold, nowMs: () => NOON });
    unsettled.note(endAt(9));

    unsettled.settle("10", new Set(["data-uid"]));
    const refused = unsettled.open.map(({ gone }) => gone);
    unsettled.settle("10", new Set());

    expect(refused).toEqual(["9"]);
    expect(unsettled.open).toEqual([]);
  });

  it("are not kept without a bound, and it is known up to where they are lost", () => {
    const { unsettled } = endsWith(Array.from({ length: 50_001 }, (_, index) => endAt(index + 1)));

    expect(unsettled.open).toHaveLength(25_001);
    expect(unsettled.droppedUpTo).toBe("25000");
  });
});
