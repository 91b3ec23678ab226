import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSystemRandom } from "../../common/runtime/random.ts";
import { type CampaignReport, wage } from "../rig/faults/campaign.ts";
import { type Fault, PROXY_FAULT_KINDS, type ProxyFaultKind, RARE_FAULTS, WORLD_FAULTS } from "../rig/faults/fault.ts";
import { spreadOf } from "../rig/faults/pacing.ts";
import { faultSchedule } from "../rig/faults/schedule.ts";
import { startWorld } from "../rig/faults/world.ts";
import { type Owner, openOwner } from "../rig/process/owner.ts";
import { closeOnSignals } from "../rig/process/run-owned.ts";

/** Seconds take 20 ms: back-off, deadlines and silences of minutes then fit into a test. The API server knows nothing of it. */
const SPEED = 50;
/** So many storms rage side by side, each with objects, proxies and followers of its own. */
const SIDE_BY_SIDE = 4;
const WORLD_SEED = 1;
/** `MOORING_FAULT_SEEDS=100` hunts: so many random seeds instead of a fixed and a random one. */
const hunted = Number(process.env.MOORING_FAULT_SEEDS ?? 0);
const random = createSystemRandom();
const randomSeeds = Array.from({ length: hunted || 1 }, () => Math.floor(random.fraction() * 1e9));
const seeds = hunted > 0 ? randomSeeds : [1, ...randomSeeds];

/** As common/kube/retry-log.ts waits. A timer or a turn of the event loop can take some milliseconds of real time. */
const PACE = { firstMs: 200, maxMs: 30_000, toleranceMs: 5 * SPEED };
/** Gaps whose ceiling is shorter say nothing: they take few milliseconds of real time. */
const CLEAR_MS = 40 * SPEED;

function ofScene(seed: number): readonly Fault<ProxyFaultKind>[] {
  const others = PROXY_FAULT_KINDS.filter((kind) => !RARE_FAULTS.some((other) => other === kind));
  const how = { seed, rounds: 1, lengthMs: 20_000 };
  return [
    ...faultSchedule({ ...how, kinds: RARE_FAULTS, spacingMs: 0 }),
    ...faultSchedule({ ...how, kinds: others, spacingMs: 250 }),
  ];
}

const ofWorld = faultSchedule({ seed: WORLD_SEED, kinds: WORLD_FAULTS, rounds: 1, spacingMs: 600, lengthMs: 0 });

describe(`informers, queue and writes through storms of faults (seeds ${seeds.join(", ")})`, () => {
  const rejections: unknown[] = [];
  const reports: CampaignReport[] = [];
  const note = (reason: unknown): void => void rejections.push(reason);
  let owner: Owner;
  let signals: Disposable;

  beforeAll(
    async () => {
      process.on("unhandledRejection", note);
      owner = await openOwner();
      signals = closeOnSignals(owner);
      const world = await startWorld(owner);
      for (let first = 0; first < seeds.length; first += SIDE_BY_SIDE) {
        const some = seeds.slice(first, first + SIDE_BY_SIDE);
        const plan = { ofScene, ofWorld };
        reports.push(await wage({ world, owner, speed: SPEED, seeds: some, plan, pace: PACE, calmLimitMs: 30_000 }));
      }
    },
    300_000 * Math.ceil(seeds.length / SIDE_BY_SIDE),
  );
  afterAll(async () => {
    await owner.close();
    signals[Symbol.dispose]();
    process.off("unhandledRejection", note);
  });

  it("end with correct stores, every deletion delivered, no back-off too short and nothing left open", () => {
    expect(reports.flatMap(({ problems }) => problems)).toEqual([]);
  });

  it("were hit by every kind of fault", () => {
    const hits = new Set(reports.flatMap((report) => [...report.hits.keys()]));

    expect([...PROXY_FAULT_KINDS, ...WORLD_FAULTS].filter((kind) => !hits.has(kind))).toEqual([]);
  });

  it("were compared with the truth in the middle of it", () => {
    expect(Math.min(...reports.map(({ compared }) => compared))).toBeGreaterThan(10);
  });

  it("got 410 Gone from the API server itself", () => {
    expect(Math.min(...reports.map(({ expirations }) => expirations))).toBeGreaterThan(0);
  });

  it("waited differently long after failures of the same number", () => {
    const { lowerHalf, upperHalf } = spreadOf(
      reports.flatMap(({ gaps }) => gaps),
      CLEAR_MS,
    );

    expect(Math.min(lowerHalf, upperHalf)).toBeGreaterThan(0.1 * (lowerHalf + upperHalf));
  });

  it("left no unhandled rejection", () => {
    expect(rejections).toEqual([]);
  });
});
