import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type MountScan,
  mergeScans,
  type RootRule,
  scanMountedVolumes,
} from "../../../../agent/core/mounted-volumes.ts";
import { type Decision, forget, initialState, type NodeState } from "../../../../agent/core/node-state.ts";
import { hasAbsence, observe } from "../../../../agent/core/observe.ts";
import type { MountedVolume } from "../../../../common/storage/volume-identity.ts";
import { csiMountPoint, formatMountLine, tokenMountPoint } from "../../../fakes/mount-table.ts";

const RULE: RootRule = { by: "own-pod", podUid: "agent-1", override: undefined };

/** A letter stands for the mount point of a volume: `a` of pod u1, `A` a subPath of it, `*` its staging mount, `b` of pod u2. */
const PLACES: Readonly<Record<string, string>> = {
  a: csiMountPoint("u1", "pv-a"),
  A: "/var/lib/kubelet/pods/u1/volume-subpaths/pv-a/main/0",
  "*": "/var/lib/kubelet/plugins/kubernetes.io/csi/pv/pv-a/globalmount",
  b: csiMountPoint("u2", "pv-b"),
  c: csiMountPoint("u2", "pv-a"),
};

/** A scan that began at `at` and took a unit of time; `!` makes it a damaged one. */
function scanOf(letters: string, at: number): MountScan {
  const places = [...letters].flatMap((letter) => PLACES[letter] ?? []);
  const text = [tokenMountPoint("agent-1"), ...places].map((mountPoint) => formatMountLine({ mountPoint })).join("");
  return scanMountedVolumes(
    { text: letters.includes("!") ? text.slice(0, -1).concat("\n36 35 8:1") : text, beganAt: at, endedAt: at + 1 },
    RULE,
  );
}

/** Reads that began at 10, 20, 30, and so on. */
function replay(
  reads: readonly string[],
  begin: NodeState = initialState("boot-1"),
): { state: NodeState; decisions: Decision[] } {
  const decisions: Decision[] = [];
  let state = begin;
  for (const [index, letters] of reads.entries()) {
    const next = observe(state, {
      scan: scanOf(letters, 10 * (index + 1)),
      podsResourceVersion: String(index),
      pods: new Map([["u1", { name: "team/web", resourceVersion: "1", isRunning: false, isOver: true }]]),
    });
    state = next.state;
    decisions.push(...next.decisions);
  }
  return { state, decisions };
}

function unmountRecordsIn(state: NodeState): readonly string[] {
  return state.unmountRecords.map(
    ({ volume, podUid, after, by }) => `${volume.by === "name" ? volume.name : "?"} of ${podUid} in ${after}-${by}`,
  );
}

