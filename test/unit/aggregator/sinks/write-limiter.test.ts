import { describe, expect, it } from "vitest";
import { WriteLimiter, type WriteSlot } from "../../../../aggregator/sinks/write-limiter.ts";
import { createFakeClock, settle } from "../../../fakes/clock.ts";

const done = { kind: "done", retryAfterMs: 0 } as const;

function setUp() {
  const clock = createFakeClock();
  const limiter = new WriteLimiter(clock);
  const stopping = new AbortController();
  const slots: WriteSlot[] = [];
  const begun: string[] = [];
  const begin = async (name: string): Promise<void> => {
    const slot = await limiter.begin(stopping.signal);
    begun.push(slot === undefined ? `${name} given up` : name);
    if (slot !== undefined) slots.push(slot);
  };
  const beginMany = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index += 1) void begin(String(index));
    await settle();
  };
  return { clock, limiter, stopping, slots, begun, beginMany };
}

describe("WriteLimiter", () => {
  it("lets as many be under way as the limit says, the others in the order in which they came", async () => {
    const { limiter, slots, begun, beginMany } = setUp();

    await beginMany(limiter.limit + 2);
    const first = [...begun];
    slots[0]?.end();
    await settle();

    expect(first).toHaveLength(limiter.limit);
    expect(begun.slice(first.length)).toEqual([String(first.length)]);
  });

  it("lets more be under way after quick answers to as many as it lets", async () => {
    const { limiter, slots, begun, beginMany } = setUp();
    const before = limiter.limit;
    await beginMany(100);

    for (const slot of slots.slice(0, before)) slot.end(done);
    await settle();

    expect(limiter.limit).toBeGreaterThan(before);
    expect(begun.length - before).toBe(limiter.limit);
  });

  it("does not take a write that was not made for an answer", async () => {
    const { limiter, slots, beginMany } = setUp();
    const before = limiter.limit;
    await beginMany(100);

    for (const slot of slots.slice(0, before)) slot.end();

    expect(limiter.limit).toBe(before);
  });

  it("lets nobody begin before the time that the server asked for is over, whoever was told", async () => {
    const { clock, slots, begun, beginMany } = setUp();
    await beginMany(4);
    for (const slot of slots) slot.end({ kind: "overloaded", retryAfterMs: 2_000 });

    await beginMany(1);
    await clock.advance(1_999);
    const early = begun.length;
    await clock.advance(1);

    expect(early).toBe(4);
    expect(begun).toHaveLength(5);
  });

  it("halves what is under way when the server is overloaded", async () => {
    const { limiter, slots, beginMany } = setUp();
    const before = limiter.limit;
    await beginMany(before);

    for (const slot of slots) slot.end({ kind: "overloaded", retryAfterMs: 0 });

    expect(limiter.limit).toBe(before / 2);
  });

  it("keeps nobody waiting through a pause that nobody waits for any more", async () => {
    const { clock, slots, stopping, begun, beginMany } = setUp();
    await beginMany(4);
    for (const slot of slots) slot.end({ kind: "overloaded", retryAfterMs: 300_000 });
    await beginMany(2);

    stopping.abort();
    await settle();

    expect(begun.slice(4)).toEqual(["0 given up", "1 given up"]);
    expect(clock.sleeps()).toEqual([]);
  });

  it("ends all waiting with the signal", async () => {
    const { limiter, stopping, begun, beginMany } = setUp();
    await beginMany(limiter.limit + 1);

    stopping.abort();
    await settle();
    await beginMany(1);

    expect(begun.slice(-2)).toEqual([`${limiter.limit} given up`, "0 given up"]);
  });
});
