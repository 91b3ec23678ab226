import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type RootRule, scanMountedVolumes } from "../../../../agent/core/mounted-volumes.ts";
import {
  forget,
  initialState,
  loseCoverage,
  type NodeState,
  type PodFacts,
} from "../../../../agent/core/node-state.ts";
import { observe } from "../../../../agent/core/observe.ts";
import { interpretStored, mergeStored } from "../../../../agent/core/restore.ts";
import type { AgentGap } from "../../../../common/storage/node-report.ts";
import { csiMountPoint, formatMountLine, tokenMountPoint } from "../../../fakes/mount-table.ts";

/**
 * A node with one pod and one volume, whose agent scans after every change that poll(2) reports, and stores after every scan; and everything
 * that can happen to them: damaged and failed reads, kills, journals that are lost or old, reboots, machines put back in time.
 */

const RULE: RootRule = { by: "own-pod", podUid: "agent-1", override: undefined };
const CLOCK = "monotonic-raw";
const TOKEN = formatMountLine({ mountPoint: tokenMountPoint("agent-1") });
const MOUNT = formatMountLine({ mountPoint: csiMountPoint("u1", "pv-a") });

/** Everything that was ever reported of an unmount record, in true time. */
interface Told {
  /** The latest begin of its interval. */
  readonly after: number;
  /** The earliest end of it. */
  readonly by: number;
  /** The last true unmount when it was first reported. */
  readonly unmount: number | undefined;
}

class World {
  now = 1_000;
  isMounted = false;
  /** True times at which a mount ended. */
  readonly ends: number[] = [];
  readonly reported = new Map<string, Told>();
  /** All reported gaps, in true time. */
  readonly agentGaps: AgentGap[] = [];
  state: NodeState | undefined;
  #pod: PodFacts = { name: "team/web", resourceVersion: "1", isRunning: false, isOver: false };
  #isPodKnown = true;
  #isListed = true;
  #isDamaged = false;
  #boot = { id: "boot-1", at: 0 };
  #runs = 0;
  #stored: NodeState[] = [];
  readonly #settled = new Set<string>();

  take(action: string): void {
    this.now += 10;
    const [what = "", choice = "0"] = action.split(" ");
    this.#steps[what]?.(Number(choice));
    if (what !== "kill") this.#runScan();
  }

  readonly #steps: Readonly<Record<string, (choice: number) => void>> = {
    flip: () => this.#setMounted(!this.isMounted),
    unmount: () => this.#setMounted(false),
    "pod-runs": () => this.#changePod({ isRunning: true, isOver: false }),
    "pod-is-deleted": () => this.#changePod({ isRunning: false, isOver: this.#pod.isOver }),
    "pod-ends": () => this.#changePod({ isRunning: false, isOver: true }),
    "pod-goes": () => {
      this.#isPodKnown = false;
    },
    list: () => {
      this.#isListed = true;
    },
    damage: () => {
      this.#isDamaged = true;
    },
    repair: () => {
      this.#isDamaged = false;
    },
    fail: () => {
      this.state &&= loseCoverage(this.state);
    },
    settle: () => {
      for (const id of this.#ids()) this.#settled.add(id);
      if (this.state !== undefined) this.#keep(forget(this.state, this.#ids()));
    },
    kill: () => {
      this.state = undefined;
    },
    reboot: () => this.#reboot(),
    "lose-journal": () => {
      this.#stored = [];
    },
    start: (older) => this.#start(older),
  };