describe("observe: unmount records", () => {
  it.each([
    {
      name: "a mounted volume that a complete scan no longer shows was unmounted between the two scans",
      reads: ["a", ""],
      unmountRecords: ["pv-a of u1 in 10-21"],
    },
    {
      name: "the interval begins at the last scan that showed it",
      reads: ["a", "a", "a", ""],
      unmountRecords: ["pv-a of u1 in 30-41"],
    },
    { name: "a mounted volume that is still there has no unmount record", reads: ["a", "a"], unmountRecords: [] },
    { name: "a damaged scan records no unmount", reads: ["a", "!"], unmountRecords: [] },
    {
      name: "a damaged scan in between only widens the interval",
      reads: ["a", "!", ""],
      unmountRecords: ["pv-a of u1 in 10-31"],
    },
    {
      name: "a damaged scan that shows a proven mounted volume does not move its bound",
      reads: ["a", "a!", ""],
      unmountRecords: ["pv-a of u1 in 10-31"],
    },
    {
      name: "a mounted volume that only damaged scans showed was last seen in the last of them",
      reads: ["a!", "a!", ""],
      unmountRecords: ["pv-a of u1 in 20-31"],
    },
    {
      name: "a complete scan proves what a damaged one showed first",
      reads: ["a!", "a", "a!", ""],
      unmountRecords: ["pv-a of u1 in 20-41"],
    },
    {
      name: "the next complete scan records an unmount that damaged scans missed",
      reads: ["a", "!", "!", "!", ""],
      unmountRecords: ["pv-a of u1 in 10-51"],
    },
    {
      name: "mounts stacked on one path are one use until the last is gone",
      reads: ["aa", "a", ""],
      unmountRecords: ["pv-a of u1 in 20-31"],
    },
    {
      name: "a subPath that stays keeps the use",
      reads: ["aA", "A", "A", ""],
      unmountRecords: ["pv-a of u1 in 30-41"],
    },
    {
      name: "a volume that stays keeps the use when its subPath goes",
      reads: ["aA", "a", ""],
      unmountRecords: ["pv-a of u1 in 20-31"],
    },
    {
      name: "a volume and its subPath that go at once are one unmount record",
      reads: ["aA", ""],
      unmountRecords: ["pv-a of u1 in 10-21"],
    },
    {
      name: "of two mounted volumes the one seen last begins the interval",
      reads: ["a", "aA!", ""],
      unmountRecords: ["pv-a of u1 in 20-31"],
    },
    { name: "the end of a staging mount is no unmount record", reads: ["*", ""], unmountRecords: [] },
    { name: "a staging mount does not keep the use", reads: ["a*", "*"], unmountRecords: ["pv-a of u1 in 10-21"] },
    {
      name: "two pods with one volume are two uses",
      reads: ["ac", "c", ""],
      unmountRecords: ["pv-a of u1 in 10-21", "pv-a of u2 in 20-31"],
    },
    {
      name: "two volumes are two uses",
      reads: ["ab", ""],
      unmountRecords: ["pv-a of u1 in 10-21", "pv-b of u2 in 10-21"],
    },
    {
      name: "a volume that is mounted and unmounted twice has two unmount records",
      reads: ["a", "", "a", ""],
      unmountRecords: ["pv-a of u1 in 10-21", "pv-a of u1 in 30-41"],
    },
    { name: "a volume that was never mounted has no unmount record", reads: ["", ""], unmountRecords: [] },
  ])("$name", ({ reads, unmountRecords }) => {
    const { state } = replay(reads);

    expect(unmountRecordsIn(state)).toEqual(unmountRecords);
  });

  it("gives each unmount record an ID of its own, which later scans keep", () => {
    const { state } = replay(["a", "", "a", "", ""]);

    const ids = state.unmountRecords.map(({ id }) => id);
    expect(ids).toEqual(["boot-1/21000/u1/name/pv-a", "boot-1/41000/u1/name/pv-a"]);
  });

  it("keeps the name of the pod, which may be gone before its mount", () => {
    const seen = replay(["aA"]).state;

    const { state } = observe(seen, { scan: scanOf("", 20), podsResourceVersion: "2", pods: new Map() });

    expect(state.unmountRecords).toMatchObject([{ pod: "team/web", podUid: "u1" }]);
  });

  it("keeps the name of the pod when only one of the mounted volumes knows it", () => {
    const first = observe(initialState("boot-1"), {
      scan: scanOf("A", 10),
      podsResourceVersion: "1",
      pods: new Map([["u1", { name: "team/web", resourceVersion: "1", isRunning: false, isOver: true }]]),
    });
    const second = observe(first.state, { scan: scanOf("Aa", 20), podsResourceVersion: "2", pods: new Map() });

    const { state } = observe(second.state, { scan: scanOf("", 30), podsResourceVersion: "3", pods: new Map() });

    expect(state.unmountRecords).toMatchObject([{ pod: "team/web", podUid: "u1" }]);
  });
});

describe("observe: mounted volumes", () => {
  it.each([
    { name: "a complete scan replaces what was known", reads: ["ab", "b"], mountedVolumes: ["pv-b"] },
    { name: "a damaged scan adds", reads: ["a", "b!"], mountedVolumes: ["pv-a", "pv-b"] },
    { name: "a damaged scan never removes", reads: ["ab", "!"], mountedVolumes: ["pv-a", "pv-b"] },
    { name: "a staging mount is a mounted volume", reads: ["*"], mountedVolumes: ["pv-a"] },
  ])("$name", ({ reads, mountedVolumes }) => {
    const { state } = replay(reads);

    const names = [...state.mountedVolumes.values()].map(({ mountedVolume }) =>
      mountedVolume.volume.by === "name" ? mountedVolume.volume.name : "?",
    );
    expect(names.toSorted()).toEqual(mountedVolumes);
  });

  it("knows since when a volume is mounted, also across damaged scans", () => {
    const { state } = replay(["", "a!", "a", "a"]);

    expect([...state.mountedVolumes.values()]).toMatchObject([{ since: 21, seenAt: 40, proven: true }]);
  });

  it("starts with a new time when a volume is mounted again", () => {
    const { state } = replay(["a", "", "a"]);

    expect([...state.mountedVolumes.values()]).toMatchObject([{ since: 31 }]);
  });

  it.each([
    { name: "what is mounted", reads: ["a"], decisions: ["mounted"] },
    {
      name: "what is no longer mounted, and the end of its use",
      reads: ["a", ""],
      decisions: ["mounted", "unmounted", "recorded"],
    },
    { name: "the end of staging without an unmount record", reads: ["*", ""], decisions: ["mounted", "unmounted"] },
    { name: "nothing when nothing changed", reads: ["a", "a", "aa", "a!"], decisions: ["mounted"] },
  ])("decides $name", ({ reads, decisions }) => {
    expect(replay(reads).decisions.map(({ kind }) => kind)).toEqual(decisions);
  });
});

