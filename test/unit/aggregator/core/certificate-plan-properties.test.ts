import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Authority,
  BACKDATED_MS,
  certificatePlan,
  type StoredCertificates,
} from "../../../../aggregator/core/certificate-plan.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NUM_RUNS = Number(process.env.MOORING_PROPERTY_RUNS ?? 100);
/** A year is two days here, and two minutes are ten, so that what is due, lost and late often coincides. */
const [AUTHORITY_MS, CERTIFICATE_MS] = [2 * DAY, 4 * HOUR];
/** A kubelet shows an agent what is published so much later at most. */
const LATE_MS = 10 * MINUTE;
const LOOK_MS = 5 * MINUTE;
const NAMES = ["a", "b"];
const BEGAN = 1_790_000_000_000;
const MOST_STEPS = 5;
/** Three at most are foreign, and stay to their end. */
const MOST_AUTHORITIES = 7;

const NOTHING: StoredCertificates = { authorities: [], trusted: [], serving: undefined };
const LOSSES = {
  authorities: { authorities: [] },
  bundle: { trusted: [] },
  serving: { serving: undefined },
} as const;

/** What an issuer does with a plan, without keys. */
class Shelf {
  stored: StoredCertificates;
  nowMs = BEGAN;
  /** What agents were told, and what was served, from when on. */
  readonly bundles: { readonly atMs: number; readonly ids: readonly string[] }[] = [];
  readonly served: { readonly atMs: number; readonly by: string }[] = [];
  readonly problems = new Set<string>();
  readonly #all: Map<string, Authority>;
  /** When all keys were lost, or there was none yet. */
  readonly #lostAtMs = [BEGAN];

  constructor(stored: StoredCertificates) {
    this.stored = stored;
    this.#all = new Map([...stored.trusted, ...stored.authorities].map((one) => [one.id, one]));
  }

