import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LEAK_AFTER_MS, leaksIn } from "../../../../agent/core/leaks.ts";
import { type MountScan, type RootRule, scanMountedVolumes } from "../../../../agent/core/mounted-volumes.ts";
import { type Decision, initialState, type NodeState, type PodFacts } from "../../../../agent/core/node-state.ts";
import { extendCoverage, observe } from "../../../../agent/core/observe.ts";
import { csiMountPoint, formatMountLine, tokenMountPoint } from "../../../fakes/mount-table.ts";

const RULE: RootRule = { by: "own-pod", podUid: "agent-1", override: undefined };
const MOUNT = formatMountLine({ mountPoint: csiMountPoint("u1", "pv-a"), device: "8:1" });
const STAGING = formatMountLine({
  mountPoint: "/var/lib/kubelet/plugins/kubernetes.io/csi/pv/pv-a/globalmount",
  device: "8:1",
});
const TOKEN = formatMountLine({ mountPoint: tokenMountPoint("agent-1") });

/** What one scan finds: `mount`, `staging` and `damage` are what the table shows, the rest what the watch shows of the pod. */
interface Scan {
  readonly shows: readonly ("mount" | "staging" | "damage")[];
  /** Phase and version: `running 1`, `pending 1`, `terminating 1`, `over 1`; `gone` and `unknown` (not listed yet) have no pod. */
  readonly pod: string;
}

function scanAt(at: number, shows: Scan["shows"]): MountScan {
  const lines = [TOKEN, shows.includes("mount") ? MOUNT : "", shows.includes("staging") ? STAGING : ""].join("");
  const text = shows.includes("damage") ? `${lines}36 35 8:1` : lines;
  return scanMountedVolumes({ text, beganAt: at, endedAt: at + 1 }, RULE);
}

function podsOf(pod: string): ReadonlyMap<string, PodFacts> | undefined {
  if (pod === "unknown") return undefined;
  const [phase, resourceVersion = "1"] = pod.split(" ");
  if (phase === "gone") return new Map();
  return new Map([["u1", { name: "team/web", resourceVersion, ...stage(phase) }]]);
}

function stage(phase: string | undefined): Pick<PodFacts, "isRunning" | "isOver"> {
  return { isRunning: phase === "running", isOver: phase === "over" };
}

/** Looks that began at 10, 20, 30, and so on. */
function replay(scans: readonly Scan[]): { readonly state: NodeState; readonly decisions: readonly Decision[] } {
  let state = initialState("boot-1");
  const decisions: Decision[] = [];
  for (const [index, { shows, pod }] of scans.entries()) {
    const scan = scanAt(10 * (index + 1), shows);
    const next = observe(state, { scan, podsResourceVersion: String(index), pods: podsOf(pod) });
    state = next.state;
    decisions.push(...next.decisions);
  }
  return { state, decisions };
}

const mounted: Scan = { shows: ["mount"], pod: "running 1" };
const unmounted: Scan = { shows: [], pod: "running 1" };

describe("the report of a mounted volume", () => {
  it.each<{ readonly name: string; readonly last: Scan; readonly isNews: boolean }>([
    { name: "changes when scans no longer show the volume although its pod runs", last: unmounted, isNews: true },
    { name: "does not change as long as scans show the volume", last: mounted, isNews: false },
  ])("$name", ({ last, isNews }) => {
    const before = replay([mounted, mounted]).state.generation;

    expect(replay([mounted, mounted, last]).state.generation > before).toBe(isNews);
  });

  it("changes when a scan shows the volume again, and not as long as nothing changes", () => {
    const generations = [
      [mounted, unmounted],
      [mounted, unmounted, unmounted],
      [mounted, unmounted, mounted],
    ].map((scans) => replay(scans).state.generation);

    expect(generations).toEqual([2, 2, 3]);
  });
});