describe("observe: the basis of a report", () => {
  it.each([
    {
      name: "nothing before the first complete scan",
      reads: ["!", "a!"],
      read: undefined,
      since: undefined,
      version: undefined,
    },
    { name: "the first complete scan", reads: ["!", "a"], read: 20, since: 21, version: "1" },
    {
      name: "the last complete scan, and since when there was one",
      reads: ["a", "", "a!"],
      read: 20,
      since: 11,
      version: "1",
    },
  ])("is $name", ({ reads, read, since, version }) => {
    const { state } = replay(reads);

    expect(state.scan).toEqual(read === undefined ? undefined : { beganAt: read, endedAt: read + 1 });
    expect(state.agentGaps.at(-1)?.to).toBe(since);
    expect(state.podsResourceVersion).toBe(version);
  });

  it.each([
    { name: "rises with a mount", reads: ["", "a"], generation: 1 },
    { name: "rises once with an end and its unmount record", reads: ["a", ""], generation: 2 },
    { name: "stays when nothing changed", reads: ["a", "a", "a!"], generation: 1 },
  ])("has a generation that $name", ({ reads, generation }) => {
    expect(replay(reads).state.generation).toBe(generation);
  });

  it("drops a resource version that is not known for the last scan", () => {
    const { state } = observe(replay(["a"]).state, {
      scan: scanOf("a", 20),
      podsResourceVersion: undefined,
      pods: new Map(),
    });

    expect(state.podsResourceVersion).toBeUndefined();
  });
});

describe("forget", () => {
  const { state } = replay(["ab", ""]);
  const [first = "", second = ""] = state.unmountRecords.map(({ id }) => id);

  it.each([
    { name: "drops the named unmount record", ids: [first], rest: [second], generation: state.generation + 1 },
    { name: "drops several", ids: [first, second], rest: [], generation: state.generation + 1 },
    { name: "does nothing for an unknown one", ids: ["other"], rest: [first, second], generation: state.generation },
    { name: "does nothing for none", ids: [], rest: [first, second], generation: state.generation },
  ])("$name", ({ ids, rest, generation }) => {
    const next = forget(state, ids);

    expect(next.unmountRecords.map(({ id }) => id)).toEqual(rest);
    expect(next.generation).toBe(generation);
  });
});

describe("hasAbsence", () => {
  it.each([
    { name: "a complete scan lacks a mounted volume", read: "b", expected: true },
    { name: "a complete scan shows all", read: "ab", expected: false },
    { name: "a damaged scan lacks a mounted volume, which means nothing", read: "!", expected: false },
    { name: "a scan shows more than was known", read: "abc", expected: false },
  ])("when $name: $expected", ({ read, expected }) => {
    expect(hasAbsence(replay(["ab"]).state, scanOf(read, 50))).toBe(expected);
  });
});

type Step = { readonly kind: "toggle"; readonly letter: string } | Scan;
interface Scan {
  readonly kind: "scan";
  readonly isDamaged: boolean;
  /** What changes between the two scans where the second has to confirm an absence. */
  readonly during: string | null;
}

const USES: Readonly<Record<string, string>> = { a: "u1/pv-a", A: "u1/pv-a", b: "u2/pv-b", c: "u2/pv-a" };

/** A node where things happen between whole units of time, and an agent that scans it. */
class World {
  readonly #mounted = new Set<string>();
  readonly ends = new Map<string, number[]>();
  /** Uses that were there at the end of a complete scan. */
  readonly shown = new Set<string>();
  state = initialState("boot-1");
  #now = 100;