  /** Whether there was anything to do. */
  step(): boolean {
    const { nowMs, stored } = this;
    const plan = certificatePlan(nowMs, stored, { names: NAMES, authorityMs: AUTHORITY_MS });
    const notBeforeMs = nowMs - BACKDATED_MS;
    if (plan.kind === "add-authority") {
      const made = { id: `made-${this.#all.size}`, notBeforeMs, notAfterMs: nowMs + plan.lifetimeMs };
      this.#all.set(made.id, made);
      const kept = stored.authorities.filter(({ id }) => plan.kept.includes(id));
      this.stored = { ...stored, authorities: [...kept, made] };
    }
    if (plan.kind === "publish") {
      this.stored = { ...stored, trusted: plan.trusted.flatMap((id) => this.#all.get(id) ?? []) };
      this.bundles.push({ atMs: nowMs, ids: plan.trusted });
    }
    if (plan.kind === "issue-certificate") {
      const end = this.#all.get(plan.authority)?.notAfterMs ?? 0;
      const notAfterMs = Math.min(nowMs + CERTIFICATE_MS, end);
      this.stored = { ...stored, serving: { notBeforeMs, notAfterMs, names: NAMES, signedBy: plan.authority } };
      this.served.push({ atMs: nowMs, by: plan.authority });
    }
    return plan.kind !== "keep";
  }

  /** Steps until there is nothing to do. */
  settle(): void {
    let steps = 0;
    while (steps <= MOST_STEPS && this.step()) steps += 1;
    const { serving, authorities, trusted } = this.stored;
    const isServed = serving !== undefined && serving.names === NAMES && serving.notAfterMs > this.nowMs;
    if (!isServed || !trusted.some(({ id }) => id === serving.signedBy)) this.problems.add("nothing good is served");
    if (steps > MOST_STEPS) this.problems.add("too many steps");
    if (Math.max(authorities.length, trusted.length) > MOST_AUTHORITIES) this.problems.add("too many authorities");
  }

  /** The leader dies after so many steps, unless the key behind what is served is lost. */
  lose(what: readonly (keyof typeof LOSSES)[], steps: number): void {
    for (const one of what) this.stored = { ...this.stored, ...LOSSES[one] };
    if (what.includes("authorities")) this.#lostAtMs.push(this.nowMs);
    const hasKey = this.stored.authorities.some(({ id }) => id === this.served.at(-1)?.by);
    for (let step = 0; step < (hasKey ? steps : MOST_STEPS); step += 1) this.step();
  }

  /** Late ones trust what is served, unless all keys were lost just before it was issued. The others trust what a late replica serves. */
  askAgents(): void {
    const { nowMs, bundles, served, problems } = this;
    const [now = { atMs: 0, by: "" }, before] = served.slice(-2).toReversed();
    const isLate = before !== undefined && nowMs < now.atMs + LATE_MS;
    if (isLate && this.#lostAtMs.every((atMs) => atMs < before.atMs) && !bundles.at(-1)?.ids.includes(before.by))
      problems.add("a late replica is refused");
    if (this.#lostAtMs.some((atMs) => atMs <= now.atMs && nowMs < atMs + LATE_MS)) return;
    const oldest = bundles.findLastIndex(({ atMs }) => atMs <= nowMs - LATE_MS);
    if (bundles.slice(oldest).some(({ ids }) => !ids.includes(now.by))) problems.add("a late agent refuses");
  }
}

/** Keys are lost seldom, so that authorities come to their ends. */
const OBJECTS: (keyof typeof LOSSES)[] = ["authorities", "bundle", "serving"];
const span = (min: number, max: number) => fc.integer({ min, max });
/** Hours or seconds go by; then something is lost, and the leader does so many steps before it dies; the next one looks a minute later. */
const events = fc.array(
  fc.record({
    passMs: fc.oneof(span(1, 3 * LATE_MS), span(1, 12 * HOUR)),
    lost: fc.oneof(
      { weight: 9, arbitrary: fc.subarray(OBJECTS.slice(1)) },
      { weight: 1, arbitrary: fc.subarray(OBJECTS) },
    ),
    steps: fc.nat(MOST_STEPS),
  }),
  { minLength: 20, maxLength: 60 },
);

describe("certificatePlan", () => {
  it("has nothing served that an agent refuses, but what is issued within two minutes of the loss of all keys", () => {
    fc.assert(
      fc.property(events, (story) => {
        const shelf = new Shelf(NOTHING);
        shelf.settle();
        for (const { passMs, lost, steps } of story) {
          for (const untilMs = shelf.nowMs + passMs; shelf.nowMs < untilMs; shelf.askAgents()) {
            shelf.nowMs = Math.min(untilMs, shelf.nowMs + LOOK_MS);
            shelf.settle();
          }
          shelf.lose(lost, steps);
          shelf.askAgents();
        }
        expect([...shelf.problems]).toEqual([]);
      }),
      { numRuns: NUM_RUNS },
    );
  });

  const within = (from: number, to: number) => span(from, to).map((days) => days * DAY + BEGAN);
  const times = { notBeforeMs: within(-200, 2), notAfterMs: within(-2, 200) };
  const authority = fc.record({ id: fc.constantFrom("a", "b", "c"), ...times });
  const signedBy = fc.constantFrom("a", "b", "c", "d");
  const certificate = fc.record({ ...times, signedBy, names: fc.constantFrom(NAMES, ["x"], []) });
  const serving = fc.option(certificate, { nil: undefined });
  const anything = fc
    .uniqueArray(authority, { selector: ({ id }) => id })
    .chain((all) => fc.record({ authorities: fc.subarray(all), trusted: fc.shuffledSubarray(all), serving }));

  it("comes to rest from whatever is stored, with a certificate that agents trust, and piles no authorities up", () => {
    fc.assert(
      fc.property(anything, events, (stored, story) => {
        const shelf = new Shelf(stored);
        shelf.settle();
        for (const { passMs } of story) {
          shelf.nowMs += passMs;
          shelf.settle();
        }
        expect([...shelf.problems]).toEqual([]);
      }),
      { numRuns: NUM_RUNS },
    );
  });
});
