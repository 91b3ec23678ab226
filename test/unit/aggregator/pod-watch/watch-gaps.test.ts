import { describe, expect, it } from "vitest";
import type { LeaseRenewal } from "../../../../aggregator/core/kubelet-lease.ts";
import type { WatchGap } from "../../../../aggregator/core/watch-history.ts";
import { WatchGaps } from "../../../../aggregator/pod-watch/watch-gaps.ts";
import { MooringError } from "../../../../common/runtime/errors.ts";
import { createFakeClock } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { NOON, nodeWith, reportWith, volumeWith } from "../world.ts";

const GAP: WatchGap = { fromMs: NOON - 60_000, toMs: NOON, leasesAt: "500", openNodes: undefined };
const LIMITS = { nodeStaleAfterMs: 90_000, noAgentAfterMs: 600_000 } as const;

type Renewals = ReadonlyMap<string, LeaseRenewal>;

interface Scene {
  readonly renewals?: (signal: AbortSignal) => Renewals | Promise<Renewals>;
  readonly isAtRest?: () => boolean;
  /** When the object of the node was made; long ago unless told. */
  readonly createdAtMs?: number;
}

/** One node `n1` and a gap of a minute that ended at noon, which is now. */
function gapsOf({ renewals = () => new Map(), isAtRest = () => true, createdAtMs }: Scene = {}) {
  const clock = createFakeClock();
  const logger = createFakeLogger();
  let open: readonly WatchGap[] = [GAP];
  let changes = 0;
  const gaps = new WatchGaps(
    {
      ...{ clock, logger, mark: () => isAtRest },
      cluster: { node: (name) => ({ ...nodeWith(name), createdAtMs }), nodeNames: () => ["n1"] },
      coverage: {
        gaps: () => open,
        update: () => {},
        settle: (openIn) => {
          open = open.filter((gap) => openIn(gap)?.length !== 0);
        },
      },
      leases: { renewals: async (_, signal) => renewals(signal) },
      agentStateOf: () => "Reporting",
      onChange: () => {
        changes += 1;
      },
    },
    LIMITS,
  );
  const stop = new AbortController();
  const running = gaps.run(stop.signal);
  return {
    ...{ gaps, clock, logger },
    open: () => open,
    changes: () => changes,
    end: async () => {
      stop.abort();
      await running;
    },
  };
}

/** What an agent tells that did not watch from so many seconds before noon to so many, on a clock that began an hour before. */
function reportAt(nowMs: number, agentGaps: readonly (readonly [from: number, to: number])[]) {
  const stamp = (ms: number): number => ms - NOON + 3_600_000;
  const spans = agentGaps.map(([from, to]) => ({ from: stamp(NOON - from * 1_000), to: stamp(NOON - to * 1_000) }));
  const read = { beganAt: stamp(nowMs), endedAt: stamp(nowMs) };
  const all = [{ to: 1_000 }, ...spans];
  return reportWith({ read, sentAt: stamp(nowMs), agentGaps: all, observedSince: all.at(-1)?.to ?? 0 });
}

function whenAborted(signal: AbortSignal, reject: (error: Error) => void): void {
  signal.addEventListener("abort", () => reject(new MooringError("transport-failed", "given up")));
}

const BLIND = [[40, 30]] as const;
const LEASE = { renewedAtMs: NOON, durationMs: 40_000 };

