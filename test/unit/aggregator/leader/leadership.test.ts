import { describe, expect, it } from "vitest";
import { createElectedLeadership, createSoleLeadership } from "../../../../aggregator/leader/leadership.ts";
import { EndedPods } from "../../../../aggregator/pod-watch/ended-pods.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { createMetrics } from "../../../../common/runtime/metrics.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFixedRandom } from "../../../fakes/random.ts";
import { createFakeConnection, createFakeTransport, json } from "../../../fakes/transport.ts";
import { NOON, podWith } from "../world.ts";

describe("leadership without an election", () => {
  it("lasts from the start to the end, and has decided the end of a pod once that could be handed over", async () => {
    const clock = createFakeClock();
    const connected = createKubeClient(createFakeConnection(createFakeTransport(() => "silence")), { clock });
    const client = { ...connected, serverTime: () => ({ latestMs: clock.wallMs(), widthMs: 0 }) };
    const ends = new EndedPods({ claim: () => undefined, nowMs: () => NOON });
    const common = { seenAtMs: NOON, claimUids: [], wasOver: false };
    for (const gone of ["9", "10"]) ends.note({ pod: podWith({ uid: gone }), gone, ...common });
    const open = (): readonly string[] => ["9", "10"].filter((uid) => ends.isOpen("shop/data", uid));
    const leadership = createSoleLeadership({
      ...{ clock, client, ends, logger: createFakeLogger(), nowMs: clock.wallMs },
      unstored: { begin: () => {}, list: () => [] },
      checkpoint: () => () => true,
      untilListed: async () => {},
      cluster: { podsWatchedSince: () => ({ sinceVersion: "7", sinceMs: NOON }), podsReached: () => "9" },
    });
    const seen: unknown[] = [];
    const stop = new AbortController();

    await leadership.run(async (signal) => {
      seen.push(open());
      await clock.advance(1);
      seen.push(open());
      stop.abort();
      seen.push(signal.aborted);
    }, stop.signal);
    const gap = leadership.coverage.history?.gap;

    expect(seen).toEqual([["9", "10"], ["10"], true]);
    expect([leadership.isLeading(), leadership.fenced, leadership.check]).toEqual([true, client, undefined]);
    // No replica is known to have watched before.
    expect(gap).toMatchObject({ fromMs: undefined, toMs: NOON });
  });
});

describe("leadership with an election", () => {
  const timing = { durationMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 };
  const free = { metadata: { name: "mooring-aggregator", uid: "lease-1", resourceVersion: "1" }, spec: {} };

  it.each([
    { name: "at once where agents can connect to the replica", isReachable: true, leastMs: 0, mostMs: 200 },
    { name: "after every other one has read it where they cannot", isReachable: false, leastMs: 2_500, mostMs: 5_000 },
  ])("takes a free Lease $name", async ({ isReachable, leastMs, mostMs }) => {
    const [metrics, clock] = [createMetrics(), createFakeClock()];
    const transport = createFakeTransport(() => json(free));
    const connected = createKubeClient(createFakeConnection(transport), { clock });
    const client = { ...connected, serverTime: () => ({ latestMs: clock.wallMs(), widthMs: 0 }) };
    const leadership = createElectedLeadership(
      {
        ...{ clock, client, metrics, logger: createFakeLogger(), nowMs: clock.wallMs, random: createFixedRandom(0.5) },
        ends: new EndedPods({ claim: () => undefined, nowMs: () => NOON }),
        unstored: { begin: () => {}, list: () => [] },
        checkpoint: () => () => true,
        untilListed: async () => {},
        isReachable: () => isReachable,
        cluster: { podsWatchedSince: () => ({ sinceVersion: "7", sinceMs: NOON }), podsReached: () => "9" },
      },
      { namespace: "mooring", pod: "one", timing },
    );
    const stop = new AbortController();
    const begunAt = clock.monotonicMs();
    const running = leadership.run(async () => {}, stop.signal);
    const hasWritten = (): boolean => transport.requests.some(({ method }) => method !== "GET");
    while (!hasWritten() && clock.monotonicMs() < begunAt + 10_000) await clock.advance(100);
    const tookMs = clock.monotonicMs() - begunAt;
    stop.abort();
    await clock.advance(60_000);
    await running;

    expect(tookMs).toBeGreaterThanOrEqual(leastMs);
    expect(tookMs).toBeLessThanOrEqual(mostMs);
  });
});
