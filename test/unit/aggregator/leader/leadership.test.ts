import { afterEach, describe, expect, it } from "vitest";
import type { PodWatch } from "../../../../aggregator/core/watch-history.ts";
import { createElectedLeadership, createSoleLeadership } from "../../../../aggregator/leader/leadership.ts";
import { EndedPods } from "../../../../aggregator/pod-watch/ended-pods.ts";
import { LEADER_ROLE, ROLE_LABEL } from "../../../../aggregator/sinks/leader-label.ts";
import { createKubeClient } from "../../../../common/kube/client.ts";
import type { HttpRequest } from "../../../../common/kube/transport.ts";
import { createMetrics } from "../../../../common/runtime/metrics.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { createFixedRandom } from "../../../fakes/random.ts";
import { createFakeConnection, createFakeTransport, type FakeAnswer, json } from "../../../fakes/transport.ts";
import { NOON, podWith } from "../world.ts";

const SINCE = "2026-11-21T12:00:00.000000Z";
const TIMING = { durationMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 };
const NO_LEASE = json({ kind: "Status", code: 404, reason: "NotFound", details: { name: "x" } }, 404);

function leaseOf(holder: string, renewTime = SINCE): FakeAnswer {
  const spec = { holderIdentity: holder, leaseDurationSeconds: 15, acquireTime: SINCE, renewTime };
  return json({ metadata: { uid: "lease-1", resourceVersion: "1" }, spec });
}

interface Server {
  readonly lease: FakeAnswer;
  readonly pods?: FakeAnswer;
  readonly watch?: PodWatch;
  /** How far the watch of pods is. */
  readonly reached?: () => string;
}

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

const LABELLED = json({ items: [{ metadata: { name: "a", uid: "uid-a", labels: { [ROLE_LABEL]: LEADER_ROLE } } }] });
const DROPPED = json({ metadata: { resourceVersion: "10" } });
const OWN_POD = json({ items: [{ metadata: { name: "a", uid: "uid-a" } }] });

const NONE_UNSTORED = { begin: () => {}, list: () => [] };
const NO_BACKLOG = { mark: () => () => true };

function elected(server: Server) {
  const clock = createFakeClock();
  const holders: string[] = [];
  const answer = ({ method, path, body }: HttpRequest): FakeAnswer => {
    const { spec } = JSON.parse(body ?? "{}");
    if (spec?.holderIdentity !== undefined) holders.push(spec.holderIdentity);
    if (path.includes("/pods/")) return DROPPED;
    if (path.includes("/pods")) return server.pods ?? OWN_POD;
    // What is written is what stands there from then on.
    if (method === "POST") return leaseOf(spec.holderIdentity);
    return method === "PATCH" ? leaseOf("a_id-1-1") : server.lease;
  };
  const client = createKubeClient(createFakeConnection(createFakeTransport(answer)), { clock });
  const metrics = createMetrics();
  const parts = {
    clock,
    client,
    metrics,
    logger: createFakeLogger(),
    random: createFixedRandom(0.5),
    ends: new EndedPods({ claim: () => undefined, nowMs: () => NOON }),
    unstored: NONE_UNSTORED,
  };
  const cluster = { podsWatchedSince: () => server.watch, podsReached: () => server.reached?.() };
  const leadership = createElectedLeadership(
    { ...parts, cluster, ...NO_BACKLOG, nowMs: clock.wallMs },
    { namespace: "mooring", pod: "a", timing: TIMING },
  );
  const stop = new AbortController();
  const lead = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) await clock.sleep(3_600_000, signal);
  };
  const begin = async (ms: number): Promise<void> => {
    const running = leadership.run(lead, stop.signal);
    cleanUps.push(async () => {
      stop.abort();
      await clock.advance(5_000);
      await running;
    });
    await clock.advance(ms);
  };
  return { leadership, metrics, begin, clock, stop, holders };
}

