import { afterEach, describe, expect, it } from "vitest";
import { Elector } from "../../../../common/kube/elector.ts";
import type { Lease, LeaseChange, LeaseStore, LeaseWrite } from "../../../../common/kube/lease.ts";
import { MooringError } from "../../../../common/runtime/errors.ts";
import { createFakeClock, settle } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFixedRandom } from "../../../fakes/random.ts";

const TIMING = { durationMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 };
const OTHERS = leaseWith({ holder: "other", renewTime: "2020-01-01T00:00:00.000000Z" });

function leaseWith(fields: Partial<Lease>): Lease {
  return {
    uid: "lease-1",
    resourceVersion: "1",
    annotations: {},
    holder: "",
    durationMs: 15_000,
    acquireTime: "2020-01-01T00:00:00.000000Z",
    renewTime: undefined,
    transitions: 3,
    ...fields,
  };
}

/** A Lease in memory, which fails while the test says so. */
class FakeLeases implements LeaseStore {
  lease: Lease | undefined;
  failure: Error | undefined;
  /** Writes are made, but their answers do not come. */
  isDeaf = false;
  readonly changes: LeaseChange[] = [];

  constructor(lease: Lease | undefined) {
    this.lease = lease;
  }

  readonly read = async (): Promise<Lease | undefined> => {
    if (this.failure !== undefined) throw this.failure;
    return this.lease;
  };
  readonly create = async (change: LeaseChange): Promise<LeaseWrite> => await this.#write(undefined, change);
  readonly update = async (lease: Lease, change: LeaseChange): Promise<LeaseWrite> => await this.#write(lease, change);

  /** Somebody else writes. */
  put(fields: Partial<Lease>): void {
    const version = String(Number(this.lease?.resourceVersion ?? 0) + 1);
    this.lease = { ...(this.lease ?? leaseWith({})), ...fields, resourceVersion: version };
  }

  async #write(known: Lease | undefined, change: LeaseChange): Promise<LeaseWrite> {
    if (this.failure !== undefined) throw this.failure;
    if (this.lease?.resourceVersion !== known?.resourceVersion) return { kind: "conflict" };
    this.changes.push(change);
    const { annotations, ...rest } = change;
    this.put({ ...rest, annotations: { ...this.lease?.annotations, ...annotations } });
    if (this.isDeaf) throw new MooringError("transport-failed", "no answer came");
    if (this.lease === undefined) throw new Error("unreachable: it was just put");
    return { kind: "written", lease: this.lease };
  }
}

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

interface Options {
  readonly slowEndMs?: number;
  readonly takeDelayMs?: number;
  readonly readyAfterMs?: number;
}

async function started(lease: Lease | undefined, { slowEndMs = 0, takeDelayMs = 0, readyAfterMs = 0 }: Options = {}) {
  const [clock, logger, leases] = [createFakeClock(), createFakeLogger(), new FakeLeases(lease)];
  const story: string[] = [];
  const seen: Lease[] = [];
  const elector = new Elector(
    { clock, logger, leases, random: createFixedRandom(0.5) },
    {
      identity: "me",
      timing: TIMING,
      nowMs: clock.wallMs,
      handOver: () => ({ output: `at ${clock.monotonicMs()}` }),
      onSeen: (one) => void seen.push(one),
      takeDelayMs: () => takeDelayMs,
      ...(readyAfterMs > 0 && { untilReady: (signal) => clock.sleep(readyAfterMs, signal) }),
    },
  );
  const stop = new AbortController();
  const begunAt = clock.monotonicMs();
  const at = (): number => clock.monotonicMs() - begunAt;
  const running = elector.run(async ({ annotations }, signal) => {
    story.push(`leads at ${at()} after ${JSON.stringify(annotations)}`);
    while (!signal.aborted) await clock.sleep(3_600_000, signal);
    story.push(`told to end at ${at()}`);
    if (slowEndMs > 0) await clock.sleep(slowEndMs);
  }, stop.signal);
  cleanUps.push(async () => {
    leases.failure = undefined;
    stop.abort();
    await clock.advance(60_000);
    await running;
  });
  await settle();
  return { clock, logger, leases, elector, story, seen, stop, running };
}

