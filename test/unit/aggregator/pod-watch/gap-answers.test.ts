import { describe, expect, it } from "vitest";
import type { NodeView } from "../../../../aggregator/core/nodes/node-view.ts";
import { leaveOpen, nextGap, type WatchGap } from "../../../../aggregator/core/pod-watch/history.ts";
import { GapAnswers } from "../../../../aggregator/pod-watch/gap-answers.ts";
import { createFakeClock, eachHalfSecond } from "../../../fakes/clock.ts";
import { createFakeLogger } from "../../../fakes/logger.ts";
import { acceptReport } from "../core/reported.ts";
import { NOON, nodeWith, reportWith, volumeWith } from "../world.ts";

const GAP: WatchGap = { fromMs: NOON - 60_000, toMs: NOON, reached: "500", isForAll: true, open: [] };
const LIMITS = { nodeStaleAfterMs: 90_000, noAgentAfterMs: 600_000 } as const;

type AgentGaps = readonly (readonly [from: number, to: number])[];

interface Scene {
  /** The version of its object, which shows that the node is unreachable. */
  readonly unreachableAt?: string;
  /** The version that the watch of nodes has come to. */
  readonly nodesReached?: string;
  /** When the object of the node was made; long ago by default. */
  readonly createdAtMs?: number;
  readonly nodes?: readonly string[];
  /** The nodes that are Gone; the others are Reporting. */
  readonly gone?: () => readonly string[];
}

/** One node `n1` and a gap of a minute that ended at noon, which is now. */
function gapOf(scene: Scene = {}) {
  const { unreachableAt, createdAtMs, nodes = ["n1"], gone = () => [] } = scene;
  const clock = createFakeClock();
  const logger = createFakeLogger();
  let open: WatchGap | undefined = GAP;
  let changes = 0;
  const views = new Map<string, NodeView>();
  let { nodesReached = "600" } = scene;
  let ensured = "";
  const stored = { resourceVersion: unreachableAt ?? "1", isUnreachable: unreachableAt !== undefined, createdAtMs };
  const answers = new GapAnswers(
    {
      ...{ clock, logger },
      cluster: {
        node: (name) => ({ ...nodeWith(name), ...stored }),
        nodeNames: () => nodes,
        nodesReached: () => nodesReached,
        ensureNodes: (version) => {
          ensured = version;
        },
      },
      coverage: {
        get history() {
          return { sinceMs: NOON, gap: open, reached: "550", reachedAtMs: NOON };
        },
        settle: (left) => {
          open = open && leaveOpen(open, left);
        },
      },
      viewOf: (node) => views.get(node),
      agentStateOf: (node) => (gone().includes(node) ? "Gone" : "Reporting"),
      onChange: () => {
        changes += 1;
      },
    },
    LIMITS,
  );
  const stop = new AbortController();
  const running = eachHalfSecond(clock, () => answers.check(), stop.signal);
  /** A report of what an agent scans now, or did then. */
  const report = (
    agentGaps: AgentGaps,
    { node = "n1", isRolledBack = false, readMs = clock.wallMs(), bootId = reportWith().bootId } = {},
  ): void => {
    const receipt = { atMs: clock.wallMs(), widthMs: 1, nodeBootId: bootId, isRolledBack };
    const result = acceptReport(views.get(node), { ...reportAt(readMs, agentGaps, node), bootId }, receipt);
    if (result.kind === "accepted") views.set(node, result.view);
  };
  return {
    ...{ answers, clock, logger, report },
    open: () => open,
    ensured: () => ensured,
    nodesReach: (version: string): void => {
      nodesReached = version;
    },
    /** The pod watch is interrupted again, for the time from so many seconds ago until now. */
    again: (seconds: number): void => {
      const toMs = clock.wallMs();
      open = nextGap(open, { fromMs: toMs - seconds * 1_000, toMs, reached: undefined });
    },
    times: () => answers.unobservedOf(volumeWith()).times.filter(({ isBefore }) => !isBefore),
    unanswered: () => answers.unobservedOf(volumeWith()).unanswered?.nodes(),
    openUntil: () => answers.unobservedOf(volumeWith()).openUntilMs,
    changes: () => changes,
    end: async () => {
      stop.abort();
      await running;
    },
  };
}

