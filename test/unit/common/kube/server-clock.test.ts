import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type DatedAnswer, narrow, type ServerClockBounds, serverTime } from "../../../../common/kube/server-clock.ts";

/** A moment of a machine that has been asleep for some time since its boot. */
function moment(monotonicMs: number, asleepMs = 0): DatedAnswer["sentAt"] {
  return { monotonicMs, uptimeMs: monotonicMs + asleepMs };
}

/** An answer that was 10 ms on its way, 5 of them before its server dated it. */
function answerAt(atMs: number, serverMs: number, asleepMs = 0): DatedAnswer {
  const dateMs = Math.floor((serverMs + 5) / 1_000) * 1_000;
  return { dateMs, sentAt: moment(atMs, asleepMs), receivedAt: moment(atMs + 10, asleepMs) };
}

function known(answers: readonly DatedAnswer[], driftPpm = 200): ServerClockBounds {
  const bounds = answers.reduce<ServerClockBounds | undefined>(
    (before, answer) => narrow(before, answer, driftPpm),
    undefined,
  );
  if (bounds === undefined) throw new Error("no answer");
  return bounds;
}

/** One answer each second: the clocks of one server after another. */
function answersOf(leads: readonly number[]): readonly DatedAnswer[] {
  return leads.map((leadMs, index) => answerAt(index * 1_000, OFFSET_MS + index * 1_000 + leadMs));
}

const OFFSET_MS = 1_790_000_000_123.4;

/** A second of the API server and the round trip: what one answer shows. */
const ONE_ANSWER = { latestMs: OFFSET_MS - 123.4 + 1_010, widthMs: 1_010 };

