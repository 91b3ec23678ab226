import { describe, expect, it } from "vitest";
import { Health } from "../../simulation/world/health.ts";

interface Act {
  readonly atMs: number;
  readonly act: (health: Health) => void;
}

/** The health at 100 s, after these events. */
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

describe("a leader without faults for three seconds within a span", () => {
  it.each([
    { name: "is found at its begin", acts: LED, found: 13_000 },
    { name: "is none without a leader", acts: [], found: undefined },
    {
      name: "is none once its process has ended",
      acts: [...LED, { atMs: 5_000, act: (h: Health) => h.end("a") }],
      found: undefined,
    },
    {
      name: "is none when a request that outlived its process took the Lease, although the process runs again",
      acts: [
        { atMs: 0, act: (h: Health) => h.up("a") },
        { atMs: 900, act: (h: Health) => h.down("a") },
        { atMs: 1_000, act: (h: Health) => h.lead("a_1") },
        { atMs: 1_500, act: (h: Health) => h.up("a") },
      ],
      found: undefined,
    },
    {
      name: "is none while it is paused",
      acts: [...LED, { atMs: 5_000, act: (h: Health) => h.down("a") }],
      found: undefined,
    },
    {
      name: "is found once its fault is over",
      acts: [...LED, { atMs: 9_000, act: (h: Health) => h.noteFault("a", 4_000) }],
      found: 16_000,
    },
    {
      name: "is none while the API servers are down",
      acts: [...LED, { atMs: 9_000, act: (h: Health) => h.noteApiFault(9_000) }],
      found: undefined,
    },
    {
      name: "is found before another process leads",
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

  it("counts only while the other processes are without faults, too", () => {
    const health = healthAfter(...LED, { atMs: 9_000, act: (one) => one.noteFault("agent", 5_000) });

    expect(health.ledBy(SPAN, 3_000, ["agent"])).toBe(17_000);
  });
});

describe("the time up to which a writer knew everything, two seconds later", () => {
  const asked = { untilMs: 50_000, forMs: 2_000 };

  it.each([
    { name: "is two seconds before", acts: LED, knownMs: 48_000 },
    {
      name: "is earlier by the writer's pause",
      acts: [
        ...LED,
        { atMs: 40_000, act: (h: Health) => h.down("a") },
        { atMs: 49_000, act: (h: Health) => h.up("a") },
      ],
      knownMs: 39_000,
    },
    {
      name: "is the same long after a pause",
      acts: [
        ...LED,
        { atMs: 30_000, act: (h: Health) => h.down("a") },
        { atMs: 40_000, act: (h: Health) => h.up("a") },
      ],
      knownMs: 48_000,
    },
    {
      name: "is earlier by the lag of watches",
      acts: [...LED, { atMs: 45_000, act: (h: Health) => h.lag(3_000, 4_000) }],
      knownMs: 45_000,
    },
  ])("$name", ({ acts, knownMs }) => {
    expect(healthAfter(...acts).knewUntil("a", asked)).toBe(knownMs);
  });
});