describe("a mounted volume that ends while its pod runs", () => {
  it.each<{
    readonly name: string;
    readonly scans: readonly Scan[];
    readonly pending: boolean;
    readonly unmountRecords: readonly string[];
    readonly anomalies: readonly string[];
  }>([
    { name: "is a pending unmount", scans: [mounted, unmounted], pending: true, unmountRecords: [], anomalies: [] },
    {
      name: "is recorded with the time of that scan when the pod turns out to be over",
      scans: [mounted, unmounted, { shows: [], pod: "over 2" }],
      pending: false,
      unmountRecords: ["10-21"],
      anomalies: [],
    },
    {
      name: "is recorded with the time of that scan when the pod is gone",
      scans: [mounted, unmounted, unmounted, { shows: [], pod: "gone" }],
      pending: false,
      unmountRecords: ["10-21"],
      anomalies: [],
    },
    {
      name: "stays pending until a complete scan when the scan after the pod's end is damaged: that may hide the mount",
      scans: [mounted, unmounted, { shows: ["damage"], pod: "gone" }],
      pending: true,
      unmountRecords: [],
      anomalies: [],
    },
    {
      name: "is an anomaly when the mount comes back",
      scans: [mounted, unmounted, mounted],
      pending: true,
      unmountRecords: [],
      anomalies: ["remounted-while-running"],
    },
    {
      name: "is no anomaly when the mount comes back before its pod is known to run",
      scans: [{ shows: ["mount"], pod: "pending 1" }, { shows: [], pod: "pending 1" }, mounted],
      pending: true,
      unmountRecords: [],
      anomalies: [],
    },
    {
      name: "is an anomaly when its pod starts without the volume and runs on",
      scans: [
        { shows: ["mount"], pod: "pending 1" },
        { shows: [], pod: "pending 1" },
        { shows: [], pod: "running 2" },
        { shows: [], pod: "running 3" },
      ],
      pending: true,
      unmountRecords: [],
      anomalies: ["unmounted-while-running"],
    },
    {
      name: "is an anomaly, once, when a watch event shows that the pod runs on",
      scans: [mounted, unmounted, { shows: [], pod: "running 2" }, { shows: [], pod: "running 3" }],
      pending: true,
      unmountRecords: [],
      anomalies: ["unmounted-while-running"],
    },
    {
      name: "after an anomaly counts as used until a complete scan after the pod's end",
      scans: [
        mounted,
        unmounted,
        { shows: [], pod: "running 2" },
        { shows: ["damage"], pod: "gone" },
        { shows: [], pod: "gone" },
      ],
      pending: false,
      unmountRecords: ["10-51"],
      anomalies: ["unmounted-while-running"],
    },
    {
      name: "is not changed by a damaged scan",
      scans: [mounted, { shows: ["damage"], pod: "running 1" }, mounted],
      pending: true,
      unmountRecords: [],
      anomalies: [],
    },
    {
      name: "is recorded at once when the pod is over",
      scans: [mounted, { shows: [], pod: "over 2" }],
      pending: false,
      unmountRecords: ["10-21"],
      anomalies: [],
    },
    {
      name: "stays pending while the pod terminates, and is recorded with the time of the first scan without it once the pod is gone",
      scans: [mounted, { shows: [], pod: "terminating 2" }, { shows: [], pod: "gone" }],
      pending: false,
      unmountRecords: ["10-21"],
      anomalies: [],
    },
    {
      name: "stays pending while the pod terminates",
      scans: [mounted, { shows: [], pod: "terminating 2" }, { shows: [], pod: "terminating 3" }],
      pending: true,
      unmountRecords: [],
      anomalies: [],
    },
    {
      name: "is cancelled when a pod that has not started has its volume mounted again",
      scans: [
        { shows: ["mount"], pod: "pending 1" },
        { shows: [], pod: "pending 1" },
        { shows: ["mount"], pod: "pending 2" },
        { shows: ["mount"], pod: "running 3" },
      ],
      pending: true,
      unmountRecords: [],
      anomalies: [],
    },
    {
      name: "is one unmount record however often a pod that never starts has its volume mounted and unmounted",
      scans: [
        { shows: ["mount"], pod: "pending 1" },
        { shows: [], pod: "pending 1" },
        { shows: ["mount"], pod: "pending 2" },
        { shows: [], pod: "pending 3" },
        { shows: [], pod: "gone" },
      ],
      pending: false,
      unmountRecords: ["30-41"],
      anomalies: [],
    },
    {
      name: "after an anomaly counts as used while the pod terminates: its containers may still run",
      scans: [mounted, unmounted, { shows: [], pod: "running 2" }, { shows: [], pod: "terminating 3" }],
      pending: true,
      unmountRecords: [],
      anomalies: ["unmounted-while-running"],
    },
    {
      name: "before a damaged scan is recorded with the time of the next complete one",
      scans: [mounted, unmounted, { shows: ["damage"], pod: "gone" }, { shows: [], pod: "gone" }],
      pending: false,
      unmountRecords: ["10-41"],
      anomalies: [],
    },
    {
      name: "is recorded with the time of the first scan after the gap, also when the pod ends later",
      scans: [mounted, unmounted, { shows: ["damage"], pod: "running 1" }, unmounted, { shows: [], pod: "gone" }],
      pending: false,
      unmountRecords: ["10-41"],
      anomalies: [],
    },
    {
      name: "is kept while the pods have not been listed: any may be running",
      scans: [mounted, { shows: [], pod: "unknown" }],
      pending: true,
      unmountRecords: [],
      anomalies: [],
    },
    {
      name: "is recorded with the time of its scan when the later list lacks the pod",
      scans: [mounted, { shows: [], pod: "unknown" }, { shows: [], pod: "unknown" }, { shows: [], pod: "gone" }],
      pending: false,
      unmountRecords: ["10-21"],
      anomalies: [],
    },
    {
      name: "is kept when the later list shows the pod running: its last event may still come",
      scans: [mounted, { shows: [], pod: "unknown" }, unmounted, { shows: [], pod: "over 2" }],
      pending: false,
      unmountRecords: ["10-21"],
      anomalies: [],
    },
    {
      name: "is an anomaly when the pod that the list showed runs on",
      scans: [mounted, { shows: [], pod: "unknown" }, unmounted, { shows: [], pod: "running 2" }],
      pending: true,
      unmountRecords: [],
      anomalies: ["unmounted-while-running"],
    },
  ])("$name", ({ scans, pending, unmountRecords, anomalies }) => {
    const { state, decisions } = replay(scans);

    expect(state.mountedVolumes.size).toBe(pending ? 1 : 0);
    expect(state.unmountRecords.map(({ after, by }) => `${after}-${by}`)).toEqual(unmountRecords);
    expect(decisions.flatMap((decision) => (decision.kind === "anomaly" ? [decision.why] : []))).toEqual(anomalies);
  });
});

