import { describe, expect, it } from "vitest";
import type { Anomaly } from "../../../../agent/core/node-state.ts";
import { anomalyEvent } from "../../../../agent/sinks/anomaly-events.ts";

const ANOMALY: Anomaly = {
  kind: "anomaly",
  mountedVolume: { kind: "pod", volume: { by: "name", name: "pv-1" }, podUid: "u1" },
  pod: "team/web",
  why: "unmounted-while-running",
};
const AT = { node: "node-1", nowMs: 0 };

describe("anomalyEvent", () => {
  it("is a warning about the pod, by name and UID", () => {
    const event = anomalyEvent(ANOMALY, AT);

    expect(event).toMatchObject({
      regarding: { kind: "Pod", namespace: "team", name: "web", uid: "u1" },
      type: "Warning",
      reason: "VolumeUnmountedWhileRunning",
      eventTime: "1970-01-01T00:00:00.000000Z",
    });
    expect(event?.note).toMatch(/pv-1 was unmounted while the pod runs.*node-1/);
  });

  it("mentions that the volume was mounted again", () => {
    expect(anomalyEvent({ ...ANOMALY, why: "remounted-while-running" }, AT)?.note).toMatch(/mounted again/);
  });

  it("is undefined while the pod's name is unknown", () => {
    expect(anomalyEvent({ ...ANOMALY, pod: undefined }, AT)).toBeUndefined();
  });
});
