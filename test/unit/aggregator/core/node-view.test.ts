import { describe, expect, it } from "vitest";
import type { Fact } from "../../../../aggregator/core/claims/attribution.ts";
import {
  changedFacts,
  factsIn,
  isSameState,
  type NodeView,
  shownIn,
  sizeProblem,
} from "../../../../aggregator/core/nodes/node-view.ts";
import { nodeMountedVolume, nodeUnmountRecord, viewWith } from "../world.ts";

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

    const shown = shownIn([viewOf(mounts, records)], [{ by: "name", name: "pv-7" }], () => true);

    expect(shown).toMatchObject([{ mountedVolumes: [mounts[7]], unmountRecords: [records[7]] }]);
  });
});

describe("what is remembered of a node", () => {
  const mounts = Array.from({ length: 4_000 }, () => mount);
  const records = (count: number) => Array.from({ length: count }, (_, at) => nodeUnmountRecord({ id: `${at}` }));

  it("is three reports at most", () => {
    expect(sizeProblem(viewOf(mounts, records(8_000)))).toBeUndefined();
    expect(sizeProblem(viewOf(mounts, records(8_001)))).toContain("12001");
  });
});
