import { describe, expect, it } from "vitest";
import type { EntryLookup } from "../../../../aggregator/core/api/list-entries.ts";
import { type VolumeObservation, volumeEntryOf } from "../../../../aggregator/core/api/list-entries.ts";
import { nodeEntryOf } from "../../../../aggregator/core/api/node-entry.ts";
import type { Node } from "../../../../aggregator/core/cluster-objects.ts";
import type { AgentState } from "../../../../aggregator/core/nodes/agent-state.ts";
import type { NodeView } from "../../../../aggregator/core/nodes/node-view.ts";
import { lastUseText } from "../../../../common/storage/claim-status.ts";
import type { NodeReport } from "../../../../common/storage/node-report.ts";
import { volumeMarkText } from "../../../../common/storage/volume-annotations.ts";
import { mountedVolumeOf, NOON, nodeWith, podWith, unmountRecordOf, volumeWith } from "../world.ts";
import { lastUseWith } from "./decisions.ts";
import { sent, viewAfter } from "./reported.ts";

const OBJECT = { ...nodeWith("n1"), distribution: "Ubuntu 26.04 LTS", containerRuntime: "containerd://2.4.2" };
const REPORTING = { kind: "Reporting", why: "it reports" } as const;
const UNKNOWN = {
  ...{ kernel: null, architecture: null, distribution: null, containerRuntime: null },
  ...{ cgroup: null, selinux: null, apparmor: null, mountNamespace: null },
};

function viewOf(fields: Partial<NodeReport> = {}): NodeView {
  return viewAfter(sent(1_001, fields, { atMs: NOON }));
}

interface Seen {
  readonly object: Node | undefined;
  readonly view: NodeView | undefined;
  readonly lastReportAgeMs: number | undefined;
  readonly agentState: AgentState;
}

/** The entry of n1, of which this is known. */
function entryAt(nowMs: number, fields: Partial<Seen> = {}) {
  const known = { object: OBJECT, view: viewOf(), lastReportAgeMs: 12_345.6, agentState: REPORTING, ...fields };
  const { object, view, lastReportAgeMs, agentState } = known;
  const fleet = { view: () => view, lastReportAgeMs: () => lastReportAgeMs };
  return nodeEntryOf("n1", { fleet, cluster: { node: () => object }, agentStates: { of: () => agentState } }, nowMs);
}

describe("nodeEntryOf", () => {
  it("says when a node reported last, what it reported and how old that is", () => {
    const subpath = { ...mountedVolumeOf("pod-1"), kind: "subpath" } as const;
    const view = viewOf({
      scan: { beganAt: 1_000, endedAt: 1_002 },
      mountedVolumes: [mountedVolumeOf("pod-1"), mountedVolumeOf("pod-2"), subpath],
      unmountRecords: [unmountRecordOf("pod-3", { after: 500, by: 1_002 })],
      facts: { kernel: "6.18.4", architecture: "arm64", cgroup: "v2", selinux: false, mountNamespace: "other" },
    });

    const entry = entryAt(NOON + 20_000, { view });

    expect(entry).toEqual({
      ...{ name: "n1", state: "Reporting", stateReason: "it reports", lastReportAgeMs: 12_346 },
      ...{ bootId: "boot-1", agentInstance: "run-1", scanBeganAgeMs: 20_002, scanEndedAgeMs: 20_000 },
      mounts: { pod: 2, subpath: 1, block: 0, staging: 0 },
      unmountsPending: 1,
      facts: {
        ...UNKNOWN,
        ...{ kernel: "6.18.4", architecture: "arm64", distribution: "Ubuntu 26.04 LTS" },
        ...{ containerRuntime: "containerd://2.4.2", cgroup: "v2", selinux: false, mountNamespace: "other" },
      },
    });
  });

  it("shows a node that has never reported, with nothing but what its kubelet says", () => {
    const agentState = { kind: "Stale", why: "no report" } as const;

    expect(entryAt(NOON, { view: undefined, lastReportAgeMs: undefined, agentState })).toMatchObject({
      ...{ state: "Stale", stateReason: "no report" },
      ...{ name: "n1", lastReportAgeMs: null, bootId: "boot-1", agentInstance: null },
      ...{ scanBeganAgeMs: null, scanEndedAgeMs: null, mounts: null, unmountsPending: null },
      facts: { ...UNKNOWN, distribution: "Ubuntu 26.04 LTS", containerRuntime: "containerd://2.4.2" },
    });
  });

  it("shows a report whose Node object is gone, and no negative age, however the clocks differ", () => {
    const entry = entryAt(NOON - 60_000, { object: undefined });

    expect(entry).toMatchObject({ name: "n1", bootId: "boot-1", agentInstance: "run-1", facts: UNKNOWN });
    expect(entry).toMatchObject({ scanBeganAgeMs: 0, scanEndedAgeMs: 0 });
  });
});

const MINUTE_MS = 60_000;
const csi = { driver: "csi.example", handleHash: "a".repeat(64) };
const LOOKUP: EntryLookup = {
  agentStates: { of: (node) => ({ kind: node === "n9" ? "Stale" : "Reporting" }) },
  fleet: { view: () => ({}) },
  cluster: { podByUid: () => undefined, isPodThere: () => false },
};

