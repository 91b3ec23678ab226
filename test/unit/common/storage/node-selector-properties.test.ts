import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { matchNodeSelector, matchVolumeAffinity } from "../../../../common/storage/node-selector.ts";
import { parseNodeSelector, parseVolumeAffinity } from "../../../../common/storage/node-selector-terms.ts";
import { type Answer, plainAnswer, plainVolumeAnswer } from "./plain-selector.ts";
import { labels, orOdd, selector } from "./random-selectors.ts";

const RUNS = Number(process.env.MOORING_PROPERTY_RUNS ?? 1_000);

/** As JSON brings it: `__proto__` is a key like others. */
function objectOf(pairs: readonly (readonly [string, string])[]): Readonly<Record<string, string>> {
  const text = pairs.map(([name, one]) => `${JSON.stringify(name)}:${JSON.stringify(one)}`).join();
  return JSON.parse(`{${text}}`);
}

describe("a node selector", () => {
  it("gets each answer often enough for these properties to say something", () => {
    const inputs = fc.sample(fc.tuple(selector, labels), { numRuns: 1_000, seed: 8 });
    const answers = inputs.map(([input, pairs]) => plainAnswer(input, { name: "n1", labels: pairs }));
    const share = (answer: Answer) => answers.filter((one) => one === answer).length;

    expect(share("matches")).toBeGreaterThan(100);
    expect(share("differs")).toBeGreaterThan(100);
    expect(share("unknown")).toBeGreaterThan(100);
  });

  it("means the same as by the documented rules, read in another way", () => {
    fc.assert(
      fc.property(orOdd(selector), labels, fc.constantFrom("n1", ""), (input, pairs, name) => {
        const expected = plainAnswer(input, { name, labels: pairs });
        expect(matchNodeSelector(parseNodeSelector(input), { name, labels: objectOf(pairs) }).kind).toBe(expected);
      }),
      { numRuns: RUNS },
    );
  });

  it("means the same as the affinity of a PV, read in another way", () => {
    fc.assert(
      fc.property(orOdd(fc.record({ required: orOdd(selector) }, { requiredKeys: [] })), labels, (input, pairs) => {
        const expected = plainVolumeAnswer(input, pairs);
        expect(matchVolumeAffinity(parseVolumeAffinity(input), objectOf(pairs)).kind).toBe(expected);
      }),
      { numRuns: RUNS },
    );
  });

  it("never differs because of a part that cannot be read, and always has a short reason", () => {
    fc.assert(
      fc.property(fc.anything(), labels, (input, pairs) => {
        const answer = matchVolumeAffinity(parseVolumeAffinity({ required: input }), objectOf(pairs));
        const told = answer.kind === "matches" ? [] : [answer.why];
        expect(told.every((why) => why.length > 0 && why.length < 500)).toBe(true);
        if (answer.kind === "unknown") expect(answer.path).toMatch(/^required/);
      }),
      { numRuns: RUNS },
    );
  });
});
