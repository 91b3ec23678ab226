import { describe, expect, it } from "vitest";
import { createSoleLeadership } from "../../../../aggregator/leader/leadership.ts";
import { EndedPods } from "../../../../aggregator/pod-watch/ended-pods.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import { createMetrics } from "../../../../common/runtime/metrics.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFakeConnection, createFakeTransport } from "../../../fakes/transport.ts";
import { NOON, podWith } from "../world.ts";

describe("leadership without an election", () => {
  it("lasts from the start to the end, and has decided the end of a pod once that could be handed over", async () => {
    const [metrics, clock] = [createMetrics(), createFakeClock()];
    const connected = createKubeClient(createFakeConnection(createFakeTransport(() => "silence")), { clock });
    const client = { ...connected, serverTime: () => ({ latestMs: clock.wallMs(), widthMs: 0 }) };
    const ends = new EndedPods({ claim: () => undefined, nowMs: () => NOON });
    for (const gone of ["9", "10"]) ends.note({ pod: podWith({ uid: gone }), gone, seenAtMs: NOON, wasOver: false });
    const open = (): readonly string[] => ["9", "10"].filter((uid) => ends.isOpen("shop/data", uid));
    const leadership = createSoleLeadership({
      ...{ clock, client, metrics, ends, logger: createFakeLogger(), nowMs: clock.wallMs },
      unstored: { begin: () => {}, list: () => [] },
      checkpoint: () => () => true,
      untilListed: async () => {},
      cluster: { podsWatchedSince: () => ({ sinceVersion: "7", sinceMs: NOON }), podsReached: () => "9" },
    });
    const { signal } = new AbortController();
    let passed: AbortSignal | undefined;

    await leadership.run(async (one) => {
      passed = one;
    }, signal);
    const [gap, before] = [leadership.coverage.gap(), open()];
    leadership.coverage.update();

    expect([before, open()]).toEqual([["9", "10"], ["10"]]);
    expect([passed, leadership.isLeading(), leadership.fenced, leadership.check]).toEqual([
      signal,
      true,
      client,
      undefined,
    ]);
    // No replica is known to have watched before.
    expect(gap).toMatchObject({ fromMs: undefined, toMs: NOON });
    expect(await metrics.text()).toMatch(/^leader_election_master_status\{name="mooring-aggregator"\} 1$/m);
  });
});
