import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LINES } from "../../crashes/lines.ts";
import { type CampaignSize, ENDINGS, OFTEN_KILLED, type PlannedUse, planOf } from "../../crashes/plan.ts";

const SIZE: CampaignSize = {
  seed: 7,
  rounds: 6,
  unmounts: 300,
  kills: 30,
  apiServerKills: 3,
  absences: 6,
  blackouts: 3,
};

function usesOf(size: CampaignSize): readonly PlannedUse[] {
  return planOf(size).flatMap((round) => [...round.values()].flat());
}

describe("the plan of a campaign", () => {
  it("is the same for the same seed, and another one for another", () => {
    const [one, same, other] = [planOf(SIZE), planOf(SIZE), planOf({ ...SIZE, seed: 8 })];

    expect(same).toEqual(one);
    expect(other).not.toEqual(one);
  });

  it("has the requested number of everything, for any size", () => {
    const size = fc.record({
      seed: fc.integer(),
      rounds: fc.integer({ min: 1, max: 9 }),
      unmounts: fc.integer({ min: 9, max: 400 }),
      kills: fc.integer({ min: 0, max: 50 }),
      apiServerKills: fc.integer({ min: 0, max: 5 }),
      absences: fc.integer({ min: 0, max: 9 }),
      blackouts: fc.integer({ min: 0, max: 9 }),
    });
    fc.assert(
      fc.property(size, (asked) => {
        const faults = usesOf(asked).flatMap((use) => use.faults);
        const kills = faults.filter((fault) => fault.kind === "kill");
        const alone = (victim: string): number =>
          kills.filter(({ victims }) => victims.length === 1 && victims[0] === victim).length;

        expect(usesOf(asked)).toHaveLength(asked.unmounts);
        expect(OFTEN_KILLED.map(alone)).toEqual(OFTEN_KILLED.map(() => asked.kills));
        expect(alone("kube-apiserver")).toBe(asked.apiServerKills);
        expect(faults.filter((fault) => fault.kind === "away" && fault.who === "agent")).toHaveLength(asked.absences);
        expect(faults.filter((fault) => fault.kind === "away" && fault.who === "everybody")).toHaveLength(
          asked.blackouts,
        );
      }),
    );
  });

  it("kills several at once, each pair of processes at least once", () => {
    const together = usesOf(SIZE)
      .flatMap(({ faults }) => faults)
      .flatMap((fault) => (fault.kind === "kill" && fault.victims.length > 1 ? [fault.victims] : []));
    const pairs = OFTEN_KILLED.flatMap((one) =>
      OFTEN_KILLED.filter((other) => other > one).map((other) => [one, other]),
    );

    const missing = pairs.filter((pair) => !together.some((victims) => pair.every((one) => victims.includes(one))));

    expect(missing).toEqual([]);
  });

  it("has every line of uses, every ending, and kills before and after unmounts", () => {
    const offsets = usesOf(SIZE).flatMap(({ faults }) =>
      faults.flatMap((one) => (one.kind === "kill" ? [one.offsetMs] : [])),
    );

    expect([...(planOf(SIZE)[0]?.keys() ?? [])]).toEqual(LINES.map(({ name }) => name));
    expect(new Set(usesOf(SIZE).map(({ ending }) => ending))).toEqual(new Set(ENDINGS));
    expect(offsets.filter((ms) => ms < 0).length).toBeGreaterThan(20);
    expect(offsets.filter((ms) => ms > 0 && ms < 300).length).toBeGreaterThan(10);
    expect(offsets.filter((ms) => ms > 300).length).toBeGreaterThan(20);
  });

  it("keeps each line on its own nodes", () => {
    const strays = planOf(SIZE).flatMap((round) =>
      LINES.flatMap(({ name, nodes }) => (round.get(name) ?? []).filter(({ node }) => !nodes.includes(node))),
    );

    expect(strays).toEqual([]);
  });
});
