import { describe, expect, it } from "vitest";
import { ownerEvent, podEvent } from "../../../../agent/sinks/affinity-events.ts";

const ABOUT = {
  pod: { namespace: "team", name: "web", uid: "0F1E2D3C-0000-4000-8000-000000000000" },
  misplacement: {
    node: "node-1",
    volumes: [{ volume: "data", claim: "orders", pv: "pv-1", why: "zone is not b" }],
  },
  nowMs: 0,
} as const;

describe("the event on a pod", () => {
  it.each([
    { telling: "rejected", action: "Rejected", note: "Pod was rejected: " },
    { telling: "would-reject", action: "WouldReject", note: "Pod would be rejected (--affinity=audit): " },
    { telling: "waits-attached", action: "Waiting", note: "Pod waits for a volume that the kubelet will not mount, " },
    { telling: "runs-misplaced", action: "Running", note: "Pod goes on, but could not start here again: " },
  ] as const)("that is $telling is a warning with the reason of the status", ({ telling, action, note }) => {
    const event = podEvent(telling, ABOUT);

    expect(event).toMatchObject({
      regarding: { apiVersion: "v1", kind: "Pod", ...ABOUT.pod },
      type: "Warning",
      reason: "VolumeNodeAffinity",
      action,
      eventTime: "1970-01-01T00:00:00.000000Z",
    });
    expect(event.note.startsWith(note)).toBe(true);
    expect(event.note).toContain("volume pv-1 of claim orders excludes node node-1: zone is not b");
  });

  it("is one for each pod and kind, with a valid name", () => {
    const once = (["rejected", "would-reject", "waits-attached", "runs-misplaced"] as const).map(
      (telling) => podEvent(telling, ABOUT).once ?? "",
    );

    expect(new Set(once).size).toBe(4);
    for (const name of once) expect(name).toMatch(/^[a-z0-9][a-z0-9-]{0,58}[a-z0-9]$/);
  });
});

describe("the event on an owner", () => {
  it("gives the reason and the time that its next pod waits", () => {
    const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "r1" };
    const event = ownerEvent(owner, {
      namespace: "team",
      node: "node-1",
      why: "its pods keep coming",
      waitMs: 59_001,
      nowMs: 0,
    });

    expect(event).toMatchObject({
      regarding: { ...owner, namespace: "team" },
      reason: "VolumeNodeAffinityBackOff",
      note: "its pods keep coming (node node-1); the next one waits 60 s before it is rejected",
    });
    expect(event.once).toBeUndefined();
  });
});
