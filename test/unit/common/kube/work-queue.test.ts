import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { ApiError } from "../../../../common/kube/client.ts";
import { WorkQueue } from "../../../../common/kube/work-queue.ts";
import { MooringError } from "../../../../common/runtime/errors.ts";
import { INTERNAL_ERROR, InternalErrors } from "../../../../common/runtime/internal-errors.ts";
import { createFakeClock, settle } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFixedRandom } from "../../../fakes/random.ts";

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

type Work = (key: string, signal: AbortSignal) => Promise<void>;

function setUp(concurrency = 4, prepare?: (key: string) => void) {
  const clock = createFakeClock();
  const logger = createFakeLogger();
  const urgent = new Set<string>();
  const isUrgent = (key: string): boolean => urgent.has(key);
  const isLate = (key: string): boolean => key.startsWith("late");
  // With the highest fraction each wait is the whole of 50, 100, 200 ms and so on.
  const queue = new WorkQueue({ clock, logger, random: createFixedRandom(1), isUrgent, isLate, prepare }, concurrency);
  const stop = new AbortController();
  /** The error that ends it is the value of `ended`. */
  const start = (work: Work): { readonly ended: Promise<unknown> } => {
    const ended = queue.run(work, stop.signal).catch((error: unknown) => error);
    cleanUps.push(async () => {
      stop.abort();
      await ended;
    });
    return { ended };
  };
  const addUrgent = (key: string): void => {
    urgent.add(key);
    queue.add(key);
    urgent.delete(key);
  };
  return { clock, logger, queue, urgent, addUrgent, stop, start };
}

/** Work that ends when the test says so. */
function createGate() {
  const begun: string[] = [];
  const open = new Map<string, (() => void)[]>();
  return {
    begun,
    work: async (key: string): Promise<void> => {
      begun.push(key);
      await new Promise<void>((resolve) => open.set(key, [...(open.get(key) ?? []), resolve]));
    },
    finish: (key: string): void => {
      for (const resolve of open.get(key) ?? []) resolve();
      open.delete(key);
    },
  };
}

describe("an observed work queue", () => {
  it("reports how long a key waited and how long its work took, failures included", async () => {
    const clock = createFakeClock();
    const [waits, works]: [number[], number[]] = [[], []];
    let retries = 0;
    const observer = {
      waited: (ms: number) => void waits.push(ms),
      worked: (ms: number) => void works.push(ms),
      retried: () => {
        retries += 1;
      },
    };
    const parts = { clock, logger: createFakeLogger(), random: createFixedRandom(1) };
    const queue = new WorkQueue(parts, 1, observer);
    const stop = new AbortController();
    queue.add("a");
    queue.add("b");
    clock.pass(30);

    const ended = queue.run(async (key) => {
      await clock.sleep(100);
      if (key === "b") throw new MooringError("transport-failed", "no", { retriable: false });
    }, stop.signal);
    const signs = [queue.progress];
    await clock.advance(50);
    signs.push(queue.progress);
    await clock.advance(100);
    signs.push(queue.progress);
    await clock.advance(100);
    signs.push(queue.progress);
    stop.abort();
    await ended;

    expect(waits).toEqual([30, 130]);
    expect(works).toEqual([100, 100]);
    expect(retries).toBe(1);
    expect(signs).toEqual([0, 0, 1, undefined]);
  });
});