/** The report of an agent with gaps, each from so many seconds before noon to so many. Its boot clock began an hour before. */
function reportAt(nowMs: number, agentGaps: AgentGaps, node: string) {
  const stamp = (ms: number): number => ms - NOON + 3_600_000;
  const spans = agentGaps.map(([from, to]) => ({ from: stamp(NOON - from * 1_000), to: stamp(NOON - to * 1_000) }));
  const scan = { beganAt: stamp(nowMs), endedAt: stamp(nowMs) };
  const all = [{ to: 1_000 }, ...spans];
  return reportWith({ node, scan, sentAt: stamp(nowMs), agentGaps: all, observedSince: all.at(-1)?.to ?? 0 });
}

const AWAY = [[40, 30]] as const;

describe("the gap of a session", () => {
  it("is decided once the nodes have answered, and open until then", async () => {
    const scene = gapOf();
    await scene.clock.advance(1_000);
    scene.report(AWAY);
    await scene.clock.advance(499);
    const before = [scene.open(), scene.changes()];
    await scene.clock.advance(1);
    const decided = [scene.open(), scene.changes()];
    await scene.clock.advance(5_000);
    await scene.end();

    expect([before, decided, scene.open()]).toEqual([[GAP, 0], [undefined, 1], undefined]);
    // Claims that come to be idle later are decided by it, too.
    expect(scene.times()).toMatchObject([{ toMs: NOON - 30_000 }]);
    expect(scene.changes()).toBe(1);
  });

  it("delays times before its end until it is decided, from the start of the leader session", async () => {
    const scene = gapOf();
    const atFirst = scene.openUntil();
    await scene.clock.advance(5_000);
    const unanswered = scene.openUntil();
    scene.report([]);
    await scene.clock.advance(5_000);
    await scene.end();

    expect([atFirst, unanswered, scene.openUntil()]).toEqual([NOON, NOON, undefined]);
    // Claims that waited are checked again, although no agent was away.
    expect(scene.changes()).toBe(1);
  });

  it("is given up for a node that does not answer for ten minutes, and claims are decided by that", async () => {
    const scene = gapOf();
    await scene.clock.advance(600_000);
    const before = [scene.changes(), scene.unanswered()];
    await scene.clock.advance(2_000);
    await scene.end();

    expect([before, [scene.changes(), scene.unanswered()]]).toEqual([
      [1, ["n1"]],
      [2, undefined],
    ]);
  });

  it("is decided by the report of a machine that is older than its object, not by an earlier report", async () => {
    const scene = gapOf({ createdAtMs: NOON + 1 });
    // A report from before the end of the gap, which was long on its way.
    scene.report([], { readMs: NOON - 50_000 });
    await scene.clock.advance(5_000);
    const before = scene.times();
    scene.report(AWAY);
    await scene.clock.advance(5_000);
    await scene.end();

    expect(before).toEqual([]);
    expect(scene.times()).toMatchObject([{ toMs: NOON - 30_000 }]);
  });

  it("waits for the nodes, and lists them where their watch is behind", async () => {
    const scene = gapOf({ unreachableAt: "500", nodesReached: "549" });
    scene.report(AWAY);
    await scene.clock.advance(2_000);
    const before = [scene.changes(), scene.ensured()];
    scene.nodesReach("550");
    await scene.clock.advance(2_000);
    await scene.end();

    expect(before).toEqual([0, "550"]);
    expect([scene.changes(), scene.times()]).toEqual([1, []]);
  });

  it("takes no node for away where nodes cannot be listed, and is decided a while later", async () => {
    const scene = gapOf({ unreachableAt: "500", nodesReached: "549" });
    await scene.clock.advance(1_000);
    scene.report(AWAY);
    await scene.clock.advance(88_000);
    const before = scene.changes();
    await scene.clock.advance(5_000);
    await scene.end();

    expect([before, scene.changes(), scene.openUntil()]).toEqual([0, 1, undefined]);
    expect(scene.times()).toHaveLength(1);
  });

  it("keeps the answer of a machine that another one of its name replaces before all nodes have answered", async () => {
    const scene = gapOf({ nodes: ["n1", "n2"] });
    await scene.clock.advance(1_000);
    scene.report(AWAY);
    await scene.clock.advance(60_000);
    scene.report([], { bootId: "another-boot" });
    scene.report([], { node: "n2" });
    await scene.clock.advance(5_000);
    await scene.end();

    expect(scene.times()).toMatchObject([{ toMs: NOON - 30_000 }]);
  });

  it("moves no claim by a node that joins after it and is gone without a report", async () => {
    const nodes = ["n1"];
    let gone: readonly string[] = [];
    const scene = gapOf({ nodes, gone: () => gone });
    await scene.clock.advance(1_000);
    scene.report([]);
    await scene.clock.advance(60_000);
    nodes.push("joined");
    await scene.clock.advance(10_000);
    nodes.pop();
    await scene.clock.advance(300_000);
    gone = ["joined"];
    await scene.clock.advance(60_000);
    await scene.end();

    expect([scene.times(), scene.changes()]).toEqual([[], 1]);
  });

  it("moves no claim by a node that joins while others still answer and is gone without a report", async () => {
    const nodes = ["n1"];
    let gone: readonly string[] = [];
    const scene = gapOf({ nodes, gone: () => gone });
    await scene.clock.advance(1_000);
    nodes.push("joined");
    await scene.clock.advance(1_000);
    nodes.pop();
    scene.report([]);
    await scene.clock.advance(300_000);
    gone = ["joined"];
    await scene.clock.advance(60_000);
    await scene.end();

    expect(scene.times()).toEqual([]);
  });

  it("counts for a node that was there when it became known and is gone without a report", async () => {
    const nodes = ["n1", "n2"];
    let gone: readonly string[] = [];
    const scene = gapOf({ nodes, gone: () => gone });
    await scene.clock.advance(1_000);
    nodes.pop();
    scene.report([]);
    await scene.clock.advance(300_000);
    gone = ["n2"];
    await scene.clock.advance(60_000);
    await scene.end();

    expect(scene.times()).toMatchObject([{ toMs: NOON }]);
  });

  it("is not handed over for nodes that are newer than it and never report", async () => {
    const nodes = ["n1", "newer"];
    const scene = gapOf({ nodes, createdAtMs: NOON + 1 });
    await scene.clock.advance(1_000);
    nodes.push("joined");
    await scene.clock.advance(1_000);
    scene.report([]);
    await scene.clock.advance(610_000);
    await scene.end();

    expect(scene.open()).toBeUndefined();
  });

  it("counts for a machine that was put back to an earlier state: what its agent knows is not all", async () => {
    const scene = gapOf();
    await scene.clock.advance(1_000);
    const nowMs = scene.clock.wallMs();
    scene.report([], { isRolledBack: true });
    await scene.clock.advance(1_000);
    scene.report([]);
    await scene.clock.advance(5_000);
    await scene.end();

    expect(scene.times()).toMatchObject([{ toMs: nowMs }]);
  });
});

describe("a gap that follows another one", () => {
  it("is one gap with it where not all nodes had answered: agent gaps in between count", async () => {
    const scene = gapOf({ nodes: ["n1", "n2"] });
    await scene.clock.advance(1_000);
    scene.report(AWAY);
    await scene.clock.advance(120_000);
    scene.again(5);
    await scene.clock.advance(2_000);
    scene.report(AWAY);
    scene.report([[-20, -25]], { node: "n2" });
    await scene.clock.advance(10_000);
    await scene.end();

    expect(scene.times()).toMatchObject([{ toMs: NOON + 25_000 }]);
    expect(scene.open()).toBeUndefined();
  });
});
