import fc from "fast-check";
import { afterEach, expect, it } from "vitest";
import { endScenes, startScene } from "./scene.ts";
import { type Fault, type Happening, Story } from "./story.ts";

afterEach(endScenes);

const FAULTS: readonly Fault[] = ["lost", "broken", "conflict", "forbidden", "unreadable", "slow"];
const DEEDS = ["bind", "start", "touch", "delete", "remake", "mount", "unmount", "revert"] as const;
const WORDS = ["hold", "release", "blind", "see"] as const;

const happening: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constantFrom(...DEEDS), on: fc.nat(1) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom("volume", "node"), zone: fc.constantFrom("a", "b") }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom(...WORDS) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("fault"), what: fc.constantFrom(...FAULTS) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("pass"),
      ms: fc.oneof(fc.nat(900), fc.integer({ min: 4_500, max: 5_500 }), fc.nat(20_000)),
    }),
  },
);

const RUNS = { seed: 5381, numRuns: Number(process.env.MOORING_PROPERTY_RUNS ?? 40) };

it("for any sequence of events, no pod is rejected that is right at that moment, and none twice", async () => {
  let rejections = 0;
  const emitted = async (happenings: readonly Happening[]): Promise<void> => {
    const story = new Story(await startScene());
    for (const one of happenings) await story.play(one);
    const left = await story.heal();
    rejections += story.rejections;
    await endScenes();

    expect(story.violations).toEqual([]);
    // Two wrong pods are no reason to think that the node is wrong, and each has an owner of its own.
    expect(story.isWrong ? left : []).toEqual([]);
  };

  await fc.assert(fc.asyncProperty(fc.array(happening, { maxLength: 40, size: "max" }), emitted), RUNS);

  expect(rejections).toBeGreaterThan(RUNS.numRuns / 4);
});
