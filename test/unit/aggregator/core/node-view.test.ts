import { describe, expect, it } from "vitest";
import type { Fact } from "../../../../aggregator/core/claims/attribution.ts";
import {
  bytesOf,
  changedFacts,
  FactIndex,
  factsIn,
  isSameState,
  type NodeUnmountRecord,
  type NodeView,
  shareProblem,
  withoutEarlier,
} from "../../../../aggregator/core/nodes/node-view.ts";
import { nodeMountedVolume, nodeUnmountRecord, viewWith } from "../world.ts";
import { countedRecords } from "./evidence.ts";

const mount = nodeMountedVolume("pod-1");
const record = nodeUnmountRecord();

function viewOf(mounts: NodeView["mountedVolumes"], records: readonly (typeof record)[] = []): NodeView {
  return viewWith({ mountedVolumes: mounts, unmountRecords: new Map(records.map((one) => [one.id, one])) });
}

describe("what two views of a node differ in", () => {
  const other = nodeUnmountRecord({ id: "record-2" });
  it.each<readonly [name: string, before: NodeView, after: NodeView, changed: readonly Fact[]]>([
    ["nothing, where all is reported again", viewOf([mount], [record]), viewOf([{ ...mount }], [{ ...record }]), []],
    ["another pod's", viewOf([mount]), viewOf([nodeMountedVolume("pod-2")]), [mount, nodeMountedVolume("pod-2")]],
    ["a record that went", viewOf([], [record, other]), viewOf([], [other]), [record]],
  ])("is %s", (...[, before, after, changed]) => {
    expect(changedFacts(before, after)).toEqual(changed);
  });

  it("is nothing after a heartbeat, which leaves mounts and records as they are", () => {
    const view = viewOf([mount], [record]);

    const views = [{ ...view }, { ...view, mountedVolumes: [mount] }, { ...view, unmountRecords: new Map() }];

    expect(views.map((one) => isSameState(view, one))).toEqual([true, false, false]);
    expect(changedFacts(view, { ...view })).toEqual([]);
  });

  it("is everything where only one view is there", () => {
    expect([factsIn(undefined), factsIn(viewOf([mount], [record]))]).toEqual([[], [mount, record]]);
  });
});

describe("what a node shows of a volume", () => {
  it("is found among many mounts and unmount records", () => {
    const names = Array.from({ length: 65 }, (_, index) => `pv-${index}`);
    const mounts = names.map((name) => nodeMountedVolume("pod-1", name));
    const records = names.map((name) => nodeUnmountRecord({ id: name, volume: { by: "name", name } }));

    const shown = new FactIndex().of([viewOf(mounts, records)], [{ by: "name", name: "pv-7" }], () => true);

    expect(shown).toMatchObject([{ mountedVolumes: [mounts[7]], unmountRecords: [records[7]] }]);
  });

  it("reads each unmount record once, however many claims ask for theirs", () => {
    const index = new FactIndex();
    const { unmountRecords, reads } = countedRecords(1_000);
    const view = viewWith({ unmountRecords });
    const shownOf = (at: number) => index.of([view], [{ by: "name", name: `pv-${at}` }], () => true);

    const found = Array.from({ length: 1_000 }, (_, at) => shownOf(at)[0]?.unmountRecords[0]?.id);

    expect(found).toEqual([...unmountRecords.keys()]);
    expect(reads()).toBe(1_000);
  });
});

const [KIB, MIB] = [1_024, 1_024 * 1_024];

describe("the memory of a node's view", () => {
  it("counts each entry and all of its texts", () => {
    const mounted = { ...nodeMountedVolume("pod-1", "pv-1"), pod: "shop/web-0" };
    const staging = { ...mounted, podUid: undefined, pod: undefined };
    const one = bytesOf({ mountedVolumes: [staging], unmountRecords: new Map() });

    const all = bytesOf({ mountedVolumes: [mounted, staging], unmountRecords: new Map([["id", nodeUnmountRecord()]]) });

    // The volume's text is in each of the three.
    expect(one).toBeGreaterThan(200);
    expect(all).toBe(3 * one + 2 * "pod-1shop/web-0".length + "record-1".length);
  });

  it.each([
    { name: "a full node", bytes: 3 * MIB, others: 0, isRefused: false },
    { name: "one with a byte more", bytes: 3 * MIB + 1, others: 0, isRefused: true },
    { name: "some hundred mounts, whatever the others take", bytes: 256 * KIB, others: 200 * MIB, isRefused: false },
    { name: "more than that", bytes: 256 * KIB + 1, others: 200 * MIB, isRefused: true },
    { name: "all nodes together at the limit", bytes: MIB, others: 127 * MIB, isRefused: false },
    { name: "all together with a byte more", bytes: MIB, others: 127 * MIB + 1, isRefused: true },
  ])("is limited: $name", ({ bytes, others, isRefused }) => {
    const problem = shareProblem(bytes, others);

    expect(problem !== undefined).toBe(isRefused);
    expect(problem ?? `${bytes}`).toContain(`${bytes}`);
  });
});

describe("a view with too many ends", () => {
  const END: Partial<NodeUnmountRecord> = { isReported: false, by: 100 };

  type Ends = Readonly<Record<string, Partial<NodeUnmountRecord>>>;

  it.each<readonly [name: string, ends: Ends, left: readonly string[]]>([
    ["the later one of a volume", { a: { by: 100 }, b: { by: 101 } }, ["b"]],
    ["the same where it came first", { b: { by: 101 }, a: { by: 100 } }, ["b"]],
    ["the first of two at once", { a: { by: 100 }, b: { by: 100 } }, ["a"]],
    ["that of a later timeline, whatever its stamp", { a: { by: 900 }, b: { by: 1, timeline: 1 } }, ["b"]],
    ["the same where it came first", { b: { by: 1, timeline: 1 }, a: { by: 900 } }, ["b"]],
    ["also what the node still reports", { a: { isReported: true }, b: { by: 101 } }, ["a", "b"]],
  ])("keeps %s", (_, ends, left) => {
    const records = Object.entries(ends).map(([id, fields]) => nodeUnmountRecord({ ...END, ...fields, id }));

    expect([...withoutEarlier(viewOf([], records)).unmountRecords.keys()]).toEqual(left);
  });
});
