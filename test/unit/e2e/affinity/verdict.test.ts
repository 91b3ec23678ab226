import { describe, expect, it } from "vitest";
import type { PodState } from "../../../e2e/affinity/pod-log.ts";
import {
  ANNOTATION,
  REASON,
  rejectedAt,
  rejectionFaults,
  takenBackMs,
  timeToRejection,
  touchFaults,
} from "../../../e2e/affinity/verdict.ts";
import { NO_STARVATION } from "../../../rig/process/starvation.ts";

const PENDING: PodState = {
  seenMs: 0,
  name: "web",
  uid: "1",
  labels: {},
  node: "node-1",
  phase: "Pending",
  reason: "",
  message: "",
  annotations: {},
  waitingFor: ["ContainerCreating"],
  isReady: false,
  restarts: 0,
  isDeleting: false,
  isGone: false,
};
const FAILED: PodState = {
  ...PENDING,
  seenMs: 1_000,
  phase: "Failed",
  reason: REASON,
  message: "Pod was rejected: it is on the wrong node",
  annotations: { [ANNOTATION]: "{}" },
};

describe("rejectionFaults", () => {
  it.each([
    { name: "no fault of a pod that was rejected and stays so", states: [PENDING, FAILED], faults: [] },
    {
      name: "no fault of a reason that is missing for a moment",
      states: [PENDING, FAILED, { ...FAILED, seenMs: 1_100, reason: "" }, { ...FAILED, seenMs: 1_200 }],
      faults: [],
    },
    { name: "no fault of a pod that is gone afterwards", states: [FAILED, { ...FAILED, isGone: true }], faults: [] },
    { name: "a pod that was not rejected", states: [PENDING], faults: ["it is Pending"] },
    { name: "a pod that was never observed", states: [], faults: ["it is nowhere"] },
    {
      name: "a pod that failed by itself",
      states: [{ ...FAILED, annotations: {} }],
      faults: ["it is Failed"],
    },
    {
      name: "the kubelet took the phase back",
      states: [PENDING, FAILED, { ...PENDING, seenMs: 9_000 }],
      faults: ["it was Pending again for 91.0 s"],
    },
    {
      name: "the kubelet took the phase back, and accepted it five seconds later",
      states: [FAILED, { ...PENDING, seenMs: 9_000 }, { ...FAILED, seenMs: 14_001 }],
      faults: ["it was Pending again for 5.0 s"],
    },
    {
      name: "no fault of a phase that the kubelet takes back for a moment and then accepts",
      states: [FAILED, { ...PENDING, seenMs: 1_800 }, { ...PENDING, seenMs: 2_000 }, { ...FAILED, seenMs: 2_100 }],
      faults: [],
    },
    {
      name: "the reason got lost",
      states: [FAILED, { ...FAILED, seenMs: 2_000, reason: "" }],
      faults: ["it was Failed again for 98.0 s"],
    },
    {
      name: "another reason at first",
      states: [
        { ...FAILED, reason: "Evicted" },
        { ...FAILED, seenMs: 1_100 },
      ],
      faults: ["its reason was Evicted at first"],
    },
    {
      name: "a message that does not begin as the kubelet's do",
      states: [{ ...FAILED, message: "rejected" }],
      faults: ['its message was "rejected"'],
    },
    {
      name: "it ran before",
      states: [{ ...PENDING, phase: "Running", isReady: true }, FAILED],
      faults: ["it was Running before", "a container of it ran"],
    },
  ])("$name", ({ states, faults }) => {
    expect(rejectionFaults(states, { nowMs: 100_000, starvation: NO_STARVATION })).toEqual(faults);
  });

  it.each([
    { name: "allows that time in addition", waitedMs: 1_000, faults: [] },
    { name: "allows no more than that", waitedMs: 999, faults: ["it was Pending again for 6.0 s"] },
  ])("a kubelet that a busy machine keeps waiting $name", ({ waitedMs, faults }) => {
    const states = [FAILED, { ...PENDING, seenMs: 9_000 }, { ...FAILED, seenMs: 15_000 }];

    expect(rejectionFaults(states, { nowMs: 100_000, starvation: () => waitedMs })).toEqual(faults);
  });
});

describe("takenBackMs", () => {
  it("lists each time that the kubelet wrote its earlier status", () => {
    const back = { ...PENDING, seenMs: 1_800 };
    const states = [PENDING, FAILED, back, { ...FAILED, seenMs: 2_100 }, { ...FAILED, seenMs: 9_000 }];

    expect(takenBackMs(states, 10_000)).toEqual([300]);
    expect(takenBackMs([PENDING], 10_000)).toEqual([]);
  });
});

describe("touchFaults", () => {
  it.each([
    { name: "no fault of a pod that waits", states: [PENDING], faults: [] },
    { name: "a pod that was never observed", states: [], faults: ["it is not known"] },
    { name: "it was rejected", states: [PENDING, FAILED], faults: ["it failed", "it was marked"] },
    { name: "it was deleted", states: [{ ...PENDING, isDeleting: true }], faults: ["it was deleted"] },
  ])("$name", ({ states, faults }) => {
    expect(touchFaults(states)).toEqual(faults);
  });
});

describe("timeToRejection", () => {
  it("begins when the pod has a node, not when it was created", () => {
    const states = [{ ...PENDING, node: "", seenMs: 10 }, { ...PENDING, seenMs: 400 }, FAILED];

    expect(timeToRejection(states)).toBe(600);
  });

  it("is undefined for a pod that was not rejected", () => {
    expect(() => timeToRejection([PENDING])).toThrow(RangeError);
  });
});

describe("rejectedAt", () => {
  it("is when the phase and the annotation were first seen together", () => {
    const states = [PENDING, { ...FAILED, seenMs: 5_321 }, { ...FAILED, seenMs: 6_000 }];

    expect(rejectedAt(states)).toBe(5_321);
    expect(rejectedAt([PENDING])).toBeUndefined();
  });
});
