import { describe, expect, it } from "vitest";
import { Health } from "../../simulation/world/health.ts";

interface Act {
  readonly atMs: number;
  readonly act: (health: Health) => void;
}

/** What became of the processes, and what is known of it at 100 s. */
function healthAfter(...acts: readonly Act[]): Health {
  let now = 0;
  const health = new Health(() => now);
  for (const { atMs, act } of acts) {
    now = atMs;
    act(health);
  }
  now = 100_000;
  return health;
}

const LED: readonly Act[] = [
  { atMs: 0, act: (health) => health.up("a") },
  { atMs: 1_000, act: (health) => health.lead("a_1") },
];
const SPAN = { fromMs: 10_000, toMs: 20_000 };

describe("a leader that was well for three seconds within a span", () => {
  it.each([
    { name: "is found at its begin", acts: LED, found: 13_000 },
    { name: "is none when nobody led", acts: [], found: undefined },
    {
      name: "is none when it had ended",
      acts: [...LED, { atMs: 5_000, act: (h: Health) => h.end("a") }],
      found: undefined,
    },
    {
      name: "is none when the Lease was made by a request that outlived it, and its process runs again",
      acts: [
        { atMs: 0, act: (h: Health) => h.up("a") },
        { atMs: 900, act: (h: Health) => h.down("a") },
        { atMs: 1_000, act: (h: Health) => h.lead("a_1") },
        { atMs: 1_500, act: (h: Health) => h.up("a") },
      ],
      found: undefined,
    },
    {
      name: "is none while it stood still",
      acts: [...LED, { atMs: 5_000, act: (h: Health) => h.down("a") }],
      found: undefined,
    },
    {
      name: "is found when it had got over what befell it",
      acts: [...LED, { atMs: 9_000, act: (h: Health) => h.strike("a", 4_000) }],
      found: 16_000,
    },
    {
      name: "is none where the API servers were away",
      acts: [...LED, { atMs: 9_000, act: (h: Health) => h.strikeAll(9_000) }],
      found: undefined,
    },
    {
      name: "is found before somebody else led",
      acts: [...LED, { atMs: 14_000, act: (h: Health) => h.lead("b_1") }],
      found: 13_000,
    },
    {
      name: "is none where two led for less each",
      acts: [
        ...LED,
        { atMs: 12_000, act: (h: Health) => h.lead("b_1") },
        { atMs: 14_000, act: (h: Health) => h.lead("") },
      ],
      found: undefined,
    },
  ])("$name", ({ acts, found }) => {
    expect(healthAfter(...acts).ledBy(SPAN, 3_000)).toBe(found);
  });

  it("counts only while the others are well, too", () => {
    const health = healthAfter(...LED, { atMs: 9_000, act: (one) => one.strike("agent", 5_000) });

    expect(health.ledBy(SPAN, 3_000, ["agent"])).toBe(17_000);
  });
});

describe("what a writer had heard of two seconds later", () => {
  const asked = { untilMs: 50_000, forMs: 2_000 };

  it.each([
    { name: "is all from before", acts: LED, heardMs: 48_000 },
    {
      name: "is less by what it had stood still",
      acts: [
        ...LED,
        { atMs: 40_000, act: (h: Health) => h.down("a") },
        { atMs: 49_000, act: (h: Health) => h.up("a") },
      ],
      heardMs: 39_000,
    },
    {
      name: "is the same long after it had stood still",
      acts: [
        ...LED,
        { atMs: 30_000, act: (h: Health) => h.down("a") },
        { atMs: 40_000, act: (h: Health) => h.up("a") },
      ],
      heardMs: 48_000,
    },
    {
      name: "is less by what watches lagged",
      acts: [...LED, { atMs: 45_000, act: (h: Health) => h.lag(3_000, 4_000) }],
      heardMs: 45_000,
    },
  ])("$name", ({ acts, heardMs }) => {
    expect(healthAfter(...acts).heardOf("a", asked)).toBe(heardMs);
  });
});
