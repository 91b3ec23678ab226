import { describe, expect, it } from "vitest";
import { readEvent } from "../../../e2e/affinity/event-log.ts";
import { readPod } from "../../../e2e/affinity/pod-log.ts";

describe("readPod", () => {
  it("reads a new pod without its later fields", () => {
    const pod = { metadata: { name: "web", uid: "1" }, spec: {}, status: { phase: "Pending" } };

    expect(readPod(pod, 5)).toMatchObject({ seenMs: 5, node: "", reason: "", waitingFor: [], isReady: false });
  });

  it.each([
    { name: "all of its containers are ready", containers: [{ ready: true }, { ready: true }], isReady: true },
    { name: "one of them is not", containers: [{ ready: true }, { ready: false }], isReady: false },
  ])("takes a pod for ready: $name", ({ containers, isReady }) => {
    const containerStatuses = containers.map((one) => ({ ...one, restartCount: 0 }));
    const pod = { metadata: { name: "web", uid: "1" }, spec: {}, status: { phase: "Running", containerStatuses } };

    expect(readPod(pod, 0).isReady).toBe(isReady);
  });

  it("lists what its containers wait for, and how often they restarted", () => {
    const waiting = { ready: false, restartCount: 2, state: { waiting: { reason: "ImagePullBackOff" } } };
    const running = { ready: true, restartCount: 1, state: { running: {} } };
    const status = { phase: "Pending", containerStatuses: [waiting, running] };

    const pod = readPod({ metadata: { name: "web", uid: "1" }, spec: {}, status }, 0);

    expect(pod).toMatchObject({ waitingFor: ["ImagePullBackOff"], restarts: 3 });
  });
});

describe("readEvent", () => {
  it.each([
    { name: "a single event", counted: {}, times: 1 },
    { name: "a series of events.k8s.io/v1", counted: { series: { count: 4 } }, times: 4 },
    { name: "an event with a core/v1 count", counted: { deprecatedCount: 7 }, times: 7 },
  ])("counts $name", ({ counted, times }) => {
    const event = { type: "Warning", reason: "FailedMount", note: "no", regarding: { uid: "1" }, ...counted };

    expect(readEvent(event)).toMatchObject({ about: "1", told: { reason: "FailedMount", times } });
  });
});
