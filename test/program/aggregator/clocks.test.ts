import { afterEach, describe, expect, it } from "vitest";
import { closeHouses } from "../house.ts";
import { leadingScene } from "./scene.ts";

afterEach(closeHouses);

/** One use of a claim, dated by clocks that are wrong. The node's wall clock is in no message. */
interface Row {
  readonly name: string;
  /** How far the clocks of the API servers behind the one address are ahead; they answer in turn. Milliseconds. */
  readonly serversMs?: readonly number[];
  /** By how many millionths the node's boot clock is too fast, and the monotonic clock of the aggregator's machine; honest within 200. */
  readonly nodePpm?: number;
  readonly ownPpm?: number;
  /** How long after the unmount the node reports, for how long of that it sleeps, and how long the report is on its way. Seconds. */
  readonly untilSentS?: number;
  readonly sleepS?: number;
  readonly transitS?: number;
  /** The wall clock of the aggregator's machine is set meanwhile. */
  readonly jumpWallMs?: number;
  /** By how much the published time may be late at most, beside the rounding. Milliseconds. */
  readonly lateMs?: number;
}

/** Whole seconds, and what some answers leave open of the API server's clock. */
const ROUNDED_MS = 2_010;
/** Half an hour by a clock that may be wrong by 200 millionths. */
const LONG = { untilSentS: 1_800, lateMs: 1_800_000 * 2 * 200e-6 };

const ROWS: readonly Row[] = [
  { name: "all clocks are right" },
  { name: "of two API servers one is three seconds ahead", serversMs: [0, 3_000] },
  { name: "of two API servers one is three seconds behind", serversMs: [0, -3_000] },
  { name: "the node reports half an hour later by a clock that is too fast", nodePpm: 190, ...LONG },
  { name: "the node reports half an hour later by a clock that is too slow", nodePpm: -190, ...LONG },
  { name: "the aggregator's machine has a clock that is too fast", ownPpm: 190, ...LONG },
  { name: "the aggregator's machine has a clock that is too slow", ownPpm: -190, ...LONG },
  { name: "the node sleeps before it reports", untilSentS: 60, sleepS: 600, lateMs: 600_000 },
  { name: "the report is on its way for a minute", transitS: 60, lateMs: 60_000 },
  { name: "the wall clock of the aggregator's machine is put back by a year", jumpWallMs: -3e10 },
  { name: "the wall clock of the aggregator's machine is put forward by a year", jumpWallMs: 3e10 },
];

/** Mounts, unmounts and reports. Returns the published status and the true time, by the API server's clock that is the furthest ahead. */
async function published(row: Row) {
  const { serversMs = [0], nodePpm = 0, ownPpm = 0, untilSentS = 0, sleepS = 0, transitS = 0, jumpWallMs = 0 } = row;
  const scene = await leadingScene({ servers: serversMs.length });
  for (const [index, server] of scene.house.api.servers.entries()) server.clockOffsetMs = serversMs[index] ?? 0;
  scene.leader.machine.drift(ownPpm);
  const node = scene.node();
  node.ppm = nodePpm;
  node.mount("web");
  await scene.passReporting(60);
  const { nowMs } = await scene.report();
  const clockSamples = nowMs === undefined ? [] : [{ at: node.stamp, ms: nowMs }];
  await scene.pass(30);
  const truthMs = scene.house.nowMs + Math.max(...serversMs);
  node.unmount("web");
  await scene.pass(untilSentS);
  await scene.pass(sleepS);
  node.sleep(sleepS * 1_000);
  const message = node.report({ clockSamples });
  await scene.pass(transitS);
  scene.leader.machine.stepWall(jumpWallMs);
  await scene.leader.sendOnce(message);
  await scene.pass(1);
  return { truthMs, status: scene.status() };
}

describe("the time since when a claim counts as unused", () => {
  it.each(ROWS)("is not before the truth, and hardly later, where $name", async (row) => {
    const { truthMs, status } = await published(row);

    const { byMs = Number.NaN, widthMs = Number.NaN } = status?.lastUse ?? {};
    const lateMs = (status?.sinceMs ?? Number.NaN) - truthMs;
    expect(status).toMatchObject({ unused: true, reason: "Unmounted" });
    expect(lateMs).toBeGreaterThanOrEqual(0);
    expect(lateMs).toBeLessThanOrEqual(ROUNDED_MS + (row.lateMs ?? 0));
    // The published width includes the true time.
    expect(byMs).toBeGreaterThanOrEqual(truthMs);
    expect(byMs - widthMs).toBeLessThanOrEqual(truthMs);
  });
});
