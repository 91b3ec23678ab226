import { describe, expect, it } from "vitest";
import type { Directory, Fact } from "../../../../aggregator/core/claims/attribution.ts";
import type { Pod, Volume } from "../../../../aggregator/core/cluster-objects.ts";
import {
  type NodeMountedVolume,
  type NodeUnmountRecord,
  type NodeView,
  shownIn,
} from "../../../../aggregator/core/nodes/node-view.ts";
import {
  claimOfVolume,
  type IdleStagings,
  identitiesOf,
  idleStagings,
  mayMount,
  newUnmounts,
  volumeUse,
} from "../../../../aggregator/core/volumes/use.ts";
import type { Claim } from "../../../../common/storage/claim.ts";
import type { VolumeIdentity } from "../../../../common/storage/volume-identity.ts";
import {
  claimWith,
  NOON,
  nodeMountedVolume,
  nodeUnmountRecord,
  podWith,
  stampAt,
  viewWith,
  volumeWith,
} from "../world.ts";
import { countedRecords } from "./evidence.ts";

const CSI = { driver: "csi.example", handleHash: "a".repeat(64) };
const HANDLE = { by: "handle", ...CSI } as const;
const BY_NAME: VolumeIdentity = { by: "name", name: "pv-1" };
const STAGING = { kind: "staging", podUid: undefined } as const;

/** A mount of a pod, which is of `pv-1` by its name unless a row says something else, and the staging mount. */
const podMount = (podUid: string, volume: VolumeIdentity = BY_NAME) => ({ ...nodeMountedVolume(podUid), volume });
const staging = (volume: VolumeIdentity = HANDLE) => ({ ...podMount("", volume), ...STAGING });

type Nodes = Readonly<Record<string, readonly NodeMountedVolume[]>>;

function useOf(nodes: Nodes, isOwn: (fact: Fact) => boolean = () => true): string {
  const views = Object.entries(nodes).map(([node, mountedVolumes]) => viewWith({ node, mountedVolumes }));
  const { used, staged } = volumeUse(shownIn(views, identitiesOf("pv-1", CSI), isOwn));
  const byPods = used.map(({ node, pods }) => `${node} by ${pods.map(({ uid }) => uid).join(" ")}`);
  return [...byPods, ...staged.map((node) => `staged on ${node}`)].join(", ");
}

describe("volumeUse", () => {
  const [p1, p2] = [podMount("p1"), podMount("p2")];
  const others = [
    podMount("p1", { by: "name", name: "pv-2" }),
    staging({ ...HANDLE, handleHash: "b".repeat(64) }),
    staging({ ...HANDLE, driver: "csi.other" }),
    podMount("p1", { by: "device", plugin: "pv-1", path: "pv-1" }),
  ];
  const both = "n1 by p1, n2 by p2, staged on n1, staged on n2";
  it.each<readonly [name: string, nodes: Nodes, use: string]>([
    ["each node's use and staging mount", { n1: [p1, staging()], n2: [p2, staging()] }, both],
    ["a staging mount, which is no use", { n1: [staging()] }, "staged on n1"],
    ["no other volume's mounts", { n1: others }, ""],
  ])("shows %s", (_, nodes, use) => {
    expect(useOf(nodes)).toBe(use);
  });

  it("leaves out a volume that only has the same name", () => {
    expect(useOf({ n1: [podMount("inline"), p1] }, ({ podUid }) => podUid !== "inline")).toBe("n1 by p1");
  });

  it("goes by the name alone for a volume without a handle", () => {
    expect(identitiesOf("pv-1", undefined)).toEqual([{ by: "name", name: "pv-1" }]);
  });
});

