import { describe, expect, it } from "vitest";
import { addFigures, type Figures, NO_FIGURES, notCovered } from "../../simulation/figures.ts";

function figuresOf(fields: Partial<Figures>): Figures {
  return { ...NO_FIGURES, ...fields };
}

describe("the figures of a simulation", () => {
  it("add up over worlds", () => {
    const one = figuresOf({ seeds: 1, kinds: { rest: 2 }, sites: { "put report/sent": { visits: 3, crashes: 1 } } });
    const other = figuresOf({
      seeds: 1,
      kinds: { rest: 1, "new-pod": 4 },
      sites: { "put report/sent": { visits: 2, crashes: 0 } },
    });

    const sum = addFigures(one, other);

    expect(sum.seeds).toBe(2);
    expect(sum.kinds).toEqual({ rest: 3, "new-pod": 4 });
    expect(sum.sites).toEqual({ "put report/sent": { visits: 5, crashes: 1 } });
  });

  it("list what the run never covered: a site that was visited without a crash counts as such", () => {
    const figures = figuresOf({ kinds: { rest: 1 }, sites: { "put report/sent": { visits: 9, crashes: 0 } } });

    const missing = notCovered(figures, {
      kinds: ["rest", "power-cut"],
      network: ["slow"],
      sites: ["put report/sent"],
    });

    expect(missing).toEqual(["step power-cut", "network slow", "crash at put report/sent"]);
  });
});
