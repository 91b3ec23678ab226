import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PodOwner } from "../../../../../agent/core/affinity/facts.ts";
import {
  checkLimits,
  type Limits,
  NODE_REJECTIONS,
  NODE_WINDOW_MS,
  newLimits,
  type SeenRejection,
  withdraw,
  withSeenRejection,
} from "../../../../../agent/core/affinity/limits.ts";
import { backOffMs, FREE_REJECTIONS, OWNER_WINDOW_MS } from "../../../../../agent/core/affinity/owner-back-off.ts";
import { MINUTE, owner, SECOND, scene } from "./limit-scenes.ts";

const RUNS = Number(process.env.MOORING_PROPERTY_RUNS ?? 40);
const KINDS = ["ReplicaSet", "StatefulSet", "Job-like"] as const;

/** A rejection that was really made, as the API server has it. */
interface Made {
  readonly atMs: number;
  readonly owner: string;
  readonly level: number;
  readonly podUid: string;
}

/** What happens on the node: a pod arrives, the agent restarts, a patch is refused. */
const event = fc.record({
  restMs: fc.oneof(
    { weight: 9, arbitrary: fc.integer({ min: 0, max: 2 * SECOND }) },
    { weight: 3, arbitrary: fc.integer({ min: 0, max: MINUTE }) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 20 * MINUTE }) },
  ),
  owner: fc.oneof(fc.integer({ min: 0, max: 1 }), fc.integer({ min: 0, max: 23 })),
  what: fc.oneof(
    { weight: 12, arbitrary: fc.constant("pod") },
    { weight: 2, arbitrary: fc.constant("restart") },
    { weight: 1, arbitrary: fc.constant("conflict") },
  ),
});
type Event = typeof event extends fc.Arbitrary<infer T> ? T : never;

/** A run that began long ago knows what it did; one that begins learns it from the pods that are still there, in some order. */
function restarted(made: readonly Made[], nowMs: number): Limits {
  const left = made.filter((one) => kindOf(one.owner) === "ReplicaSet");
  return left
    .toReversed()
    .reduce((known, one) => withSeenRejection(known, seenAs(one, nowMs), nowMs), newLimits(nowMs));
}

function seenAs({ podUid, owner: ownerUid, atMs, level }: Made, nowMs: number): SeenRejection {
  return { podUid, ownerUid, level, ageMs: nowMs - atMs };
}

function kindOf(uid: string): string {
  return KINDS[Number(uid) % KINDS.length] ?? "ReplicaSet";
}

/** Pods that have to wait are tried again exactly when their wait ends; a restarted agent checks all of them at once. */
class World {
  readonly made: Made[] = [];
  #limits = newLimits(-24 * 60 * MINUTE);
  #waiting: readonly { readonly atMs: number; readonly podUid: string; readonly of: PodOwner }[] = [];
  #nowMs = 0;