describe("the claim of a volume", () => {
  it.each<readonly [name: string, claim: Claim, isIts: boolean]>([
    ["the one that both name", claimWith(), true],
    ["not one that was re-created", claimWith({ uid: "claim-2" }), false],
    ["not one that names another volume", claimWith({ volume: "pv-2" }), false],
  ])("is %s", (_, claim, isIts) => {
    expect(claimOfVolume(volumeWith(), () => claim)).toBe(isIts ? claim : undefined);
  });

  it("is nothing for a volume that names none", () => {
    expect(claimOfVolume(volumeWith({ claim: undefined }), () => claimWith())).toBeUndefined();
  });
});

describe("a mount with a volume's name", () => {
  const [bound, released] = [volumeWith(), volumeWith({ phase: "Released" })];
  const [data, other] = [["shop/data"], ["shop/inline", "shop/other"]];

  it.each(
    // biome-ignore format: a row is a line
    [
      { name: "an unknown pod's", volume: bound, claims: undefined, isOwn: true },
      { name: "a pod's that uses its claim", volume: bound, claims: data, isOwn: true },
      { name: "a pod's with an inline volume of that name", volume: bound, claims: other, isOwn: false },
      { name: "a pod's without claims", volume: released, claims: [], isOwn: false },
      { name: "a pod's whose claim is gone, of a released volume", volume: released, claims: other, isOwn: true },
      { name: "a pod's whose claim names it, of a released volume", volume: released, claims: ["shop/other"], of: "pv-1", isOwn: true },
      { name: "a pod's whose claim has another volume", volume: released, claims: ["shop/other"], of: "pv-2", isOwn: false },
    ],
  )("may be its own: $name", ({ volume, claims, of, isOwn }) => {
    const pod = claims && podWith({ claims });
    const find = (key: string): Claim | undefined => (of === undefined ? undefined : claimWith({ key, volume: of }));

    expect(mayMount({ podUid: "pod-1" }, volume, { claim: find, podByUid: () => pod })).toBe(isOwn);
  });
});

const volume = volumeWith({ csi: CSI });
const directory: Directory = {
  volumeByName: (name) => (name === "pv-1" ? volume : undefined),
  volumesByHandle: (_driver, handleHash) => (handleHash === CSI.handleHash ? [volume] : []),
  podByUid: () => undefined,
  claim: () => undefined,
};

const MIN = 60_000;
const scanUntil = (ms: number) => ({ beganAt: stampAt(NOON), endedAt: stampAt(ms) });
const known: IdleStagings = {
  of: { scan: scanUntil(NOON), timeline: 0 },
  sinceMs: new Map([["volume-1", NOON - MIN]]),
};

interface Since {
  readonly records?: readonly NodeUnmountRecord[];
  readonly stagedAt?: number;
  readonly timeline?: number;
}

/** Minutes after noon since when the staged volume is idle after a report whose scan ended ten minutes after noon. */
function idleAfter(before: IdleStagings, { records = [], stagedAt = NOON - MIN, timeline = 0 }: Since): number {
  const unmountRecords = new Map(records.map((one) => [one.id, one]));
  const scan = scanUntil(NOON + 10 * MIN);
  const mountedVolumes = [{ ...staging(), since: stampAt(stagedAt) }];
  const view = viewWith({ mountedVolumes, unmountRecords, scan, timeline, scanEndedMs: NOON + 10 * MIN });
  return ((idleStagings(before, view, directory).sinceMs.get("volume-1") ?? 0) - NOON) / MIN;
}