describe("a leaked mount", () => {
  it.each<{ readonly name: string; readonly scans: readonly Scan[]; readonly leaks: readonly string[] }>([
    { name: "is one whose pod is gone", scans: [{ shows: ["mount"], pod: "gone" }], leaks: ["orphaned"] },
    { name: "is not one whose pod is over but known", scans: [{ shows: ["mount"], pod: "over" }], leaks: [] },
    {
      name: "is not one while the pods have not been listed",
      scans: [{ shows: ["mount"], pod: "unknown" }],
      leaks: [],
    },
    {
      name: "is a staged device that no pod uses",
      scans: [{ shows: ["staging"], pod: "gone" }],
      leaks: ["unused-staging"],
    },
    {
      name: "is not a staged device that a pod uses",
      scans: [{ shows: ["mount", "staging"], pod: "running" }],
      leaks: [],
    },
    {
      name: "is forgotten when its pod is known after all",
      scans: [{ shows: ["mount"], pod: "gone" }, mounted],
      leaks: [],
    },
  ])("$name", ({ scans, leaks }) => {
    const { state } = replay(scans);

    expect(leaksIn(state, 20 + LEAK_AFTER_MS).map(({ kind }) => kind)).toEqual(leaks);
  });

  it("is not logged before five minutes", () => {
    const { state } = replay([{ shows: ["mount"], pod: "gone" }]);

    expect(leaksIn(state, 10 + LEAK_AFTER_MS)).toEqual([]);
    expect(leaksIn(state, 11 + LEAK_AFTER_MS)).toHaveLength(1);
  });
});

describe("a time without changes", () => {
  it.each([
    { name: "narrows the interval of a volume that a scan in it showed", span: { from: 5, until: 18 }, after: 18 },
    { name: "does not change a volume that was last seen before it", span: { from: 11, until: 18 }, after: 10 },
    { name: "changes nothing when it ended before the scan", span: { from: 5, until: 9 }, after: 10 },
  ])("$name", ({ span, after }) => {
    const { state } = replay([{ shows: ["mount"], pod: "gone" }]);

    const next = observe(extendCoverage(state, span), {
      scan: scanAt(20, []),
      podsResourceVersion: "2",
      pods: new Map(),
    });

    expect(next.state.unmountRecords).toMatchObject([{ after, by: 21 }]);
  });
});

/** One step of a node: something happens to the mount or the pod, or the agent scans. */
const step = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom("mount", "unmount") },
  {
    weight: 2,
    arbitrary: fc.constantFrom("pod-event", "pod-ends", "pod-vanishes", "pod-waits", "pod-starts", "pod-deleted"),
  },
  { weight: 3, arbitrary: fc.constantFrom("scan", "damaged-scan") },
);

/** A node with one pod and one volume, and the agent's view of it; time passes by ten with each step. */
class Model {
  state = initialState("boot-1");
  isMounted = false;
  pod: { phase: "pending" | "running" | "terminating" | "over" | "gone"; version: number } = {
    phase: "gone",
    version: 0,
  };
  /** When the volume was unmounted, as the world knows it. */
  readonly unmounts: number[] = [];
  now = 0;

