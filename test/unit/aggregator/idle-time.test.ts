import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ApiError } from "../../../common/kube/client.ts";
import { MooringError } from "../../../common/runtime/errors.ts";
import { Harness } from "./harness.ts";
import { SimulatedFleet, type Use } from "./simulated-fleet.ts";
import { CSI } from "./simulated-node.ts";
import { claimWith, nodeWith, volumeWith } from "./world.ts";

const NODES = ["n1", "n2", "n3"];

interface Step {
  readonly op: string;
  readonly node: number;
  readonly pick: number;
  readonly ms: number;
  /** How long a long wait is. */
  readonly minutes: number;
  readonly aheadMs: number;
  readonly again: boolean;
  readonly lost: boolean;
}

const COMMON = ["create", "mount", "begin", "unmount", "finish", "remove", "read", "send", "deliver", "watch"];
/** What usually follows one another, so that a script gets somewhere. */
const USUAL = ["use", "use", "end", "end", "look", "look", "look", "deliver", "deliver"];

function steps(ops: readonly string[]): fc.Arbitrary<readonly Step[]> {
  const step = fc.record({
    op: fc.constantFrom(...COMMON, ...USUAL, ...USUAL, ...ops),
    node: fc.nat(NODES.length - 1),
    pick: fc.nat(9),
    ms: fc.oneof(fc.nat(40), fc.nat(9_000), fc.nat(9_000)),
    minutes: fc.nat(12),
    aheadMs: fc.nat(1_000),
    again: fc.boolean(),
    lost: fc.boolean(),
  });
  return fc.array(step, { minLength: 1, maxLength: 90, size: "max" });
}

const conflict = new ApiError("conflict", { status: 409, retryAfterMs: undefined });
const noAnswer = new MooringError("transport-failed", "the connection broke");

/** What goes wrong between the aggregator and the API server. */
async function trouble(harness: Harness, { op, lost }: Step): Promise<void> {
  if (op === "conflict") harness.outcomes.push({ fails: conflict, isStored: false });
  if (op === "no-answer") harness.outcomes.push({ fails: noAnswer, isStored: lost });
  if (op === "slow-watch") harness.outcomes.push("stored");
  if (op === "catch-up") await harness.catchUp();
}

async function take(fleet: SimulatedFleet, { op, node, pick, again, lost }: Step): Promise<void> {
  if (op === "use") fleet.use(node);
  if (op === "end") await fleet.end(node, pick);
  if (op === "look") await fleet.look(node, { arrives: !again, lost });
  if (op === "deliver") await fleet.deliver(pick, { again, lost });
  if (op === "watch") await fleet.watch(pick);
  if (op === "restart-agent") fleet.restartAgent(node);
  if (op === "reboot") fleet.reboot(node);
  if (op === "sync-node") await fleet.syncNode(node);
  if (op === "snapshot") fleet.takeSnapshot(node);
  if (op === "put-back") fleet.putBack(node);
  if (op === "restart-aggregator") await fleet.restartAggregator();
}

/** What becomes of nodes and of the agents on them. */
async function change(fleet: SimulatedFleet, { op, node }: Step): Promise<void> {
  if (op === "delete-node") await fleet.deleteNode(node);
  if (op === "give-up") await fleet.giveUp(node);
  if (op === "remove-agent") await fleet.removeAgent(node);
  if (op === "install-agent") await fleet.installAgent(node);
  if (op === "stranger") fleet.createStranger(node);
  if (op === "unstage") fleet.unstage(node);
  if (op === "attach") await fleet.attach(node);
  if (op === "detach") await fleet.attach(undefined);
}

function takeApart(fleet: SimulatedFleet, { op, node, pick }: Step): void {
  if (op === "create") fleet.create(node);
  if (op === "mount") fleet.mount(node, pick);
  if (op === "begin") fleet.begin(node, pick);
  if (op === "unmount") fleet.unmount(node, pick);
  if (op === "finish") fleet.finish(node, pick);
  if (op === "remove") fleet.remove(node, pick);
  if (op === "read") fleet.read(node, pick);
  if (op === "send") fleet.send(node);
}

/**
 * A time that is published is not earlier than any end of use that the aggregator could know of: of a mount that a report told
 * of, or of one whose pod its watch has shown.
 */
function expectNoLongerThanTheTruth(harness: Harness, { uses, shownPods }: SimulatedFleet): void {
  const status = harness.stored.get("shop/data")?.status;
  if (status?.unused !== true) return;
  for (const use of uses.values()) {
    // That what a node that is gone showed has ended is an assumption, until the node is heard of again.
    const isAssumed = harness.agentStates.assumedEnd(use.node)?.evidence === "node-gone";
    if (isAssumed || !(use.isKnown || (shownPods.has(use.podUid) && !use.isUnpromised))) continue;
    expect(use.unmountedAt, `${use.podUid} still has it mounted`).toBeDefined();
    expect(status.sinceMs, `${use.podUid} unmounted later`).toBeGreaterThanOrEqual(use.unmountedAt ?? 0);
  }
}

/** When it is proven, and of which uses: of all that somebody could know of, or of those that some agent read. */
const PROOFS = {
  all: { isAlways: true, isOfRead: false },
  read: { isAlways: true, isOfRead: true },
  end: { isAlways: false, isOfRead: false },
  "read-in-the-end": { isAlways: false, isOfRead: true },
} as const;