  #ids(): readonly string[] {
    return this.state?.unmountRecords.map(({ id }) => id) ?? [];
  }

  #setMounted(isMounted: boolean): void {
    if (this.isMounted && !isMounted) this.ends.push(this.now);
    this.isMounted = isMounted;
  }

  #changePod(stage: Pick<PodFacts, "isRunning" | "isOver">): void {
    this.#isPodKnown = true;
    this.#pod = { ...this.#pod, ...stage, resourceVersion: String(this.now) };
  }

  #reboot(): void {
    this.#setMounted(false);
    this.state = undefined;
    this.#boot = { id: `boot-${this.now}`, at: this.now + 3 };
    this.now += 5;
  }

  /** Starts another run, killing the one before: with the newest stored state, or an older one that was restored. */
  #start(older: number): void {
    this.#runs += 1;
    this.#isListed = false;
    const fresh = initialState(this.#boot.id, { run: `run-${this.#runs}`, clock: CLOCK });
    const stored = this.#stored.at(-1 - older);
    const past =
      stored && interpretStored(stored, { bootId: this.#boot.id, clock: CLOCK, nowMs: this.now - this.#boot.at }).past;
    this.state = past === undefined ? fresh : mergeStored(fresh, past);
  }

  /** A scan takes a unit of time, and nothing happens in it. */
  #runScan(): void {
    if (this.state === undefined) return;
    const at = this.now - this.#boot.at;
    const text = this.#isDamaged ? `${TOKEN}36 35 8:1` : `${TOKEN}${this.isMounted ? MOUNT : ""}`;
    const scan = scanMountedVolumes({ text, beganAt: at, endedAt: at + 1 }, RULE);
    const pods = new Map(this.#isPodKnown ? [["u1", this.#pod]] : []);
    this.#keep(observe(this.state, { scan, podsResourceVersion: "1", pods: this.#isListed ? pods : undefined }).state);
    this.now += 1;
  }

  #keep(state: NodeState): void {
    this.state = state;
    this.#stored = [...this.#stored.slice(-20), state];
    const trueTime = (stamp: number): number => stamp + this.#boot.at;
    for (const { id, after, by } of state.unmountRecords) {
      // What another boot showed ended before this one; the pod's use in this one is not reported here.
      const latest = after === undefined ? this.#boot.at : this.now;
      const unmount = this.ends.findLast((end) => end <= latest);
      const known = this.reported.get(id) ?? { after: 0, by: Number.POSITIVE_INFINITY, unmount };
      // The earliest time that is ever reported of it, in any boot.
      const least = Math.min(known.by, trueTime(by));
      this.reported.set(id, {
        ...known,
        after: Math.max(known.after, after === undefined ? 0 : trueTime(after)),
        by: least,
      });
    }
    if (state.coverage === "none") return;
    for (const { from, to } of state.agentGaps)
      this.agentGaps.push({ ...(from === undefined ? {} : { from: trueTime(from) }), to: trueTime(to) });
  }

  /** Whether an unmount is acknowledged, or will be reported, and not too early, or fell into a reported gap. */
  isAccountedFor(end: number): boolean {
    const known = [...this.#settled, ...this.#ids()].map((id) => this.reported.get(id));
    const isTold = known.some(
      (reported) => reported?.unmount !== undefined && reported.unmount >= end && reported.by >= end,
    );
    return isTold || this.agentGaps.some(({ from, to }) => (from ?? 0) <= end && end <= to);
  }
}

/** How often what happens to them. */
const WEIGHTS = {
  ...{ flip: 8, list: 4, "pod-runs": 2, "pod-is-deleted": 1, "pod-ends": 2, "pod-goes": 1, scan: 1 },
  ...{ damage: 2, repair: 3, fail: 1, settle: 1, kill: 3, "start 0": 4, "start 3": 1, reboot: 1, "lose-journal": 1 },
};
const action = fc.oneof(...Object.entries(WEIGHTS).map(([what, weight]) => ({ weight, arbitrary: fc.constant(what) })));

const RUNS = { seed: 5541, numRuns: Number(process.env.MOORING_PROPERTY_RUNS ?? 300) };

function played(actions: readonly string[]): World {
  const world = new World();
  for (const one of ["start 0", "pod-runs", "list", ...actions]) world.take(one);
  return world;
}

describe("an agent with kills, reboots, damaged scans and old journals", () => {
  it("reports no unmount earlier than the truth, and no interval that begins after it", () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60, size: "max" }), (actions) => {
        for (const { after, by, unmount } of played(actions).reported.values()) {
          expect(unmount).toBeDefined();
          expect(by).toBeGreaterThanOrEqual(unmount ?? Number.POSITIVE_INFINITY);
          expect(after).toBeLessThanOrEqual(unmount ?? 0);
        }
      }),
      RUNS,
    );
  });

  it("loses no unmount: it is reported, or falls into a reported gap", () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60, size: "max" }), (actions) => {
        const world = played(actions);
        for (const one of ["unmount", "pod-goes", "repair", "start 0", "list", "scan"]) world.take(one);

        expect(world.ends.filter((end) => !world.isAccountedFor(end))).toEqual([]);
        expect(world.state?.mountedVolumes.size).toBe(0);
      }),
      RUNS,
    );
  });

  it("reports its gaps in order, and none that is still open", () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60, size: "max" }), (actions) => {
        const { state } = played(actions);
        const spans = state?.agentGaps ?? [];

        for (const [index, { from, to }] of spans.entries()) {
          expect(from ?? 0).toBeLessThanOrEqual(to);
          if (index > 0) expect(from).toBeGreaterThanOrEqual(spans[index - 1]?.to ?? 0);
        }
        if (state?.coverage === "unbroken") expect(spans.at(-1)?.to).toBeLessThanOrEqual(state.scan?.endedAt ?? 0);
      }),
      RUNS,
    );
  });
});