describe("an elector", () => {
  it.each([
    { name: "that does not exist yet", lease: undefined, transitions: 0 },
    { name: "that was given back", lease: leaseWith({ holder: "" }), transitions: 4 },
    { name: "that it took itself before an answer was lost", lease: leaseWith({ holder: "me" }), transitions: 3 },
    {
      name: "whose number of transitions is at its maximum",
      lease: leaseWith({ holder: "", transitions: 2_147_483_647 }),
      transitions: 2_147_483_647,
    },
  ])("takes a Lease at once $name", async ({ lease, transitions }) => {
    const { elector, leases } = await started(lease);

    expect(elector.mayAct()).toBe(true);
    expect(leases.lease).toMatchObject({ holder: "me", durationMs: 15_000, transitions });
    expect(leases.lease?.renewTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    expect(leases.lease?.acquireTime).toBe(leases.lease?.renewTime);
  });

  it("leaves a holder alone for as long as it renews, whatever time it writes", async () => {
    const { clock, leases, elector } = await started(OTHERS);

    for (const second of [14, 28, 42]) {
      await clock.advance(14_000);
      leases.put({ renewTime: `1970-01-01T00:00:${second}.000000Z` });
    }

    expect(elector.mayAct()).toBe(false);
    expect(elector.view()).toMatchObject({ holder: "other", isLeading: false });
  });

  it("takes the Lease of a holder that has not renewed for 15 s, and not a moment before", async () => {
    const { clock, elector, leases, story } = await started(OTHERS);

    await clock.advance(14_999);
    const before = elector.mayAct();
    await clock.advance(1);

    expect([before, elector.mayAct()]).toEqual([false, true]);
    expect(leases.lease).toMatchObject({ holder: "me", transitions: 4 });
    expect(story).toEqual(["leads at 15000 after {}"]);
  });

  it.each([
    { name: "at once where it had expired before that", readyAfterMs: 20_000, leadsAt: 20_000 },
    { name: "when it expires", readyAfterMs: 5_000, leadsAt: 15_000 },
  ])(
    "observes the Lease of a dead holder until it is ready, then takes it $name",
    async ({ readyAfterMs, leadsAt }) => {
      const { clock, leases, story } = await started(OTHERS, { readyAfterMs });

      await clock.advance(leadsAt - 1);
      const before = leases.changes.length;
      await clock.advance(1);

      expect(before).toBe(0);
      expect(story).toEqual([`leads at ${leadsAt} after {}`]);
    },
  );

  it("leaves a free Lease to others for the configured delay, then takes it", async () => {
    const { clock, elector } = await started(leaseWith({ holder: "" }), { takeDelayMs: 2_500 });
    await clock.advance(2_400);
    const before = elector.mayAct();

    await clock.advance(2_000);

    expect([before, elector.mayAct()]).toEqual([false, true]);
  });

  it("takes a released Lease within little more than a second", async () => {
    const { clock, leases, elector } = await started(OTHERS);
    await clock.advance(4_100);
    leases.put({ holder: "", durationMs: 1_000 });

    await clock.advance(1_200);

    expect(elector.mayAct()).toBe(true);
  });

  it("waits for the holder's lease duration, not its own", async () => {
    const { clock, elector } = await started({ ...OTHERS, durationMs: 40_000 });

    await clock.advance(39_999);
    const before = elector.mayAct();
    await clock.advance(1);

    expect([before, elector.mayAct()]).toEqual([false, true]);
  });

  it("waits for five minutes at most, whatever duration a forged Lease has", async () => {
    const { clock, story } = await started(leaseWith({ holder: "somebody-else", durationMs: 2_147_483_647_000 }));

    await clock.advance(299_000);
    const before = [...story];
    await clock.advance(2_000);

    expect(before).toEqual([]);
    expect(story).toHaveLength(1);
  });

  it("does not count the time in which its own machine slept, as it observed no holder then", async () => {
    const { clock, elector } = await started(OTHERS);

    clock.suspend(3_600_000);
    await clock.advance(14_999);

    expect(elector.mayAct()).toBe(false);
  });

  it("does not create at once what vanished under another one's hands", async () => {
    const { clock, leases, elector } = await started(OTHERS);

    leases.lease = undefined;
    await clock.advance(10_000);
    const early = elector.mayAct();
    await clock.advance(10_000);

    expect([early, elector.mayAct()]).toEqual([false, true]);
  });

  it("renews each two seconds with a time that always grows, and hands over with each", async () => {
    const { clock, leases } = await started(undefined);

    clock.jumpWall(-60_000);
    await clock.advance(8_000);

    const times = leases.changes.map(({ renewTime }) => renewTime);
    expect(times).toHaveLength(5);
    expect(times).toEqual([...new Set(times)].toSorted());
    expect(leases.changes.map(({ annotations }) => annotations?.output)).toEqual([
      undefined,
      "at 1802000",
      "at 1804000",
      "at 1806000",
      "at 1808000",
    ]);
  });

  it("stops at the renew deadline while the Lease cannot be reached, and leads again when it can", async () => {
    const { clock, leases, elector, story, logger } = await started(undefined);
    await clock.advance(2_000);

    leases.failure = new MooringError("transport-failed", "no route");
    await clock.advance(9_999);
    const before = elector.mayAct();
    await clock.advance(1);
    const after = elector.mayAct();
    const problem = elector.view().problem;
    leases.failure = undefined;
    await clock.advance(4_000);

    expect([before, after, elector.mayAct()]).toEqual([true, false, true]);
    expect(problem).toBe("no route");
    expect(story.slice(0, 2)).toEqual(["leads at 0 after {}", "told to end at 12000"]);
    expect(logger.messages("warn")).toContain("no longer leading: the lease was lost");
  });

  it("counts from when a renewal was sent, not from when its answer came", async () => {
    const { clock, leases, elector } = await started(undefined);
    const update = leases.update;
    Object.assign(leases, {
      update: async (lease: Lease, change: LeaseChange) => {
        const made = await update(lease, change);
        await clock.sleep(4_000);
        leases.failure = new MooringError("transport-failed", "no route");
        return made;
      },
    });

    // Sent after 2 s, answered after 6 s.
    await clock.advance(11_999);
    const before = elector.mayAct();
    await clock.advance(1);

    expect([before, elector.mayAct()]).toEqual([true, false]);
  });

  it("does not end leadership on a read of its state, only on a check before an action", async () => {
    const { clock, elector, story } = await started(undefined);
    clock.pass(10_001);

    const seen = Array.from({ length: 100 }, () => elector.view().isLeading);
    await settle();
    const before = [...story];
    elector.mayAct();
    await settle();

    expect(new Set(seen)).toEqual(new Set([false]));
    expect(before).toEqual(["leads at 0 after {}"]);
    expect(story).toContain("told to end at 10001");
  });

  it.each([
    { name: "a process that was stopped", pause: "pass" },
    { name: "a machine that slept", pause: "suspend" },
  ] as const)("of $name for too long does not act before anything else has happened", async ({ pause }) => {
    const { clock, leases, elector, story } = await started(undefined);

    clock[pause](10_001);
    const isActing = elector.mayAct();
    leases.put({ holder: "other" });
    await clock.advance(100);

    expect(isActing).toBe(false);
    expect(story).toContain(`told to end at ${pause === "pass" ? 10_001 : 0}`);
  });

  it.each([
    { name: "another process has the Lease", change: (leases: FakeLeases) => leases.put({ holder: "other" }) },
    {
      name: "the Lease is gone",
      change: (leases: FakeLeases) => {
        leases.lease = undefined;
      },
    },
    { name: "another Lease has its name", change: (leases: FakeLeases) => leases.put({ uid: "lease-2" }) },
  ])("ends as soon as it sees that $name", async ({ change }) => {
    const { clock, leases, story } = await started(undefined);

    change(leases);
    await clock.advance(2_000);

    expect(story).toContain("told to end at 2000");
  });

  it.each([
    {
      name: "another client annotates the Lease",
      trouble: (leases: FakeLeases) => leases.put({ annotations: { by: "hand" } }),
    },
    {
      name: "the answers of its renewals are lost for a while",
      trouble: (leases: FakeLeases) => {
        leases.isDeaf = true;
      },
    },
  ])("keeps leading when $name", async ({ trouble }) => {
    const { clock, leases, elector, story } = await started(undefined);

    trouble(leases);
    await clock.advance(7_000);
    leases.isDeaf = false;
    await clock.advance(20_000);

    expect(elector.mayAct()).toBe(true);
    expect(story).toHaveLength(1);
  });

  it("releases the Lease only when all actions have ended", async () => {
    const { clock, leases, elector, stop, running } = await started(undefined, { slowEndMs: 1_000 });

    stop.abort();
    await clock.advance(999);
    const during = leases.lease?.holder;
    await clock.advance(1);
    await running;

    expect([during, leases.lease?.holder]).toEqual(["me", ""]);
    expect(leases.lease?.annotations.output).toBe("at 1801000");
    expect(elector.mayAct()).toBe(false);
  });

  it.each([
    {
      name: "releases a Lease that its own renewal has just changed",
      meanwhile: { renewTime: "2026-01-01T00:00:00.000000Z" },
      left: "",
    },
    {
      name: "releases a Lease that another client has just annotated",
      meanwhile: { annotations: { by: "hand" } },
      left: "",
    },
    {
      name: "does not release a Lease that another process has just taken",
      meanwhile: { holder: "other" },
      left: "other",
    },
  ])("$name", async ({ meanwhile, left }) => {
    const { clock, leases, stop, running, logger } = await started(undefined);

    leases.put(meanwhile);
    stop.abort();
    await clock.advance(100);
    await running;

    expect(leases.lease?.holder).toBe(left);
    expect(logger.lines.at(-1)).toMatchObject({ fields: { isReleased: left === "" } });
  });

  it("ends within two seconds when the Lease cannot be given back", async () => {
    const { clock, leases, stop, running, logger } = await started(undefined);
    Object.assign(leases, { update: (_: Lease, __: LeaseChange, signal: AbortSignal) => aborted(signal) });

    stop.abort();
    await clock.advance(2_000);
    await running;

    expect(logger.lines.at(-1)).toMatchObject({ fields: { isReleased: false } });
  });

  it("does not lead when the answer to its write came too late", async () => {
    const { clock, leases, elector, story } = await started(OTHERS);
    const update = leases.update;
    Object.assign(leases, {
      update: async (lease: Lease, change: LeaseChange) => {
        clock.pass(10_001);
        return await update(lease, change);
      },
    });

    await clock.advance(15_000);

    expect(elector.mayAct()).toBe(false);
    expect(story).toEqual([]);
  });

  it("shows the holder, since when, and the age of its last renewal", async () => {
    const { clock, elector, seen } = await started(OTHERS);

    await clock.advance(7_000);

    expect(elector.view()).toEqual({
      isLeading: false,
      holder: "other",
      heldSince: "2020-01-01T00:00:00.000000Z",
      renewalAgeMs: 7_000,
      problem: undefined,
      tries: 8,
    });
    expect(seen.at(-1)?.holder).toBe("other");
  });

  it("rejects with a bug of the leader's task, and releases the Lease", async () => {
    const [clock, leases] = [createFakeClock(), new FakeLeases(undefined)];
    const elector = new Elector(
      { clock, logger: createFakeLogger(), leases, random: createFixedRandom(0.5) },
      { identity: "me", timing: TIMING, nowMs: clock.wallMs },
    );
    const lead = async (): Promise<void> => {
      throw new TypeError("a bug");
    };

    await expect(elector.run(lead, new AbortController().signal)).rejects.toThrow("a bug");
    expect(leases.lease?.holder).toBe("");
  });
});

/** Like a transport: rejects when it is given up. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new MooringError("transport-failed", "given up")));
  });
}