describe("the bounds of the server's clock", () => {
  it("are a second and the round trip wide after one answer", () => {
    const { latestMs, widthMs } = serverTime(known([answerAt(0, OFFSET_MS)]), moment(10), 200);

    expect(latestMs).toBeCloseTo(ONE_ANSWER.latestMs, 0);
    expect(widthMs).toBeCloseTo(ONE_ANSWER.widthMs, 0);
  });

  it("narrow to about a round trip over many answers", () => {
    const answers = Array.from({ length: 200 }, (_, index) => {
      const atMs = index * 37 + (index % 7) * 61;
      return answerAt(atMs, OFFSET_MS + atMs);
    });

    expect(serverTime(known(answers), moment(200 * 37), 200).widthMs).toBeLessThan(60);
  });

  it.each([
    { name: "by the drift of both clocks", driftPpm: 200, widthMs: 1_010 + 2 * 700 },
    { name: "by 8 % and more, where NTP may slew ours", driftPpm: 100_000, widthMs: 1_010 + 2 * 111_667 },
  ])("widen $name while no answer comes", ({ driftPpm, widthMs }) => {
    const bounds = known([answerAt(0, OFFSET_MS)], driftPpm);

    const now = serverTime(bounds, moment(1_000_010), driftPpm);

    expect(now.widthMs).toBeCloseTo(widthMs, -1);
    expect(now.latestMs).toBeCloseTo(ONE_ANSWER.latestMs + 1_000_000 + (widthMs - 1_010) / 2, -1);
  });

  it("count the time that the machine slept, in whole seconds, as the latest that the server's clock may show", () => {
    const bounds = known([answerAt(0, OFFSET_MS)]);

    const now = serverTime(bounds, moment(10, 3_600_000), 200);

    expect(now.latestMs).toBeCloseTo(ONE_ANSWER.latestMs + 3_600_000 + 1_000 + 3_600 * 0.7, -1);
    expect(now.latestMs - now.widthMs).toBeLessThanOrEqual(OFFSET_MS);
  });

  it("are narrow again with the first answer after a sleep, without a contradiction", () => {
    const bounds = known([answerAt(0, OFFSET_MS), answerAt(20, OFFSET_MS + 3_600_000, 3_600_000)]);

    const now = serverTime(bounds, moment(30, 3_600_000), 200);

    expect(now.latestMs).toBeCloseTo(ONE_ANSWER.latestMs + 3_600_000, 0);
    expect(now.widthMs).toBeCloseTo(1_010, 0);
    expect(bounds.behind).toBeUndefined();
  });

  it.each<{ readonly name: string; readonly leads: readonly number[]; readonly leadMs: number }>([
    { name: "a clock that was stepped ahead counts at once", leads: [0, 5_000], leadMs: 5_000 },
    { name: "a clock that is behind does not count beside one that is ahead", leads: [5_000, 0], leadMs: 5_000 },
    {
      name: "of two behind one address that answer in turn the one ahead counts",
      leads: [0, 3_000, 0, 3_000, 0],
      leadMs: 3_000,
    },
    {
      name: "of three servers the clock that is furthest ahead counts, whichever answers",
      leads: [0, 2_000, 4_000, 0, 2_000, 0, 2_000],
      leadMs: 4_000,
    },
    {
      name: "a clock that was stepped back by an hour does not count for ten minutes",
      leads: [3_600_000, ...Array.from({ length: 599 }, () => 0)],
      leadMs: 3_600_000,
    },
    {
      name: "a clock that was stepped back by an hour counts after ten minutes",
      leads: [3_600_000, ...Array.from({ length: 601 }, () => 0)],
      leadMs: 0,
    },
    {
      name: "a clock that is behind waits again each time the one ahead has answered",
      leads: [3_000, ...Array.from({ length: 400 }, () => 0), 3_000, ...Array.from({ length: 400 }, () => 0)],
      leadMs: 3_000,
    },
  ])("$name", ({ leads, leadMs }) => {
    const now = moment((leads.length - 1) * 1_000 + 10);

    const { latestMs } = serverTime(known(answersOf(leads)), now, 200);

    const truthMs = OFFSET_MS + now.monotonicMs + leadMs;
    expect(latestMs).toBeGreaterThanOrEqual(truthMs);
    expect(latestMs).toBeLessThanOrEqual(truthMs + 1_500);
  });

  it("of a clock that was stepped back are narrow from the start: they were narrowed while it waited", () => {
    // The last of them is the first after ten minutes.
    const last = Math.ceil(600_000 / 1_037);
    const leads = [3_600_000, ...Array.from({ length: last }, () => 0)];
    const answers = leads.map((leadMs, index) => answerAt(index * 1_037, OFFSET_MS + index * 1_037 + leadMs));

    const [before, after] = [answers.slice(0, -1), answers].map((some) =>
      serverTime(known(some), moment(last * 1_037 + 10), 200),
    );

    expect((before?.latestMs ?? 0) - (after?.latestMs ?? 0)).toBeGreaterThan(3_500_000);
    expect(after?.widthMs).toBeLessThan(200);
  });
});

/** What happens between two looks at the clock. Clocks run as wrong as they may, in either direction. */
interface Step {
  readonly waitMs: number;
  readonly sleepMs: number;
  readonly thereMs: number;
  readonly backMs: number;
  /** The way there and back, or half of it, or nothing is answered. */
  readonly outcome: "answer" | "silence";
  readonly server: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  waitMs: fc.nat(60_000),
  sleepMs: fc.oneof(
    { weight: 4, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.integer({ min: 1_000, max: 9e6 }) },
  ),
  thereMs: fc.nat(5_000),
  backMs: fc.nat(5_000),
  outcome: fc.constantFrom("answer" as const, "answer" as const, "silence" as const),
  server: fc.nat(2),
});

interface World {
  /** How far off our clock and the servers' run, from -1 to 1 of what they may. */
  readonly ours: number;
  readonly theirs: number;
  readonly driftPpm: number;
  /** How far each server's clock is ahead. Milliseconds. */
  readonly leads: readonly number[];
}