function isPromised({ isUnpromised, isKnown, isRead }: Use, isOfRead: boolean): boolean {
  return (!isUnpromised || isKnown) && (!isOfRead || isRead);
}

async function replay(
  script: readonly Step[],
  { nodeStaleAfterMs = 90_000, proves }: { readonly nodeStaleAfterMs?: number; readonly proves: keyof typeof PROOFS },
): Promise<void> {
  const { isAlways, isOfRead } = PROOFS[proves];
  const nodes = NODES.map((name) => nodeWith(name));
  const copy = { key: "pv-2", uid: "volume-2", claim: { key: "shop/copy", uid: "claim-2" } };
  const volumes = [volumeWith({ csi: CSI }), volumeWith({ ...copy, csi: CSI })];
  const claims = [claimWith(), claimWith({ name: "copy", uid: "claim-2", volume: "pv-2" })];
  const world = { claims, volumes, nodes, livingKubelets: NODES };
  const harness = await new Harness({ ...world, nodeStaleAfterMs }).start();
  const fleet = new SimulatedFleet(harness, NODES);
  await fleet.installAgents();

  for (const step of script) {
    await harness.advance(step.ms);
    harness.aheadMs = step.aheadMs;
    takeApart(fleet, step);
    await take(fleet, step);
    await change(fleet, step);
    if (step.op === "long-wait") await harness.advance(step.minutes * 60_000);
    fleet.noteUnpromised();
    await trouble(harness, step);
    // A write that fails, or that the watch does not show yet, comes a while later.
    if (isAlways) expectNoLongerThanTheTruth(harness, fleet);
    // Another volume with the same handle is staged and attached with this one, and that is no use of it.
    expect(harness.stored.get("shop/copy")?.status?.unused).not.toBe(false);
  }
  await fleet.finishAll();
  expect(harness.stored.get("shop/copy")?.status).toMatchObject({ reason: "NeverObservedInUse" });

  const status = harness.stored.get("shop/data")?.status;
  expect(status?.unused).toBe(true);
  for (const use of fleet.uses.values()) {
    if (!isPromised(use, isOfRead)) continue;
    expect(status?.sinceMs, `${use.podUid} unmounted later`).toBeGreaterThanOrEqual(use.unmountedAt ?? 0);
  }
  const last = status?.lastUse;
  // Of a use that ended while nobody watched not even the pod is known.
  if (last?.podUid !== undefined && last.uncertaintyMs !== undefined) {
    const truth = fleet.uses.get(last.podUid)?.unmountedAt ?? Number.NaN;
    expect(last.releasedAtMs).toBeGreaterThanOrEqual(truth);
    expect(last.releasedAtMs - last.uncertaintyMs).toBeLessThanOrEqual(truth);
  }
  await harness.stop();
}

/** The same runs each time; for a hunt with new ones `MOORING_PROPERTY_RUNS` says how many. */
const { MOORING_PROPERTY_RUNS: hunt } = process.env;
const RUNS = hunt === undefined ? { numRuns: 25, seed: 5_541 } : { numRuns: Number(hunt) };

describe("the published time", () => {
  it("is never earlier than the truth, whatever agents and reports do", async () => {
    const script = steps(["restart-agent", "reboot", "sync-node"]);

    await fc.assert(
      fc.asyncProperty(script, (taken) => replay(taken, { proves: "all" })),
      RUNS,
    );
  });

  it("is never earlier than the truth, whatever becomes of nodes and of what is promised of them", async () => {
    const nodes = ["delete-node", "delete-node", "sync-node", "reboot", "give-up", "restart-agent"];
    const agents = ["remove-agent", "remove-agent", "install-agent"];
    const script = steps([
      ...nodes,
      ...agents,
      "stranger",
      "unstage",
      "long-wait",
      "long-wait",
      "long-wait",
      "attach",
      "detach",
    ]);

    await fc.assert(
      fc.asyncProperty(script, (taken) => replay(taken, { proves: "all" })),
      RUNS,
    );
  });

  it("is right in the end, whatever the API server does", async () => {
    const script = steps(["restart-agent", "conflict", "no-answer", "slow-watch", "catch-up"]);

    await fc.assert(
      fc.asyncProperty(script, (taken) => replay(taken, { proves: "end" })),
      RUNS,
    );
  });

  it("is never earlier than what the nodes read, however often the aggregator restarts", async () => {
    const nodes = ["delete-node", "sync-node", "attach", "detach"];
    const script = steps([...nodes, "restart-aggregator", "restart-aggregator", "long-wait"]);

    await fc.assert(
      fc.asyncProperty(script, (taken) => replay(taken, { nodeStaleAfterMs: 1e9, proves: "read" })),
      RUNS,
    );
  });

  it("is never earlier in the end than what the nodes read, though snapshots of their machines are put back", async () => {
    const script = steps(["snapshot", "snapshot", "put-back", "put-back", "long-wait", "restart-agent", "sync-node"]);

    await fc.assert(
      fc.asyncProperty(script, (taken) => replay(taken, { proves: "read-in-the-end" })),
      RUNS,
    );
  });
});
