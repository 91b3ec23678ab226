import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isClockRolledBack, type OlderMessages, withOlder } from "../../../../aggregator/core/clock-rollback.ts";

interface Came {
  readonly sentAt: number;
  readonly receivedAt: number;
  readonly instance?: string;
}

function judged(messages: readonly Came[], driftPpm = 200): boolean {
  const series = messages.reduce<OlderMessages | undefined>(
    (known, { sentAt, receivedAt, instance = "run-1" }) => withOlder(known, { instance, sentAt, driftPpm }, receivedAt),
    undefined,
  );
  return isClockRolledBack(series);
}

/** A heartbeat every 30 s, each on its way for 5 ms. */
function beats(count: number, fields: Partial<Came> = {}): readonly Came[] {
  return Array.from({ length: count }, (_, index) => ({
    sentAt: 1_000 + index * 30_000,
    receivedAt: 900_005 + index * 30_000,
    ...fields,
  }));
}

describe("isClockRolledBack", () => {
  it.each<{ readonly name: string; readonly messages: readonly Came[]; readonly isRolledBack: boolean }>([
    { name: "a live agent's heartbeats over two minutes", messages: beats(5), isRolledBack: true },
    { name: "a live agent's heartbeats over less", messages: beats(4), isRolledBack: false },
    {
      name: "one of them twice",
      messages: [...beats(4), { sentAt: 91_000, receivedAt: 1_020_006 }],
      isRolledBack: false,
    },
    {
      name: "two messages two minutes apart",
      messages: [...beats(1), { sentAt: 121_000, receivedAt: 1_020_005 }],
      isRolledBack: false,
    },
    {
      name: "two messages two minutes apart, one of them twice",
      messages: [...beats(1), { sentAt: 121_000, receivedAt: 1_020_005 }, { sentAt: 121_000, receivedAt: 1_020_009 }],
      isRolledBack: false,
    },
    {
      name: "a live agent's heartbeats after a late message from before its clock went back",
      messages: [{ sentAt: 700_000, receivedAt: 890_000 }, ...beats(5)],
      isRolledBack: true,
    },
    {
      name: "what lay in a buffer and came at once",
      messages: beats(50, { receivedAt: 900_005 }),
      isRolledBack: false,
    },
    {
      name: "what lay in a buffer, and came slowly",
      messages: beats(50).map((one, index) => ({ ...one, receivedAt: 900_005 + index * 4_000 })),
      isRolledBack: false,
    },
    {
      name: "what was sent at once and comes one after the other",
      messages: beats(50).map((one, index) => ({ ...one, sentAt: 1_000 + index })),
      isRolledBack: false,
    },
    {
      name: "runs of the agent that take turns",
      messages: beats(20).map((one, index) => ({ ...one, instance: `run-${index % 2}` })),
      isRolledBack: false,
    },
    {
      name: "a live agent's heartbeats, some of them lost, slow or twice",
      messages: [
        { sentAt: 1_000, receivedAt: 900_005 },
        { sentAt: 31_000, receivedAt: 939_000 },
        { sentAt: 31_000, receivedAt: 939_900 },
        { sentAt: 121_000, receivedAt: 1_020_005 },
      ],
      isRolledBack: true,
    },
  ])("$name: $isRolledBack", ({ messages, isRolledBack }) => {
    expect(judged(messages)).toBe(isRolledBack);
  });

  it("is found within two minutes and two heartbeats, whatever the transits below ten seconds and the drift in its bounds", () => {
    const way = fc.nat(9_000);
    const pause = fc.integer({ min: 15_000, max: 36_000 });
    const story = fc.array(fc.record({ way, pause }), { minLength: 13, maxLength: 13 });
    fc.assert(
      fc.property(story, fc.integer({ min: -100_000, max: 100_000 }), (steps, ppm) => {
        let at = 5_000_000;
        const messages = steps.map(({ way: ms, pause: rest }) => {
          at += rest;
          return { sentAt: (at - 4_000_000) * (1 + ppm * 1e-6), receivedAt: at + ms };
        });
        const until = messages.filter(({ receivedAt }) => receivedAt <= (messages[0]?.receivedAt ?? 0) + 170_000);

        expect(judged(until, 100_000)).toBe(true);
      }),
    );
  });
});