/** Plays the steps and looks at the clock after each; answers what was seen beside the truth. */
function played({ ours, theirs, driftPpm, leads }: World, steps: readonly Step[]) {
  let [trueMs, monotonicMs, asleepMs] = [0, 5_000, 0];
  let bounds: ServerClockBounds | undefined;
  const truth = (server: number): number => OFFSET_MS + trueMs * (1 + theirs * 500e-6) + (leads[server] ?? 0);
  const pass = (ms: number): void => {
    trueMs += ms;
    monotonicMs += ms * (1 + ours * driftPpm * 1e-6 * 0.999);
  };
  return steps.flatMap(({ waitMs, sleepMs, thereMs, backMs, outcome, server }) => {
    pass(waitMs);
    const sentAt = moment(monotonicMs, asleepMs);
    pass(thereMs);
    const dateMs = Math.floor(truth(server) / 1_000) * 1_000;
    pass(backMs);
    const receivedAt = moment(monotonicMs, asleepMs);
    if (outcome === "answer") bounds = narrow(bounds, { dateMs, sentAt, receivedAt }, driftPpm);
    trueMs += sleepMs;
    // The real-time clock has whole seconds.
    asleepMs += Math.floor(sleepMs / 1_000) * 1_000;
    if (bounds === undefined) return [];
    const seen = serverTime(bounds, moment(monotonicMs, asleepMs), driftPpm);
    return [{ ...seen, truths: leads.map((_, index) => truth(index)), sinceMs: waitMs + thereMs + backMs }];
  });
}

const rates = fc.record({
  ours: fc.double({ min: -1, max: 1, noNaN: true }),
  theirs: fc.double({ min: -1, max: 1, noNaN: true }),
  driftPpm: fc.constantFrom(200, 100_000),
});

/** The same runs each time; for a hunt with new ones `MOORING_PROPERTY_RUNS` says how many. */
const { MOORING_PROPERTY_RUNS: hunt } = process.env;
const RUNS = hunt === undefined ? { numRuns: 200, seed: 5_541 } : { numRuns: Number(hunt) };

describe("for any clocks within their bounds", () => {
  it("the truth lies between the bounds, also of a machine that sleeps", () => {
    fc.assert(
      fc.property(rates, fc.array(step, { minLength: 1, maxLength: 30 }), (world, steps) => {
        for (const { latestMs, widthMs, truths } of played({ ...world, leads: [0] }, steps)) {
          const [truthMs = Number.NaN] = truths;
          expect(latestMs).toBeGreaterThanOrEqual(truthMs - 0.01);
          expect(latestMs - widthMs).toBeLessThanOrEqual(truthMs + 0.01);
        }
      }),
      RUNS,
    );
  });

  it("no server that answered lately is further ahead of what is taken for the latest than a second and a round trip", () => {
    const leads = fc.array(fc.integer({ min: -10_000, max: 10_000 }), { minLength: 3, maxLength: 3 });
    // Short enough for none to be forgotten.
    const quick = step.map((one) => ({ ...one, waitMs: one.waitMs % 5_000, sleepMs: 0, outcome: "answer" as const }));
    fc.assert(
      fc.property(rates, leads, fc.array(quick, { minLength: 1, maxLength: 30 }), (world, ahead, steps) => {
        const seen = played({ ...world, leads: ahead }, steps);

        for (const [index, { latestMs, truths }] of seen.entries()) {
          const received = steps.slice(0, index + 1).map(({ server }) => truths[server] ?? 0);
          const roundTripsMs = steps.map(({ thereMs, backMs }) => thereMs + backMs);
          expect(latestMs).toBeGreaterThan(Math.max(...received) - 1_000 - 1.2 * Math.max(...roundTripsMs));
        }
      }),
      RUNS,
    );
  });

  it("the latest bound is later than the truth by at most the reported width, which is at most the time of the request", () => {
    const awake = step.map((one) => ({ ...one, sleepMs: 0, outcome: "answer" as const }));
    fc.assert(
      fc.property(rates, fc.array(awake, { minLength: 1, maxLength: 30 }), (world, steps) => {
        for (const { latestMs, widthMs, truths, sinceMs } of played({ ...world, leads: [0] }, steps)) {
          expect(latestMs - (truths[0] ?? 0)).toBeLessThanOrEqual(widthMs + 0.01);
          expect(widthMs).toBeLessThanOrEqual(1_000 + sinceMs * 1.5);
        }
      }),
      RUNS,
    );
  });
});