describe("leadership among replicas", () => {
  it.each([
    {
      name: "of the leader says so",
      server: { lease: NO_LEASE },
      result: { ok: true, detail: `this one leads since ${SINCE}` },
    },
    {
      name: "of a standby names the leader",
      server: { lease: leaseOf("b_1") },
      result: { ok: true, detail: `b_1 leads since ${SINCE}` },
    },
    {
      name: "of a leader that the Service does not find fails",
      server: { lease: NO_LEASE, pods: json({ items: [] }) },
      result: { ok: false, why: "this one leads, but the Service does not know: there is no pod mooring/a" },
    },
    {
      name: "of who cannot find out who leads fails, and says why",
      server: { lease: { status: 403, body: "no role" } },
      result: { ok: false, why: expect.stringMatching(/^it is not known who leads: GET .* answered 403: no role$/) },
    },
  ])("the check $name", async ({ server, result }) => {
    const { leadership, begin } = elected(server);

    await begin(100);

    expect(leadership.check?.()).toEqual(result);
  });

  it("the check of a leader says since when pods have been watched", async () => {
    const watch = { sinceVersion: "5", sinceMs: 1_795_258_800_000 };
    const { leadership, begin } = elected({ lease: NO_LEASE, watch });

    await begin(100);

    const detail = `this one leads since ${SINCE}, pods are watched without a gap since 2026-11-21T11:00:00.000Z`;
    expect(leadership.check?.()).toEqual({ ok: true, detail });
  });

  it("the check of a standby fails when nobody has led for long and it cannot lead itself", async () => {
    let lease: FakeAnswer = leaseOf("b_1");
    const { leadership, begin, clock } = elected({
      get lease() {
        return lease;
      },
    });
    await begin(100);

    lease = "broken";
    await clock.advance(29_000);
    const before = leadership.check?.();
    await clock.advance(2_000);

    expect(before).toMatchObject({ ok: true });
    expect(leadership.check?.()).toMatchObject({
      ok: false,
      why: expect.stringMatching(/^no replica has led for long: /),
    });
  });

  it.each([
    { name: "when its watch has brought its own last change", reachedAfterMs: 300, givenBackAfterMs: 300 },
    { name: "after a second when its watch lags", reachedAfterMs: 60_000, givenBackAfterMs: 1_000 },
  ])("a clean stop gives the Lease back $name", async ({ reachedAfterMs, givenBackAfterMs }) => {
    let reached = "9";
    const { begin, clock, stop, holders } = elected({ lease: NO_LEASE, pods: LABELLED, reached: () => reached });
    await begin(100);

    stop.abort();
    void clock.sleep(reachedAfterMs, new AbortController().signal).then(() => {
      reached = "10";
    });
    await clock.advance(givenBackAfterMs - 20);
    const before = holders.at(-1);
    await clock.advance(40);

    expect(before).toMatch(/^a_/);
    expect(holders.at(-1)).toBe("");
  });

  it.each([
    { name: "the leader", lease: NO_LEASE, value: 1 },
    { name: "a standby", lease: leaseOf("b_1"), value: 0 },
  ])("the metrics of $name say so", async ({ lease, value }) => {
    const { metrics, begin, leadership } = elected({ lease });

    await begin(100);

    const text = await metrics.text();
    expect(text).toMatch(new RegExp(`^leader_election_master_status\\{name="mooring-aggregator"\\} ${value}$`, "m"));
    expect(text).toMatch(/^mooring_lease_renewal_age_seconds 0(\.\d+)?$/m);
    expect(leadership.isLeading()).toBe(value === 1);
  });
});

describe("leadership without an election", () => {
  function sole() {
    const metrics = createMetrics();
    const clock = createFakeClock();
    const connected = createKubeClient(createFakeConnection(createFakeTransport(() => "silence")), { clock });
    const client = { ...connected, serverTime: () => ({ latestMs: clock.wallMs(), widthMs: 0 }) };
    const parts = { clock, client, metrics, logger: createFakeLogger(), ...NO_BACKLOG, nowMs: clock.wallMs };
    const ends = new EndedPods({ claim: () => undefined, nowMs: () => NOON });
    const watch = { sinceVersion: "7", sinceMs: NOON };
    const cluster = { podsWatchedSince: () => watch, podsReached: () => "9" };
    const leadership = createSoleLeadership({ ...parts, ends, unstored: NONE_UNSTORED, cluster });
    return { leadership, client, metrics, ends };
  }

  it("has dealt with the end of a pod once that could be handed over", async () => {
    const { leadership, ends } = sole();
    for (const gone of ["9", "10"]) ends.note({ pod: podWith({ uid: gone }), gone, seenAtMs: NOON, wasOver: false });
    await leadership.run(async () => {}, new AbortController().signal);
    const open = (): readonly string[] => ["9", "10"].filter((uid) => ends.isOpen("shop/data", uid));
    const before = open();

    leadership.coverage.update();

    expect([before, open()]).toEqual([["9", "10"], ["10"]]);
  });

  it("is there from the start to the end", async () => {
    const { leadership, client, metrics } = sole();
    let told: AbortSignal | undefined;
    const { signal } = new AbortController();

    await leadership.run(async (one) => {
      told = one;
    }, signal);

    expect(told).toBe(signal);
    expect(leadership.isLeading()).toBe(true);
    expect(leadership.fenced).toBe(client);
    expect(leadership.check).toBeUndefined();
    // No replica is known to have watched before.
    expect(leadership.coverage.gap()).toMatchObject({ fromMs: undefined, toMs: NOON });
    expect(await metrics.text()).toMatch(/^leader_election_master_status\{name="mooring-aggregator"\} 1$/m);
  });
});
