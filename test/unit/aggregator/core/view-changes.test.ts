import { describe, expect, it } from "vitest";
import type { Fact } from "../../../../aggregator/core/attribution.ts";
import type { NodeView } from "../../../../aggregator/core/node-view.ts";
import { changedFacts, factsIn, isSameState } from "../../../../aggregator/core/view-changes.ts";
import { NOON, nodeMountedVolume, nodeUnmountRecord, viewWith } from "../world.ts";

const mount = nodeMountedVolume("pod-1");
const record = nodeUnmountRecord();

function viewOf(mounts: NodeView["mountedVolumes"], records: readonly (typeof record)[] = []): NodeView {
  return viewWith({ mountedVolumes: mounts, unmountRecords: new Map(records.map((one) => [one.id, one])) });
}

describe("what two views of a node differ in", () => {
  const later = { ...record, byMs: NOON + 1 };
  const other = nodeUnmountRecord({ id: "release-2" });
  it.each<readonly [name: string, before: NodeView, after: NodeView, changed: readonly Fact[]]>([
    ["nothing, where all is reported again", viewOf([mount], [record]), viewOf([{ ...mount }], [{ ...record }]), []],
    ["a mount that came", viewOf([]), viewOf([mount]), [mount]],
    ["a mount that went", viewOf([mount]), viewOf([]), [mount]],
    ["a mount dated anew", viewOf([mount]), viewOf([{ ...mount, beganByMs: 1 }]), [mount, { ...mount, beganByMs: 1 }]],
    ["another pod's", viewOf([mount]), viewOf([nodeMountedVolume("pod-2")]), [mount, nodeMountedVolume("pod-2")]],
    ["a record that came", viewOf([]), viewOf([], [record]), [record]],
    ["a record that went", viewOf([], [record, other]), viewOf([], [other]), [record]],
    ["a record dated anew", viewOf([], [record]), viewOf([], [later]), [record, later]],
  ])("is %s", (...[, before, after, changed]) => {
    expect(changedFacts(before, after)).toEqual(changed);
  });

  it("tells a staging mount from one of a pod without a name", () => {
    const [staging, nameless] = [undefined, "Stryker was here!"].map((podUid) => ({ ...mount, podUid }));

    expect(changedFacts(viewOf([staging ?? mount]), viewOf([nameless ?? mount]))).toHaveLength(2);
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
