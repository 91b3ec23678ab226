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
function beats(count: number): readonly Came[] {
  return Array.from({ length: count }, (_, index) => ({
    sentAt: 1_000 + index * 30_000,
    receivedAt: 900_005 + index * 30_000,
  }));
}

describe("isClockRolledBack", () => {
  const late = { sentAt: 121_000, receivedAt: 1_020_009 };
  const twoMinutesApart = [...beats(1), { sentAt: 121_000, receivedAt: 1_020_005 }];
  const changed = (change: (index: number) => Partial<Came>) =>
    beats(50).map((one, index) => ({ ...one, ...change(index) }));

  it.each<readonly [name: string, isRolledBack: boolean, messages: readonly Came[]]>([
    ["a live agent's heartbeats over two minutes", true, beats(5)],
    ["a live agent's heartbeats over less", false, beats(4)],
    ["one of them twice", false, [...beats(4), { sentAt: 91_000, receivedAt: 1_020_006 }]],
    ["two of them, one of these twice", false, [...twoMinutesApart, late]],
    ["heartbeats after a late one from before that", true, [{ sentAt: 700_000, receivedAt: 890_000 }, ...beats(5)]],
    ["what lay in a buffer and came at once", false, changed(() => ({ receivedAt: 900_005 }))],
    ["what lay in a buffer, and came slowly", false, changed((index) => ({ receivedAt: 900_005 + index * 4_000 }))],
    ["what was sent at once and comes one after the other", false, changed((index) => ({ sentAt: 1_000 + index }))],
    ["runs of the agent that take turns", false, changed((index) => ({ instance: `run-${index % 2}` }))],
    [
      "a live agent's heartbeats, some of them lost, slow or twice",
      true,
      [
        { sentAt: 1_000, receivedAt: 900_005 },
        { sentAt: 31_000, receivedAt: 939_000 },
        { sentAt: 31_000, receivedAt: 939_900 },
        { sentAt: 121_000, receivedAt: 1_020_005 },
      ],
    ],
  ])("%s: %s", (_, isRolledBack, messages) => {
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