describe("the gaps of a session", () => {
  it("are judged once the nodes have told, and told of as long as that is not dealt with", async () => {
    let isAtRest = false;
    const scene = gapsOf({ isAtRest: () => isAtRest });
    await scene.clock.advance(1_000);
    scene.gaps.onReport(reportAt(scene.clock.wallMs(), BLIND), { atMs: scene.clock.wallMs(), widthMs: 0 }, false);
    await scene.clock.advance(5_000);
    const before = scene.open().length;
    isAtRest = true;
    await scene.clock.advance(5_000);
    await scene.end();

    expect([before, scene.open().length]).toEqual([1, 0]);
    // Claims that come to be idle later are judged by it, too.
    expect(scene.gaps.unobservedOf(volumeWith()).times).toMatchObject([{ isBefore: true }, { toMs: NOON - 30_000 }]);
    expect(scene.changes()).toBe(1);
  });

  it("hold back what is dated before their end until they are judged, from the very begin of leading", async () => {
    const scene = gapsOf();
    const held = (): number | undefined => scene.gaps.unobservedOf(volumeWith()).openUntilMs;
    const atFirst = held();
    await scene.clock.advance(5_000);
    const unheard = held();
    scene.gaps.onReport(reportAt(scene.clock.wallMs(), []), { atMs: scene.clock.wallMs(), widthMs: 0 }, false);
    await scene.clock.advance(5_000);
    await scene.end();

    expect([atFirst, unheard, held()]).toEqual([NOON, NOON, undefined]);
    // What was held back is looked at again, although nobody was blind.
    expect(scene.changes()).toBe(1);
  });

  it("are not judged by what a node told of the time before their end", async () => {
    const scene = gapsOf();
    scene.gaps.onReport(reportAt(NOON - 1, BLIND), { atMs: NOON, widthMs: 1 }, false);
    await scene.clock.advance(5_000);
    await scene.end();

    expect(scene.changes()).toBe(0);
  });

  it("are judged by what a machine tells that is older than its object, whatever an earlier report of it has told", async () => {
    const scene = gapsOf({ createdAtMs: NOON + 1 });
    // A report from before the end of the gap, which was long on its way.
    scene.gaps.onReport(reportAt(NOON - 50_000, []), { atMs: NOON, widthMs: 1 }, false);
    await scene.clock.advance(5_000);
    const before = scene.gaps.unobservedOf(volumeWith()).times;
    scene.gaps.onReport(reportAt(scene.clock.wallMs(), BLIND), { atMs: scene.clock.wallMs(), widthMs: 0 }, false);
    await scene.clock.advance(5_000);
    await scene.end();

    expect(before).toEqual([]);
    expect(scene.gaps.unobservedOf(volumeWith()).times).toMatchObject([{ isBefore: true }, { toMs: NOON - 30_000 }]);
  });

  it("are held against nodes whose kubelets' Leases cannot be listed, a while later", async () => {
    const scene = gapsOf({
      renewals: () => {
        throw new MooringError("transport-failed", "no route");
      },
    });
    await scene.clock.advance(1_000);
    scene.gaps.onReport(reportAt(scene.clock.wallMs(), BLIND), { atMs: scene.clock.wallMs(), widthMs: 0 }, false);
    await scene.clock.advance(60_000);
    const before = scene.changes();
    await scene.clock.advance(60_000);
    await scene.end();

    expect([before, scene.changes()]).toEqual([0, 1]);
    expect(scene.logger.messages("warn")).toContain("kubelets' leases could not be listed");
  });

  it("wait no longer when the list of those Leases is never answered", async () => {
    const scene = gapsOf({ renewals: (signal) => new Promise((_, reject) => whenAborted(signal, reject)) });
    await scene.clock.advance(1_000);
    scene.gaps.onReport(reportAt(scene.clock.wallMs(), BLIND), { atMs: scene.clock.wallMs(), widthMs: 0 }, false);
    await scene.clock.advance(88_000);
    const before = scene.changes();
    await scene.clock.advance(5_000);
    await scene.end();

    expect([before, scene.changes()]).toEqual([0, 1]);
    expect(scene.gaps.unobservedOf(volumeWith()).openUntilMs).toBeUndefined();
  });

  it("want a look at each node that was there, until it has told what it read after them", async () => {
    const scene = gapsOf();
    // The API server's clock is known to a millisecond.
    const tell = (): boolean => {
      const atMs = scene.clock.wallMs();
      scene.gaps.onReport(reportAt(atMs, []), { atMs, widthMs: 1 }, false);
      return scene.gaps.isAwaited("n1");
    };
    const unheard = scene.gaps.isAwaited("n1");
    const before = tell();
    await scene.clock.advance(1);
    const after = tell();
    const stranger = scene.gaps.isAwaited("n9");
    await scene.end();

    expect({ unheard, before, after, stranger }).toEqual({
      unheard: false,
      before: true,
      after: false,
      stranger: false,
    });
  });

  it("are judged as soon as the last node has told", async () => {
    const scene = gapsOf();
    await scene.clock.advance(10);
    const nowMs = scene.clock.wallMs();
    scene.gaps.onReport(reportAt(nowMs, []), { atMs: nowMs, widthMs: 0 }, false);
    await scene.clock.advance(300);
    await scene.end();

    expect(scene.changes()).toBe(1);
  });

  it.each([
    { name: "not newer than the gap: it was away", resourceVersion: "500", isHeld: false },
    { name: "newer than the gap", resourceVersion: "501", isHeld: true },
    { name: "that cannot be compared", resourceVersion: "x", isHeld: true },
  ])("are held against a node with a Lease $name: $isHeld", async ({ resourceVersion, isHeld }) => {
    const scene = gapsOf({ renewals: () => new Map([["n1", { ...LEASE, resourceVersion }]]) });
    await scene.clock.advance(1_000);
    scene.gaps.onReport(reportAt(scene.clock.wallMs(), BLIND), { atMs: scene.clock.wallMs(), widthMs: 0 }, false);
    await scene.clock.advance(5_000);
    await scene.end();

    expect(scene.gaps.unobservedOf(volumeWith()).times.some(({ isBefore }) => !isBefore)).toBe(isHeld);
  });

  it("are held against a machine that was put back to an earlier state: what its agent knows is not all", async () => {
    const scene = gapsOf();
    await scene.clock.advance(1_000);
    const nowMs = scene.clock.wallMs();
    scene.gaps.onReport(reportAt(nowMs, []), { atMs: nowMs, widthMs: 0 }, true);
    await scene.clock.advance(1_000);
    scene.gaps.onReport(reportAt(nowMs + 1_000, []), { atMs: nowMs + 1_000, widthMs: 0 }, false);
    await scene.clock.advance(5_000);
    await scene.end();

    expect(scene.gaps.unobservedOf(volumeWith()).times).toMatchObject([{ isBefore: true }, { toMs: nowMs }]);
  });
});
