import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GapWorld } from "./gap-world.ts";
import { Harness } from "./harness.ts";
import { claimWith, nodeWith, statusWith, volumeWith } from "./world.ts";

const NODES = ["n1", "n2", "n3"];

interface Step {
  readonly op: string;
  readonly node: number;
  readonly pick: number;
  readonly ms: number;
}

const RANDOM = fc.record({
  node: fc.nat(NODES.length - 1),
  pick: fc.nat(9),
  ms: fc.oneof(fc.nat(40), fc.nat(9_000), fc.nat(60_000)),
});

/** Any steps, and now and then some of those that make a story, in their order and on one node. */
function steps(ops: readonly string[], story: readonly string[]): fc.Arbitrary<readonly Step[]> {
  const single = RANDOM.chain((random) => fc.constantFrom(...ops).map((op) => [{ ...random, op }]));
  const several = fc.tuple(fc.subarray([...story], { minLength: 2 }), RANDOM).map(([chosen, random]) =>
    // The newest use is the one that the story is about.
    chosen.map((op) => ({ ...random, op: op === "unmount" || op === "remove-pod" ? `${op}-newest` : op })),
  );
  const parts = fc.oneof({ weight: 4, arbitrary: single }, { weight: 1, arbitrary: several });
  return fc.array(parts, { minLength: 1, maxLength: 40, size: "max" }).map((found) => found.flat());
}

const ALL_AWAY = ["aggregator-away", "agent-away", "use", "remove-pod"];
const STORY = [...ALL_AWAY, "aggregator-back", "reboot", "unmount", "agent-back", "calm"];

const STORY_OF_ONE_BOOT = STORY.filter((op) => op !== "reboot");

async function take(world: GapWorld, step: Step, harness: Harness): Promise<void> {
  const { op } = step;
  const node = world.at(step.node);
  if (op === "use") await world.use(node);
  if (op === "report") await world.report(node);
  if (op === "agent-away") node.isAgentUp = false;
  if (op === "agent-back") node.comeBack(harness.clock.wallMs());
  if (op === "reboot") await world.reboot(node);
  if (op === "calm") await world.calm();
  if (op === "aggregator-away") await world.leave();
  if (op === "aggregator-back") await world.comeBack();
  await end(world, step);
}

/** The end of a use, of its pod, or of both. */
async function end(world: GapWorld, { op, pick }: Step): Promise<void> {
  const isNewest = op.endsWith("-newest");
  const open = world.uses.filter(({ unmountedAt }) => unmountedAt === undefined);
  const any = isNewest ? world.uses.at(-1) : world.uses[pick % Math.max(1, world.uses.length)];
  const use = isNewest ? any : open[pick % Math.max(1, open.length)];
  if (use !== undefined && (op.startsWith("unmount") || op === "end")) world.unmount(use);
  if (use !== undefined && op === "end") await world.removePod(use);
  if (any !== undefined && op.startsWith("remove-pod")) await world.removePod(any);
}

/** What happens where never more than one of both is away: who was away comes back first, and all nodes tell after a gap. */
async function takeInTurn(world: GapWorld, step: Step, harness: Harness): Promise<void> {
  if (step.op === "aggregator-away" || step.op === "calm")
    for (const node of world.nodes) node.comeBack(harness.clock.wallMs());
  await harness.advance(1);
  if (step.op === "agent-away" && !world.isAggregatorUp) return;
  const wasUp = world.isAggregatorUp;
  await take(world, step, harness);
  if (!wasUp && world.isAggregatorUp) for (const node of world.nodes) await world.report(node);
}

/** Of what its nodes have told, and where every gap has been judged, no use ended later than what is published. */
function expectNoLongerThanTheTruth(world: GapWorld, harness: Harness): void {
  const status = harness.stored.get("shop/data")?.status;
  if (!world.isAggregatorUp || harness.gap !== undefined || status?.unused !== true) return;
  for (const { podUid, node, unmountedAt } of world.uses) {
    if (unmountedAt === undefined || unmountedAt > node.toldUntil) continue;
    expect(status.sinceMs, `${podUid} was unmounted later`).toBeGreaterThanOrEqual(unmountedAt);
  }
}

/** An hour: every limit of a node is met step by step, and of what follows, the end of a gap's hour. */
async function rest(harness: Harness): Promise<void> {
  await harness.advance(700_000);
  harness.clock.pass(2_800_000);
  await harness.advance(100_000);
}

async function replay(script: readonly Step[], next: typeof take): Promise<Harness> {
  const claims = [claimWith({ status: statusWith({ unused: true, reason: "Unmounted" }) })];
  const harness = new Harness({ claims, volumes: [volumeWith()], nodes: NODES.map((name) => nodeWith(name)) });
  await harness.start();
  const world = new GapWorld(harness, NODES);
  await world.begin();
  for (const step of script) {
    // No two things happen at one moment: clocks have no width here, and what is first is not known.
    await harness.advance(step.ms + 1);
    await next(world, step, harness);
    expectNoLongerThanTheTruth(world, harness);
  }
  await world.calm();
  expect(harness.gap).toBeUndefined();
  expect(harness.stored.get("shop/data")?.status?.unused).toBe(true);
  expectNoLongerThanTheTruth(world, harness);
  const written = harness.writes.length;
  await rest(harness);
  expect(harness.writes, "nothing is written at rest").toHaveLength(written);
  await harness.stop();
  return harness;
}

/** The same runs each time; for a hunt with new ones `MOORING_PROPERTY_RUNS` says how many. */
const { MOORING_PROPERTY_RUNS: hunt } = process.env;
const RUNS = hunt === undefined ? { numRuns: 25, seed: 4_011 } : { numRuns: Number(hunt) };

const USES = ["use", "use", "use", "end", "end", "unmount", "remove-pod", "report", "report"];
const ABSENCES = ["calm", "agent-away", "agent-back", "aggregator-away", "aggregator-back"];

describe("an idle time", () => {
  it("is never longer than the truth, whoever is away and whenever", async () => {
    const script = steps([...USES, ...ABSENCES, ...ABSENCES], STORY_OF_ONE_BOOT);

    await fc.assert(
      fc.asyncProperty(script, async (taken) => {
        await replay(taken, take);
      }),
      RUNS,
    );
  });

  it("is never longer than the truth, also when nodes boot meanwhile", async () => {
    const script = steps([...USES, ...ABSENCES, ...ABSENCES, "reboot"], STORY);

    await fc.assert(
      fc.asyncProperty(script, async (taken) => {
        await replay(taken, take);
      }),
      RUNS,
    );
  });

  it("of a claim that is idle is not touched by any absence as long as one of both is there", async () => {
    const script = steps([...USES, ...ABSENCES, ...ABSENCES], STORY_OF_ONE_BOOT);

    await fc.assert(
      fc.asyncProperty(script, async (taken) => {
        const { writes } = await replay(taken, takeInTurn);

        // Of one in use a pod may be forgotten that only the aggregator had seen.
        const wasIdle = (index: number): boolean => writes[index - 1]?.unused !== false;
        expect(writes.filter(({ blindGap }, index) => blindGap !== undefined && wasIdle(index))).toEqual([]);
      }),
      RUNS,
    );
  });
});