describe("a staged volume has been idle", () => {
  const used = () => idleStagings(known, viewWith({ mountedVolumes: [staging(), podMount("p")] }), directory);
  const ends = [7, 2].map((minutes) => nodeUnmountRecord({ id: `${minutes}`, byMs: NOON + minutes * MIN }));
  it.each<{
    readonly name: string;
    readonly before?: () => IdleStagings;
    readonly report: Since;
    readonly since: number;
  }>([
    { name: "since it was seen first, however often it is reported", report: {}, since: -1 },
    { name: "since the end of a use that no report showed", report: { records: ends }, since: 7 },
    { name: "anew after a use", before: used, report: {}, since: 10 },
    { name: "anew where it was staged again", report: { stagedAt: NOON + 1 }, since: 10 },
    { name: "anew in another boot", report: { timeline: 1 }, since: 10 },
  ])("$name", ({ before = () => known, report, since }) => {
    expect(idleAfter(before(), report)).toBe(since);
  });

  it("and each unmount record is read once for all staged volumes", () => {
    const { unmountRecords, reads } = countedRecords(1_000);
    const mountedVolumes = Array.from({ length: 500 }, (_, at) => staging({ by: "name", name: `pv-${at}` }));
    const named = { ...directory, volumeByName: (name: string) => volumeWith({ key: name, uid: name }) };

    const idle = idleStagings(undefined, viewWith({ mountedVolumes, unmountRecords }), named);

    expect(idle.sinceMs.size).toBe(500);
    expect(reads()).toBe(1_000);
  });

  it("and each unmount record is read once for all stagings of one volume, which only a forged report has", () => {
    let reads = 0;
    const records = Array.from({ length: 1_000 }, (_, index) => {
      const record = nodeUnmountRecord({ id: `${index}`, volume: BY_NAME });
      const get = (): number => {
        reads += 1;
        return NOON;
      };
      return [record.id, Object.defineProperty(record, "byMs", { get })] as const;
    });
    const mountedVolumes = Array.from({ length: 500 }, () => staging());

    idleStagings(undefined, viewWith({ mountedVolumes, unmountRecords: new Map(records) }), directory);

    expect(reads).toBe(1_000);
  });
});

const BLOCK = { driver: "block.example", handleHash: "a".repeat(64) };

function directoryOf(pod: Pod | undefined, known: Volume | undefined): Directory {
  return { ...directory, podByUid: () => pod, volumeByName: () => known, volumesByHandle: () => [] };
}

/** Unmounts of the pod, so many milliseconds after noon. */
function viewOf(ends: Readonly<Record<string, number>>, volume = BY_NAME): NodeView {
  const records = Object.entries(ends).map(([id, ms]) => nodeUnmountRecord({ id, byMs: NOON + ms, volume }));
  return viewWith({ unmountRecords: new Map(records.map((one) => [one.id, one])) });
}

describe("newUnmounts", () => {
  const [deleted, later] = [NOON, NOON + 60_000].map((deletedAtMs) => podWith({ deletedAtMs }));
  const driver = volumeWith({ csi: BLOCK });

  it.each<readonly [name: string, driver: string | undefined, pod: Pod | undefined, volume: Volume | undefined]>([
    ["a pod that was deleted", "block.example", deleted, driver],
    ["a volume of another kind", "in-tree", deleted, volumeWith()],
    ["a volume that is not known", "unknown", deleted, undefined],
    ["a pod that was deleted long after it had ended", undefined, later, driver],
    ["a pod that is not known", undefined, undefined, driver],
  ])("of %s: %s", (...[, name, pod, volume]) => {
    const unmounts = newUnmounts(undefined, viewOf({ r1: 4_200 }), directoryOf(pod, volume));

    expect(unmounts).toEqual(name === undefined ? [] : [{ driver: name, ms: 4_200 }]);
  });

  it("counts each unmount record once, however often it is reported and dated", () => {
    const again = newUnmounts(viewOf({ r1: 1_000 }), viewOf({ r1: 1_300, r2: 2_000 }), directoryOf(deleted, driver));

    expect(again).toEqual([{ driver: "block.example", ms: 2_000 }]);
  });

  it.each([
    { name: "a handle", volume: { by: "handle", ...BLOCK } as const, expected: "block.example" },
    { name: "a device", volume: { by: "device", plugin: "iscsi", path: "x" } as const, expected: "in-tree" },
  ])("knows the driver of $name without a PV", ({ volume, expected }) => {
    const [unmount] = newUnmounts(undefined, viewOf({ r1: 1 }, volume), directoryOf(deleted, undefined));

    expect(unmount?.driver).toBe(expected);
  });
});
