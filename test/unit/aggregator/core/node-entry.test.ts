import { describe, expect, it } from "vitest";
import { type NodeObservation, nodeEntryOf } from "../../../../aggregator/core/node-entry.ts";
import type { NodeView } from "../../../../aggregator/core/node-view.ts";
import type { NodeReport } from "../../../../common/storage/node-report.ts";
import { mountedVolumeOf, NOON, unmountRecordOf } from "../world.ts";
import { told, viewAfter } from "./reported.ts";

const OBJECT = {
  key: "n1",
  uid: "node-1",
  bootId: "boot-1",
  distribution: "Ubuntu 26.04 LTS",
  containerRuntime: "containerd://2.4.2",
};
const REPORTING = { kind: "Reporting", why: "it reports" } as const;
const SILENT = { kind: "Stale", why: "no report" } as const;
const UNKNOWN = {
  ...{ kernel: null, architecture: null, distribution: null, containerRuntime: null },
  ...{ cgroup: null, selinux: null, apparmor: null, mountNamespace: null },
};

function viewOf(fields: Partial<NodeReport> = {}): NodeView {
  return viewAfter(told(1_001, fields, { atMs: NOON }));
}

function observationOf(fields: Partial<NodeObservation> = {}): NodeObservation {
  return { name: "n1", object: OBJECT, view: viewOf(), lastReportAgeMs: 12_345.6, agentState: REPORTING, ...fields };
}

describe("nodeEntryOf", () => {
  it("says when a node reported last, what it reported and how old that is", () => {
    const view = viewOf({
      scan: { beganAt: 1_000, endedAt: 1_002 },
      mountedVolumes: [
        mountedVolumeOf("pod-1"),
        mountedVolumeOf("pod-2"),
        { ...mountedVolumeOf("pod-1"), kind: "subpath" },
      ],
      unmountRecords: [unmountRecordOf("pod-3", { after: 500, by: 1_002 })],
      facts: { kernel: "6.18.4", architecture: "arm64", cgroup: "v2", selinux: false, mountNamespace: "other" },
    });

    const entry = nodeEntryOf(observationOf({ view }), NOON + 20_000);

    expect(entry).toEqual({
      name: "n1",
      state: "Reporting",
      stateReason: "it reports",
      lastReportAgeMs: 12_346,
      bootId: "boot-1",
      agentInstance: "run-1",
      scanBeganAgeMs: 20_002,
      scanEndedAgeMs: 20_000,
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
    const entry = nodeEntryOf(observationOf({ view: undefined, lastReportAgeMs: undefined, agentState: SILENT }), NOON);

    expect(entry).toMatchObject({
      ...{ state: "Stale", stateReason: "no report" },
      ...{ name: "n1", lastReportAgeMs: null, bootId: "boot-1", agentInstance: null },
      ...{ scanBeganAgeMs: null, scanEndedAgeMs: null, mounts: null, unmountsPending: null },
      facts: { ...UNKNOWN, distribution: "Ubuntu 26.04 LTS", containerRuntime: "containerd://2.4.2" },
    });
  });

  it("shows a report whose Node object is gone", () => {
    const entry = nodeEntryOf(observationOf({ object: undefined }), NOON);

    expect(entry).toMatchObject({ name: "n1", bootId: "boot-1", agentInstance: "run-1", facts: UNKNOWN });
  });

  const versioned = { containerRuntime: OBJECT.containerRuntime };
  const [debian, runtime] = [{ distribution: "Debian GNU/Linux 12" }, { containerRuntime: "containerd" }];
  it.each([
    { name: "the distribution that an agent outside a container saw itself", facts: debian, expected: debian },
    { name: "the kubelet's word on the container runtime", facts: runtime, expected: versioned },
  ])("prefers $name", ({ facts, expected }) => {
    expect(nodeEntryOf(observationOf({ view: viewOf({ facts }) }), NOON).facts).toMatchObject(expected);
  });

  it("never gives a negative age, however the clocks differ", () => {
    expect(nodeEntryOf(observationOf(), NOON - 60_000)).toMatchObject({ scanBeganAgeMs: 0, scanEndedAgeMs: 0 });
  });
});