  run(step: Step): void {
    this.#now += 5;
    if (step.kind === "toggle") this.#flip(step.letter);
    else this.#runScan(step);
  }

  uses(): ReadonlySet<string> {
    return new Set([...this.#mounted].flatMap((letter) => USES[letter] ?? []));
  }

  #flip(letter: string): void {
    const before = this.uses();
    if (!this.#mounted.delete(letter)) this.#mounted.add(letter);
    for (const use of before) if (!this.uses().has(use)) this.ends.set(use, [...(this.ends.get(use) ?? []), this.#now]);
  }

  #runScan({ isDamaged, during }: Scan): void {
    let scan = this.#scan(isDamaged);
    if (hasAbsence(this.state, scan)) {
      if (during !== null) this.#flip(during);
      scan = mergeScans(scan, this.#scan(false));
    }
    this.state = observe(this.state, { scan, podsResourceVersion: undefined, pods: new Map() }).state;
    if (!isDamaged) for (const use of this.uses()) this.shown.add(use);
  }

  #scan(isDamaged: boolean): MountScan {
    const scan = scanOf([...this.#mounted].join("") + (isDamaged ? "!" : ""), this.#now);
    this.#now += 2;
    return scan;
  }
}

function nameOf({ podUid, volume }: Pick<MountedVolume, "podUid" | "volume">): string {
  return `${podUid}/${volume.by === "name" ? volume.name : volume.by}`;
}

describe("observe, for any sequence of scans", () => {
  const toggle = fc.record({ kind: fc.constant("toggle" as const), letter: fc.constantFrom("a", "A", "*", "b", "c") });
  const scan = fc.record({
    kind: fc.constant("scan" as const),
    isDamaged: fc.boolean(),
    during: fc.option(fc.constantFrom("a", "A", "b", "c")),
  });
  const worlds = fc.array(fc.oneof(toggle, scan), { maxLength: 60, size: "max" }).map((steps) => {
    const world = new World();
    for (const step of steps) world.run(step);
    return world;
  });

  it("gives each unmount record an interval that contains exactly one true unmount", () => {
    fc.assert(
      fc.property(worlds, ({ state, ends }) => {
        for (const unmountRecord of state.unmountRecords) {
          const truths = (ends.get(nameOf(unmountRecord)) ?? []).filter(
            (at) => (unmountRecord.after ?? 0) <= at && at <= unmountRecord.by,
          );
          expect(truths).not.toEqual([]);
        }
        expect(new Set(state.unmountRecords.map(({ id }) => id)).size).toBe(state.unmountRecords.length);
      }),
    );
  });

  it("loses no use that a scan showed: it is still mounted or has an unmount record", () => {
    fc.assert(
      fc.property(worlds, ({ state, shown }) => {
        const known = [...state.mountedVolumes.values()].map(({ mountedVolume }) => mountedVolume);

        const reported = new Set([...known, ...state.unmountRecords].map(nameOf));

        expect([...shown].filter((use) => !reported.has(use))).toEqual([]);
      }),
    );
  });

  it("has an unmount record for each use that was shown and is gone in the end", () => {
    fc.assert(
      fc.property(worlds, (world) => {
        world.run({ kind: "scan", isDamaged: false, during: null });

        const inUse = world.uses();
        const recorded = new Set(world.state.unmountRecords.map(nameOf));
        expect([...world.shown].filter((use) => !inUse.has(use) && !recorded.has(use))).toEqual([]);
      }),
    );
  });

  it("records no unmount of a use while a mounted volume of it is known", () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[aA*bc!]{0,4}$/), { maxLength: 12 }), (reads) => {
        for (let upTo = 1; upTo <= reads.length; upTo += 1) {
          const before = replay(reads.slice(0, upTo - 1)).state;
          const after = replay(reads.slice(0, upTo)).state;
          const fresh = after.unmountRecords.slice(before.unmountRecords.length);
          const uses = new Set(
            [...after.mountedVolumes.values()]
              .filter(({ mountedVolume }) => mountedVolume.kind !== "staging")
              .map(({ mountedVolume }) => `${mountedVolume.podUid}/${JSON.stringify(mountedVolume.volume)}`),
          );
          for (const { podUid, volume, after: from, by } of fresh) {
            expect(uses.has(`${podUid}/${JSON.stringify(volume)}`)).toBe(false);
            expect(from).toBeLessThan(by);
          }
        }
      }),
      { numRuns: 50 },
    );
  });
});