function volumeSeen(fields: Partial<VolumeObservation> = {}): VolumeObservation {
  const unused = { use: { used: [], staged: [] }, references: [], attached: [], idleSince: () => undefined };
  return { volume: volumeWith(), ...unused, nowMs: NOON, ...fields };
}

function idleFor(minutes: number): Pick<VolumeObservation, "use" | "idleSince"> {
  return { use: { used: [], staged: ["n1"] }, idleSince: () => NOON - minutes * MINUTE_MS };
}

describe("leaked, in a volume's entry", () => {
  it.each(
    // biome-ignore format: a row is a line
    [
      { name: "staged and unused for five minutes", observed: idleFor(5), expected: true },
      { name: "staged and unused for a moment", observed: idleFor(4.9), expected: false },
      { name: "about to be used by a pod there", observed: { ...idleFor(5), references: [podWith({ node: "n1" })] }, expected: false },
      { name: "used by a pod elsewhere", observed: { ...idleFor(5), references: [podWith({ node: "n2" })] }, expected: true },
    ],
  )("is $expected for a volume that is $name", ({ observed, expected }) => {
    expect(volumeEntryOf(volumeSeen(observed), LOOKUP).leaked).toBe(expected);
  });
});

/** A list of which nothing is left out. */
const all = (...items: readonly unknown[]) => ({ items, omitted: 0 });

describe("volumeEntryOf", () => {
  it("has every field of a volume that is mounted, staged and attached", () => {
    const annotations = {
      mountedOn: volumeMarkText("volume-1", ["n9"]),
      lastUse: lastUseText("claim-1", { lastUse: lastUseWith() }),
    };
    const kind = { csi, phase: "Released", reclaimPolicy: "Retain" };
    const volume = volumeWith({ ...kind, annotations });
    const used = [{ node: "n9", pods: [{ uid: "pod-9", name: "shop/old" }] }];
    const phaseSince = { ms: NOON - 1_000, from: "first-seen" } as const;
    const seen = { ...idleFor(7), volume, phaseSince, use: { used, staged: ["n1"] }, attached: ["n1", "n9"] };

    const old = { uid: "pod-9", name: "shop/old", gone: true };
    expect(volumeEntryOf(volumeSeen(seen), LOOKUP)).toEqual({
      ...{ name: "pv-1", uid: "volume-1", phase: "Released" },
      ...{ phaseSince: "2026-09-10T00:26:39Z", phaseSinceFrom: "first-seen" },
      ...{ storageClass: "fast", capacity: "10Gi", reclaimPolicy: "Retain", driver: "csi.example" },
      claim: { namespace: "shop", name: "data", uid: "claim-1" },
      live: {
        mountedOn: all({ node: "n9", state: "Stale", pods: all(old) }),
        stagedOn: all({ node: "n1", state: "Reporting", unusedSince: "2026-09-10T00:19:40.000Z", leaked: true }),
        attachedTo: all("n1", "n9"),
      },
      ...{ leaked: true, stillMounted: true, mountedOn: { nodes: ["n9"], more: false }, blindGap: null },
      lastUse: {
        ...{ release: "record-0", node: "n1", pod: "shop/old", podUid: "pod-0", evidence: "mount-table" },
        ...{ releasedAt: "2026-09-10T00:26:39.000Z", uncertaintyMs: 10 },
      },
    });
  });

  it("has the same fields, with null, of a volume of which nothing is known", () => {
    const unknown = { claim: undefined, storageClass: undefined, capacity: undefined, reclaimPolicy: undefined };

    expect(volumeEntryOf(volumeSeen({ volume: volumeWith({ ...unknown, phase: "" }) }), LOOKUP)).toEqual({
      ...{ name: "pv-1", uid: "volume-1", phase: "", phaseSince: null, phaseSinceFrom: null },
      ...{ storageClass: null, capacity: null, reclaimPolicy: null, driver: null, claim: null, leaked: false },
      ...{ stillMounted: false, mountedOn: null, lastUse: null, blindGap: null },
      live: { mountedOn: all(), stagedOn: all(), attachedTo: all() },
    });
  });
});

describe("an annotation of a volume that another object owns", () => {
  const stranger = { mountedOn: volumeMarkText("other", ["n9"]), lastUse: undefined };
  it("gives way to the last use of the claim while the claim exists", () => {
    const annotations = { mountedOn: undefined, lastUse: lastUseText("claim-1", { lastUse: lastUseWith() }) };
    const claimUse = { lastUse: lastUseWith({ pod: "shop/newer" }) };

    const { lastUse } = volumeEntryOf(volumeSeen({ volume: volumeWith({ annotations }), claimUse }), LOOKUP);

    expect(lastUse).toMatchObject({ pod: "shop/newer" });
  });

  it.each([
    { name: "a mark of another volume", annotations: stranger },
    { name: "unreadable text", annotations: { mountedOn: "{", lastUse: "[]" } },
  ])("is left out: $name", ({ annotations }) => {
    const entry = volumeEntryOf(volumeSeen({ volume: volumeWith({ annotations }) }), LOOKUP);

    expect(entry).toMatchObject({ mountedOn: null, lastUse: null });
  });
});