describe("a work queue", () => {
  it("adds many keys at once like single ones: a waiting key keeps its place, a running one comes again", async () => {
    const { queue, start } = setUp(1);
    const done: string[] = [];
    const ends: (() => void)[] = [];
    queue.add("b");
    start(async (key) => {
      done.push(key);
      await new Promise<void>((resolve) => void ends.push(resolve));
    });
    await settle();

    queue.add("c");
    queue.addAll(["a", "b", "c"]);
    for (let turn = 0; turn < 4; turn += 1) {
      ends.shift()?.();
      await settle();
    }

    expect(done).toEqual(["b", "c", "a", "b"]);
  });

  it("yields to the event loop when the work of many keys waits for nothing", async () => {
    const { clock, queue, start } = setUp(1);
    const done: string[] = [];
    for (const key of ["a", "b", "c", "d", "e"]) queue.add(key);

    start(async (key) => {
      clock.pass(3);
      done.push(key);
    });
    await settle();
    expect(done).toEqual(["a", "b"]);
    await clock.advance(0);

    expect(done).toEqual(["a", "b", "c", "d"]);
  });

  it("works on what was added before and after the start, in order, each once", async () => {
    const { queue, start } = setUp(1);
    const done: string[] = [];

    queue.add("a");
    queue.add("b");
    queue.add("a");
    start(async (key) => void done.push(key));
    await settle();
    queue.add("c");
    await settle();

    expect(done).toEqual(["a", "b", "c"]);
    expect(queue.depth).toBe(0);
  });

  it("works on an urgent key before all that wait, in the order of those, also where it waits already", async () => {
    const { queue, addUrgent, start } = setUp(1);
    const done: string[] = [];

    for (const key of ["a", "b", "c", "d"]) queue.add(key);
    addUrgent("c");
    addUrgent("e");
    start(async (key) => void done.push(key));
    await settle();
    queue.add("c");
    await settle();

    expect(done).toEqual(["c", "e", "a", "b", "d", "c"]);
    expect(queue.isIdle).toBe(true);
  });

  it("comes back first to a key that became urgent while it was being worked on", async () => {
    const { queue, addUrgent, start } = setUp(1);
    const gate = createGate();

    for (const key of ["a", "b"]) queue.add(key);
    start(gate.work);
    await settle();
    addUrgent("a");
    gate.finish("a");
    await settle();
    gate.finish("a");
    await settle();

    expect(gate.begun).toEqual(["a", "a", "b"]);
    gate.finish("b");
  });

  it("works first on an urgent key whose time has come", async () => {
    const { clock, queue, urgent, start } = setUp(1);
    const gate = createGate();
    urgent.add("c");
    for (const key of ["a", "b"]) queue.add(key);
    queue.addAfter("c", 50);
    start(gate.work);

    await clock.advance(50);
    for (const key of ["a", "c", "b"]) {
      gate.finish(key);
      await settle();
    }

    expect(gate.begun).toEqual(["a", "c", "b"]);
  });

  it("works on a late key after all others, also on one that is added again during its work", async () => {
    const { queue, start } = setUp(1);
    const gate = createGate();
    queue.addAll(["late-1", "late-2", "a"]);
    start(gate.work);
    await settle();
    queue.addAll(["b"]);

    for (const key of ["a", "b", "late-1"]) {
      gate.finish(key);
      await settle();
      if (key === "b") queue.addAll(["late-1", "c"]);
    }
    for (const key of ["c", "late-2", "late-1"]) {
      gate.finish(key);
      await settle();
    }

    expect(gate.begun).toEqual(["a", "b", "late-1", "c", "late-2", "late-1"]);
    expect(queue.isIdle).toBe(true);
  });

  it("prepares what waits for a worker each time it is added, and what is worked on already", async () => {
    const prepared: string[] = [];
    const { clock, queue, start } = setUp(1, (key) => void prepared.push(key));
    const gate = createGate();
    for (const key of ["a", "b", "c"]) queue.add(key);
    start(gate.work);
    await clock.advance(0);
    const first = prepared.splice(0);

    for (const key of ["a", "c"]) queue.add(key);
    await clock.advance(0);
    const again = prepared.splice(0);
    for (const key of ["a", "b", "c", "a"]) {
      gate.finish(key);
      await clock.advance(0);
    }

    expect([first, again, prepared]).toEqual([["b", "c"], ["a", "c"], []]);
    expect(gate.begun).toEqual(["a", "b", "c", "a"]);
  });

  it("prepares no key while workers become free", async () => {
    const prepared: string[] = [];
    const { clock, queue, start } = setUp(2, (key) => void prepared.push(key));
    queue.addAll(["a", "b", "c", "d", "e"]);

    start(async () => {});
    await clock.advance(0);

    expect([prepared, queue.isIdle]).toEqual([[], true]);
  });

  it("yields to the event loop when there is much to prepare", async () => {
    const prepared: string[] = [];
    const scene = setUp(1, (key) => {
      scene.clock.pass(3);
      prepared.push(key);
    });
    const gate = createGate();
    scene.queue.addAll(["a", "b", "c", "d", "e"]);
    scene.start(gate.work);
    await settle();
    const turns: string[][] = [];
    for (let turn = 0; turn < 4; turn += 1) {
      // The first wake-up is for a look at the workers, the next one for others.
      await scene.clock.advance(0);
      turns.push(prepared.splice(0));
      scene.clock.pass(10);
    }
    gate.finish("a");
    await settle();
    gate.finish("b");

    expect(turns.flat()).toEqual(["b", "c", "d", "e"]);
    expect(Math.max(...turns.map(({ length }) => length))).toBe(2);
  });

  it("treats a bug in a preparation as one in the work on that key", async () => {
    const bug = new TypeError("cannot read");
    const prepared: string[] = [];
    const { clock, logger, queue, start } = setUp(1, (key) => {
      if (key === "b") throw bug;
      prepared.push(key);
    });
    const gate = createGate();
    queue.addAll(["a", "b", "c"]);
    start(gate.work);
    await clock.advance(0);
    for (const key of ["a", "b", "c"]) {
      gate.finish(key);
      await settle();
    }

    expect(prepared).toEqual(["c"]);
    expect(logger.lines).toEqual([
      { level: "error", message: INTERNAL_ERROR, fields: { where: "work", key: "b", err: bug } },
    ]);
  });

  it("reads many keys that are added together bit by bit, and new keys go in between", async () => {
    const { queue, start } = setUp(1);
    const keys = new Set(Array.from({ length: 5_000 }, (_, index) => `batch-${index}`));
    const done: string[] = [];
    queue.addAll(keys);
    queue.addAll([undefined, "last"]);
    const isDone = queue.checkpoint();
    const before = [queue.isIdle, isDone()];

    start(async (key) => {
      if (done.push(key) === 1) queue.add("new");
      // What is no longer there when its turn comes is not read.
      keys.delete("batch-4000");
      if (key === "last") before.push(isDone());
    });
    while (!queue.isIdle) await settle();

    expect([before, isDone()]).toEqual([[false, false, false], true]);
    expect(done.indexOf("new")).toBeLessThan(done.indexOf("batch-2000"));
    expect([new Set(done).size, done.length, done.at(-1)]).toEqual([5_001, 5_001, "last"]);
  });

  it("takes in the keys of a whole cluster as it works on them, and prepares all of them while no worker is free", async () => {
    const keys = Array.from({ length: 5_000 }, (_, index) => `batch-${index}`);
    const prepared: string[] = [];
    const scenes = [setUp(1), setUp(1, (key) => void prepared.push(key))] as const;

    const depths = [];
    for (const { clock, queue, start } of scenes) {
      queue.addAll(keys);
      start((_, signal) => new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve())));
      for (let turn = 0; turn < 20; turn += 1) await clock.advance(0);
      depths.push(queue.depth);
    }

    expect(depths[0]).toBeLessThan(2_000);
    expect([depths[1], prepared.length]).toEqual([4_999, 4_999]);
  });

  it("reports when all keys of a moment have been worked on, although it is never idle", async () => {
    const { queue, start } = setUp(1);
    const gate = createGate();
    const seen: boolean[] = [];
    queue.add("a");
    queue.add("b");
    start(gate.work);
    await settle();
    // One is being worked on and wanted again, one waits; the third comes later.
    queue.add("a");
    const isDone = queue.checkpoint();
    queue.add("c");

    for (const [key, added] of [["a"], ["b", "b"], ["c", "d"], ["a"], ["b"]] as const) {
      if (added !== undefined) queue.add(added);
      gate.finish(key);
      await settle();
      seen.push(isDone());
    }

    // The one that was wanted again while it was worked on may have failed.
    expect(seen).toEqual([false, false, false, false, true]);
    expect([queue.isIdle, queue.checkpoint()()]).toEqual([false, false]);
    gate.finish("d");
    await settle();
    expect([queue.isIdle, queue.checkpoint()()]).toEqual([true, true]);
  });

  it.each([
    { name: "wanted", steps: 0, seen: [false, true, true] },
    { name: "worked on", steps: 1_500, seen: [false, false, true] },
  ])("does not take a key of a batch for done that is $name when the batch comes to it", async ({ steps, seen }) => {
    const { queue, start } = setUp(1);
    const gate = createGate();
    queue.addAll([...Array<undefined>(steps), "a"]);
    const isDone = queue.checkpoint();
    queue.add("a");
    start(gate.work);
    await settle();

    const found = [isDone()];
    for (const _ of ["the first work", "the second"]) {
      gate.finish("a");
      await settle();
      found.push(isDone());
    }

    expect(found).toEqual(seen);
  });

  it("does not take for done what its end cuts short", async () => {
    const { queue, stop, start } = setUp();
    queue.add("a");
    const isDone = queue.checkpoint();
    const { ended } = start((_, signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve())));
    await settle();

    stop.abort();
    await ended;

    expect([queue.isIdle, isDone()]).toEqual([false, false]);
  });

  it("works on as many keys at a time as it may", async () => {
    const { queue, start } = setUp(2);
    const gate = createGate();

    for (const key of ["a", "b", "c"]) queue.add(key);
    start(gate.work);
    await settle();
    expect(gate.begun).toEqual(["a", "b"]);
    expect(queue.depth).toBe(1);
    gate.finish("a");
    await settle();

    expect(gate.begun).toEqual(["a", "b", "c"]);
    gate.finish("b");
    gate.finish("c");
  });

  it("never works on a key twice at a time, and comes back to one that was added meanwhile, once", async () => {
    const { queue, start } = setUp();
    const gate = createGate();

    queue.add("a");
    start(gate.work);
    await settle();
    queue.add("a");
    queue.add("a");
    await settle();
    expect(gate.begun).toEqual(["a"]);
    gate.finish("a");
    await settle();
    expect(gate.begun).toEqual(["a", "a"]);
    gate.finish("a");
    await settle();

    expect(gate.begun).toEqual(["a", "a"]);
  });

  it("does not let a busy key delay the others", async () => {
    const { queue, start } = setUp(2);
    const gate = createGate();

    queue.add("a");
    start(gate.work);
    await settle();
    queue.add("a");
    queue.add("b");
    await settle();

    expect(gate.begun).toEqual(["a", "b"]);
    gate.finish("a");
    gate.finish("b");
    await settle();
    gate.finish("a");
  });

  it("brings a key back after its time", async () => {
    const { clock, queue, start } = setUp();
    const done: string[] = [];
    start(async (key) => void done.push(key));

    queue.addAfter("a", 1_000);
    await clock.advance(999);
    expect(done).toEqual([]);
    await clock.advance(1);

    expect(done).toEqual(["a"]);
  });

  it.each([
    { name: "the earlier first", times: [100, 500] },
    { name: "the later first", times: [500, 100] },
  ])("counts the earliest of several times, $name", async ({ times }) => {
    const { clock, queue, start } = setUp();
    const done: number[] = [];
    const begin = clock.monotonicMs();
    start(async () => void done.push(clock.monotonicMs() - begin));

    for (const ms of times) queue.addAfter("a", ms);
    await clock.advance(10_000);

    expect(done).toEqual([100]);
  });

  it("brings keys back in the order of their times", async () => {
    const { clock, queue, start } = setUp();
    const done: string[] = [];
    start(async (key) => void done.push(key));

    for (const [key, ms] of [
      ["c", 300],
      ["a", 100],
      ["d", 400],
      ["b", 200],
    ] as const)
      queue.addAfter(key, ms);
    await clock.advance(1_000);

    expect(done).toEqual(["a", "b", "c", "d"]);
  });

  it("waits longer after each failure of a key, and starts again after a success", async () => {
    const { clock, queue, start } = setUp();
    const begin = clock.monotonicMs();
    const times: number[] = [];
    start(async () => {
      times.push(clock.monotonicMs() - begin);
      if (times.length !== 4) throw new MooringError("transport-failed", "no answer");
    });

    queue.add("a");
    await clock.advance(5_000);
    expect(times).toEqual([0, 50, 150, 350]);
    queue.add("a");
    await clock.advance(50);

    expect(times).toEqual([0, 50, 150, 350, 5_000, 5_050]);
  });

  it("waits at most a minute", async () => {
    const { clock, queue, start } = setUp();
    const times: number[] = [];
    start(async () => {
      times.push(clock.monotonicMs());
      throw new MooringError("transport-failed", "no answer");
    });

    queue.add("a");
    await clock.advance(600_000);

    expect(
      times
        .slice(-3)
        .map((time, index, all) => time - (all[index - 1] ?? time))
        .slice(1),
    ).toEqual([60_000, 60_000]);
  });

  it("waits as long as Retry-After says", async () => {
    const { clock, queue, start } = setUp();
    const begin = clock.monotonicMs();
    const times: number[] = [];
    start(async () => {
      times.push(clock.monotonicMs() - begin);
      if (times.length === 1) throw new ApiError("too many requests", { status: 429, retryAfterMs: 3_000 });
    });

    queue.add("a");
    await clock.advance(10_000);

    expect(times).toEqual([0, 3_050]);
  });

  it("tries what will not get better again, slowly, and at once when it is added", async () => {
    const { clock, queue, start } = setUp();
    let tries = 0;
    start(async () => {
      tries += 1;
      throw new ApiError("invalid", { status: 422, retryAfterMs: undefined });
    });

    queue.add("a");
    await clock.advance(599_999);
    expect(tries).toBe(1);
    await clock.advance(1);
    expect(tries).toBe(2);
    queue.add("a");
    await settle();

    expect(tries).toBe(3);
  });

  it("does not let a failing key disturb the others", async () => {
    const { clock, queue, start, logger } = setUp(1);
    const done: string[] = [];
    start(async (key) => {
      if (key === "bad") throw new MooringError("transport-failed", "no answer");
      done.push(key);
    });

    for (const key of ["bad", "a", "b"]) queue.add(key);
    await clock.advance(10);

    expect(done).toEqual(["a", "b"]);
    expect(logger.lines).toMatchObject([{ level: "warn", fields: { key: "bad" } }]);
  });

  it("records a bug in the work on one key with its stack once, tries that key again with back-off, and continues with the others", async () => {
    const { clock, queue, start, logger } = setUp();
    const [tries, done]: [number[], string[]] = [[], []];
    const bug = new TypeError("a bug");
    const { ended } = start(async (key) => {
      if (key !== "bad") return void done.push(key);
      tries.push(clock.monotonicMs());
      if (tries.length < 4) throw bug;
    });

    for (const key of ["bad", "a"]) queue.add(key);
    await clock.advance(10);
    queue.add("b");
    await clock.advance(60_000);

    expect(done).toEqual(["a", "b"]);
    const [first = 0] = tries;
    expect(tries.map((at) => at - first)).toEqual([0, 50, 150, 350]);
    expect(logger.lines).toEqual([
      { level: "error", message: INTERNAL_ERROR, fields: { where: "work", key: "bad", err: bug } },
    ]);
    await expect(Promise.race([ended, "goes on"])).resolves.toBe("goes on");
  });

  it("names no key any more once it has ended", async () => {
    const { clock, logger } = setUp();
    const errors = new InternalErrors(logger);
    const queue = new WorkQueue({ clock, logger, random: createFixedRandom(1), errors: errors.in("claims") });
    const stop = new AbortController();
    queue.add("bad");
    const ended = queue.run(async () => {
      throw new TypeError("a bug");
    }, stop.signal);
    await settle();
    const named = errors.check();

    stop.abort();
    await ended;

    expect(named).toMatchObject({ detail: "internal errors, see the log; claims: bad" });
    expect(errors.check()).toEqual({ ok: true });
  });

  it("ends when it is stopped, after what is being worked on", async () => {
    const { queue, start, stop } = setUp();
    const gate = createGate();
    const { ended } = start(gate.work);
    queue.add("a");
    queue.addAfter("b", 1_000);
    await settle();

    stop.abort();
    gate.finish("a");

    expect(await ended).toBeUndefined();
    expect(gate.begun).toEqual(["a"]);
  });

  it("is neither broken nor slowed by as many waiting keys as the largest cluster has claims", async () => {
    const { clock, queue, start } = setUp();
    let done = 0;
    for (let index = 0; index < 200_000; index += 1) queue.addAfter(`later-${index}`, 90_000 + index);
    for (let index = 0; index < 10_000; index += 1) queue.add(`now-${index}`);

    void start(async () => {
      done += 1;
    });
    await clock.advance(0);

    expect(done).toBe(10_000);
  });

  it("loses no key and works on none twice at a time, whatever the order of events", async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constantFrom("add" as const, "first" as const), key: fc.constantFrom("a", "b", "c") }),
      fc.record({ kind: fc.constant("after" as const), key: fc.constantFrom("a", "b", "c"), ms: fc.nat(200) }),
      fc.record({ kind: fc.constant("pass" as const), ms: fc.nat(100) }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 30 }),
        fc.array(fc.boolean(), { maxLength: 10 }),
        async (steps, failures) => {
          const scene = setUp(2, () => {});
          const { clock, start } = scene;
          const busy = new Set<string>();
          const owed = new Map<string, number>();
          const fails = [...failures];
          start(async (key) => {
            expect(busy.has(key)).toBe(false);
            busy.add(key);
            owed.delete(key);
            await clock.sleep(20);
            busy.delete(key);
            if (fails.pop()) throw new MooringError("transport-failed", "no answer");
          });
          for (const one of steps) {
            if (one.kind !== "pass") owed.set(one.key, 1);
            await taken(one, scene);
          }

          await clock.advance(60_000);

          expect([...owed.keys()]).toEqual([]);
        },
      ),
      { numRuns: 60 },
    );
  });
});

interface Step {
  readonly kind: "add" | "first" | "after" | "pass";
  readonly key?: string;
  readonly ms?: number;
}

async function taken(
  { kind, key = "", ms = 0 }: Step,
  { clock, queue, addUrgent }: Pick<ReturnType<typeof setUp>, "clock" | "queue" | "addUrgent">,
): Promise<void> {
  if (kind === "add") queue.add(key);
  else if (kind === "first") addUrgent(key);
  else if (kind === "after") queue.addAfter(key, ms);
  else await clock.advance(ms);
}