  take(action: string): void {
    this.now += 10;
    if (action === "mount") this.isMounted = true;
    if (action === "unmount" && this.isMounted) {
      this.isMounted = false;
      this.unmounts.push(this.now);
    }
    if (action.startsWith("pod-"))
      this.pod = { phase: phaseAfter(action, this.pod.phase), version: this.pod.version + 1 };
    if (action.endsWith("scan")) this.#runScan(action === "damaged-scan");
  }

  #runScan(isDamaged: boolean): void {
    const shows = [...(this.isMounted ? (["mount"] as const) : []), ...(isDamaged ? (["damage"] as const) : [])];
    const pods = podsOf(`${this.pod.phase} ${this.pod.version}`);
    this.state = observe(this.state, { scan: scanAt(this.now, shows), podsResourceVersion: "1", pods }).state;
  }
}

function phaseAfter(action: string, phase: Model["pod"]["phase"]): Model["pod"]["phase"] {
  if (action === "pod-waits") return "pending";
  if (action === "pod-starts") return "running";
  if (action === "pod-vanishes") return "gone";
  if (action === "pod-deleted") return phase === "pending" || phase === "running" ? "terminating" : phase;
  return action === "pod-ends" && phase !== "gone" ? "over" : phase;
}

describe("any interleaving of mounts, pod events and scans", () => {
  it("gives unmount records that contain a true unmount, and none is lost once the pod is over", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40, size: "max" }), (steps) => {
        const model = new Model();
        for (const action of steps) model.take(action);
        const wasSeen = model.state.mountedVolumes.size > 0;
        const before = model.state.unmountRecords.length;
        for (const action of ["unmount", "pod-vanishes", "scan"]) model.take(action);

        for (const { after = 0, by } of model.state.unmountRecords) {
          expect(model.unmounts.some((at) => after <= at && at <= by)).toBe(true);
        }
        expect(model.state.mountedVolumes.size).toBe(0);
        expect(model.state.unmountRecords.length).toBe(before + (wasSeen ? 1 : 0));
      }),
      { seed: 5541, numRuns: Number(process.env.MOORING_PROPERTY_RUNS ?? 300) },
    );
  });

  it("gives the same result when a scan is repeated", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40, size: "max" }), (steps) => {
        const model = new Model();
        for (const action of steps) model.take(action);
        model.take("scan");
        const { unmountRecords, generation } = model.state;

        model.take("scan");

        expect(model.state.unmountRecords).toEqual(unmountRecords);
        expect(model.state.generation).toBe(generation);
      }),
      { seed: 5541, numRuns: Number(process.env.MOORING_PROPERTY_RUNS ?? 300) },
    );
  });
});

/** Complete scans at 10, 20, 30 and so on, at which the mount is there or not; between two of them may come a damaged one. */
function unmountRecordsOf(
  scans: readonly { readonly isMounted: boolean; readonly damagedAfter: boolean }[],
  withDamage: boolean,
) {
  let state = initialState("boot-1");
  const scanWith = (at: number, shows: Scan["shows"]): void => {
    state = observe(state, { scan: scanAt(at, shows), podsResourceVersion: "1", pods: new Map() }).state;
  };
  for (const [index, { isMounted, damagedAfter }] of scans.entries()) {
    scanWith(10 * (index + 1), isMounted ? ["mount"] : []);
    if (withDamage && damagedAfter) scanWith(10 * (index + 1) + 5, ["damage"]);
  }
  return state.unmountRecords.map(({ id, after = 0, by }) => ({ id, after, by }));
}

describe("damaged scans between complete ones", () => {
  it("change no unmount record, and never narrow its interval", () => {
    const scans = fc.array(fc.record({ isMounted: fc.boolean(), damagedAfter: fc.boolean() }), {
      maxLength: 30,
      size: "max",
    });
    fc.assert(
      fc.property(scans, (taken) => {
        const plain = unmountRecordsOf(taken, false);
        const damaged = unmountRecordsOf(taken, true);

        expect(damaged.map(({ id }) => id)).toEqual(plain.map(({ id }) => id));
        for (const [index, { after, by }] of damaged.entries()) {
          expect(after).toBeLessThanOrEqual(plain[index]?.after ?? 0);
          expect(by).toBe(plain[index]?.by);
        }
      }),
      { seed: 5541, numRuns: Number(process.env.MOORING_PROPERTY_RUNS ?? 300) },
    );
  });
});