  pass(untilMs: number): void {
    const next = this.#waiting.toSorted((a, b) => a.atMs - b.atMs)[0];
    if (next === undefined || next.atMs > untilMs) {
      this.#nowMs = untilMs;
      return;
    }
    this.#waiting = this.#waiting.filter((one) => one !== next);
    this.#nowMs = Math.max(this.#nowMs, next.atMs);
    this.try(next.podUid, next.of, false);
    this.pass(untilMs);
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  try(podUid: string, of: PodOwner, isConflict: boolean): void {
    const job = { kind: "value", value: RETRIES } as const;
    const { decision, limits } = checkLimits(this.#limits, { podUid, owner: of, job }, scene(this.#nowMs));
    this.#limits = isConflict && decision.kind === "go" ? withdraw(limits, podUid) : limits;
    if (decision.kind === "wait") {
      expect(decision.untilMs).toBeGreaterThan(this.#nowMs);
      this.#waiting = [...this.#waiting, { atMs: decision.untilMs, podUid, of }];
    } else if (decision.kind === "go" && !isConflict)
      this.made.push({ atMs: this.#nowMs, owner: of.uid, level: decision.level, podUid });
  }

  restart(): void {
    this.#limits = restarted(this.made, this.#nowMs);
    this.#waiting = this.#waiting.map((one) => ({ ...one, atMs: this.#nowMs }));
  }
}

function statefulSet(index: number): PodOwner {
  return owner(String(KINDS.length * index + 1), "StatefulSet");
}

function playAll(events: readonly Event[], canRestart: boolean): readonly Made[] {
  const world = new World();
  for (const [index, { restMs, owner: number, what }] of events.entries()) {
    world.pass(world.nowMs + restMs);
    if (what === "restart" && canRestart) world.restart();
    world.try(`p${index}`, owner(String(number), kindOf(String(number))), what === "conflict");
  }
  world.pass(world.nowMs + 40 * MINUTE);
  return world.made;
}

const RETRIES = { uid: "j", backoffLimit: 1_000_000, backoffLimitPerIndex: undefined, failed: 0 };

/** The most that were made in any time of that length. */
function mostIn(made: readonly Made[], windowMs: number): number {
  const counts = made.map(({ atMs: to }) => made.filter(({ atMs }) => atMs <= to && atMs > to - windowMs).length);
  return Math.max(0, ...counts);
}

describe("limits, for any sequence of events", () => {
  const events = fc.array(event, { maxLength: 100, size: "max" });

  it("never allow more than ten rejections a minute on a node", () => {
    fc.assert(
      fc.property(events, (all) => {
        expect(mostIn(playAll(all, false), NODE_WINDOW_MS)).toBeLessThanOrEqual(NODE_REJECTIONS);
      }),
      { seed: 5541, numRuns: RUNS },
    );
  });

  it("never allow more than ten when the agent crashes repeatedly and every rejected pod is deleted", () => {
    fc.assert(
      fc.property(fc.integer({ min: SECOND, max: MINUTE }), fc.integer({ min: 1, max: 40 }), (everyMs, pods) => {
        const world = new World();
        world.restart();
        for (let index = 0; index < pods; index += 1) world.try(`p${index}`, statefulSet(index), false);
        for (let crash = 1; crash * everyMs < 3 * MINUTE; crash += 1) {
          world.pass(crash * everyMs);
          world.restart();
        }

        expect(mostIn(world.made, NODE_WINDOW_MS)).toBeLessThanOrEqual(NODE_REJECTIONS);
      }),
      { seed: 5541, numRuns: RUNS },
    );
  });

  it("never allow more than twenty, whatever the agent did before it crashed", () => {
    fc.assert(
      fc.property(events, (all) => {
        expect(mostIn(playAll(all, true), NODE_WINDOW_MS)).toBeLessThanOrEqual(2 * NODE_REJECTIONS);
      }),
      { seed: 5541, numRuns: RUNS },
    );
  });

  it.each([
    { name: "in one run", canRestart: false, owners: ["0", "1", "2", "3", "4", "5"] },
    { name: "over restarts, of an owner that leaves its failed pods", canRestart: true, owners: ["0", "3", "6"] },
  ])("never allow a rejection of an owner's pod before its back-off is over: $name", ({ canRestart, owners }) => {
    fc.assert(
      fc.property(events, (all) => {
        const made = playAll(all, canRestart);

        for (const one of owners) expectBackOff(made.filter((other) => other.owner === one));
      }),
      { seed: 5541, numRuns: RUNS },
    );
  });

  it("decide the same in whatever order, and however often, rejected pods are seen", () => {
    const pod = fc.record({
      podUid: fc.constantFrom("a", "b", "c", "d", "e", "f"),
      ownerUid: fc.constantFrom("0", "3", undefined),
      ageMs: fc.integer({ min: -SECOND, max: 60 * MINUTE }),
      level: fc.integer({ min: -1, max: 8 }),
    });
    const orders = fc
      .uniqueArray(pod, { selector: ({ podUid }) => podUid })
      // The agent's own stamp and the annotation's differ a little.
      .map((pods) => [...pods, ...pods.map((one) => ({ ...one, ageMs: one.ageMs + 200 }))])
      .chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })));
    fc.assert(
      fc.property(orders, fc.integer({ min: 0, max: 20 * MINUTE }), ([some, others], laterMs) => {
        const one = some.reduce((known, seen) => withSeenRejection(known, seen, 0), OLD);
        const other = others.reduce((known, seen) => withSeenRejection(known, seen, 0), OLD);

        expect(decided(one, laterMs)).toEqual(decided(other, laterMs));
      }),
      { seed: 5541, numRuns: 10 * RUNS },
    );
  });
});

const OLD = newLimits(-24 * 60 * MINUTE);

function decided(limits: Limits, nowMs: number) {
  return ["0", "3"].map(
    (uid) => checkLimits(limits, { podUid: "new", owner: owner(uid), job: undefined }, scene(nowMs)).decision,
  );
}

/** By what was made alone: after three in ten minutes each gap is at least twice the one that was needed before it. */
function expectBackOff(made: readonly Made[]): void {
  let level = 0;
  for (const [index, one] of made.entries()) {
    const before = made[index - 1];
    const gapMs = one.atMs - (before?.atMs ?? Number.NEGATIVE_INFINITY);
    expect(gapMs).toBeGreaterThanOrEqual(backOffMs(level));
    if (gapMs >= backOffMs(level) + OWNER_WINDOW_MS) level = 0;
    const isThird = one.atMs - (made[index - FREE_REJECTIONS + 1]?.atMs ?? Number.NEGATIVE_INFINITY) < OWNER_WINDOW_MS;
    level = level > 0 || isThird ? Math.min(level + 1, 6) : 0;
  }
}
