import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Authority,
  BACKDATED_MS,
  certificatePlan,
  isValidAt,
  type StoredCertificates,
} from "../../../../aggregator/core/certificate-plan.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NUM_RUNS = Number(process.env.MOORING_PROPERTY_RUNS ?? 100);
const TIMES = { authorityMs: 4 * DAY, certificateMs: DAY, overlapMs: HOUR };
const NAMES = ["a", "b"];
const BEGAN = 1_790_000_000_000;
/** A plan may take this many steps to come to rest. */
const MOST_STEPS = 6;

const NOTHING: StoredCertificates = { authorities: [], trusted: [], completeSinceMs: undefined, serving: undefined };

/** What an issuer does with a plan, without keys. */
class Shelf {
  stored: StoredCertificates;
  nowMs = BEGAN;
  /** The bundles that agents got and the signers that served, and from when on. */
  readonly published: { readonly atMs: number; readonly ids: readonly string[] }[] = [];
  readonly served: { readonly atMs: number; readonly by: string }[] = [];
  #made = 0;
  readonly #all: Map<string, Authority>;

  constructor(stored: StoredCertificates) {
    this.stored = stored;
    this.#all = new Map([...stored.trusted, ...stored.authorities].map((one) => [one.id, one]));
  }

  /** Whether there was anything to do. */
  step(): boolean {
    const { nowMs, stored } = this;
    const plan = certificatePlan(nowMs, stored, { times: TIMES, names: NAMES });
    const notBeforeMs = nowMs - BACKDATED_MS;
    switch (plan.kind) {
      case "keep":
        return false;
      case "issue-authority": {
        this.#made += 1;
        const made = { id: `authority-${this.#made}`, notBeforeMs, notAfterMs: nowMs + TIMES.authorityMs };
        this.#all.set(made.id, made);
        this.stored = { ...stored, authorities: [...stored.authorities, made] };
        return true;
      }
      case "publish": {
        const trusted = plan.trusted.flatMap((id) => this.#all.get(id) ?? []);
        this.stored = { ...stored, trusted, completeSinceMs: plan.completeSinceMs };
        this.published.push({ atMs: nowMs, ids: plan.trusted });
        return true;
      }
      case "issue-certificate": {
        const { authority, previous } = plan;
        const end = this.#all.get(authority)?.notAfterMs ?? 0;
        const notAfterMs = Math.min(nowMs + TIMES.certificateMs, end);
        this.stored = { ...stored, serving: { notBeforeMs, notAfterMs, names: NAMES, signedBy: authority, previous } };
        this.served.push({ atMs: nowMs, by: authority });
        return true;
      }
      case "drop-authorities":
        this.stored = { ...stored, authorities: stored.authorities.filter(({ id }) => plan.kept.includes(id)) };
        return true;
    }
  }

  /** Steps until there is nothing to do. */
  settle(): number {
    let steps = 0;
    while (steps <= MOST_STEPS && this.step()) steps += 1;
    return steps;
  }
}

/** Those of a history that were in effect at some time from `from` to `to`. */
function inEffect<T extends { readonly atMs: number }>(history: readonly T[], from: number, to: number): readonly T[] {
  const before = history.findLastIndex(({ atMs }) => atMs <= from);
  return history.slice(Math.max(0, before)).filter(({ atMs }) => atMs <= to);
}

const span = (min: number, max: number) => fc.integer({ min, max });

/** Minutes, hours or days go by; then the leader does so many steps before it dies, and the next one comes after `soonMs`. */
const events = fc.array(
  fc.record({
    passMs: fc.oneof(span(1, 3 * HOUR), span(HOUR - 2, HOUR + 2), span(3 * HOUR, 5 * HOUR)),
    steps: fc.nat(MOST_STEPS),
    soonMs: span(1, 2 * HOUR),
  }),
  { minLength: 20, maxLength: 100 },
);

/** The signers that served at some time of the last overlap and were missing from a bundle at another time of it. */
function untrusted({ served, published, nowMs }: Shelf, beganMs: number): readonly string[] {
  const from = Math.max(beganMs, nowMs - TIMES.overlapMs + 1);
  const bundles = inEffect(published, from, nowMs);
  return inEffect(served, from, nowMs).flatMap(({ by }) => (bundles.every(({ ids }) => ids.includes(by)) ? [] : [by]));
}

describe("certificatePlan", () => {
  it("never has anything served that an agent which learns late does not trust, however often leaders die", () => {
    fc.assert(
      fc.property(events, (story) => {
        const shelf = new Shelf(NOTHING);
        shelf.settle();
        const beganMs = shelf.nowMs;
        for (const { passMs, steps, soonMs } of story) {
          shelf.nowMs += passMs;
          for (let step = 0; step < steps; step += 1) shelf.step();
          expect(untrusted(shelf, beganMs)).toEqual([]);
          shelf.nowMs += soonMs;
          shelf.settle();
          expect(untrusted(shelf, beganMs)).toEqual([]);
        }
      }),
      { numRuns: NUM_RUNS },
    );
  });

  const within = (from: number, to: number, unit: number) =>
    fc.integer({ min: from, max: to }).map((units) => units * unit + BEGAN);
  const maybe = <T>(one: fc.Arbitrary<T>) => fc.option(one, { nil: undefined });
  const id = fc.constantFrom("a", "b", "c");
  const times = { notBeforeMs: within(-200, 2, DAY), notAfterMs: within(-2, 200, DAY) };
  const authorities = fc.uniqueArray(fc.record({ id, ...times }), { selector: (one) => one.id, maxLength: 3 });
  const serving = fc.record({
    ...times,
    signedBy: fc.constantFrom("a", "b", "c", "d"),
    names: fc.constantFrom(NAMES, ["x"], []),
    previous: maybe(fc.record({ id, untilMs: within(-2, 2, HOUR) })),
  });
  const completeSinceMs = maybe(within(-3, 3, HOUR));
  const anything = fc.record({ authorities, trusted: authorities, completeSinceMs, serving: maybe(serving) });

  it("comes to rest from whatever is stored, with a certificate that agents trust, and piles no authorities up", () => {
    fc.assert(
      fc.property(anything, events, (stored, story) => {
        const shelf = new Shelf(stored);
        for (const { passMs } of [{ passMs: 0 }, ...story]) {
          shelf.nowMs += passMs;
          expect(shelf.settle()).toBeLessThanOrEqual(MOST_STEPS);
          const { serving: served, authorities: own, trusted } = shelf.stored;
          expect(served && isValidAt(served, shelf.nowMs)).toBe(true);
          expect(served?.names).toEqual(NAMES);
          expect(trusted.map((one) => one.id)).toContain(served?.signedBy);
          expect(own.length).toBeLessThanOrEqual(2);
          expect(trusted.length).toBeLessThanOrEqual(3);
        }
      }),
      { numRuns: NUM_RUNS },
    );
  });
});
