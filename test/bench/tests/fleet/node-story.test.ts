import { describe, expect, it } from "vitest";
import { decodeNodeMessage } from "../../../../common/storage/node-report.ts";
import { NodeStory } from "../../fleet/node-story.ts";

const volume = { by: "name", name: "pvc-1" } as const;
const use = { kind: "pod", volume, podUid: "pod-1", pod: "shop/orders-0" } as const;
const staging = {
  kind: "staging",
  volume: { by: "handle", driver: "csi.example.com", handleHash: "a".repeat(64) },
} as const;

function begun(): NodeStory {
  return new NodeStory({
    node: "node-a",
    bootId: "boot-1",
    podUid: "agent-1",
    now: 1_000,
    mountedVolumes: [use, staging],
  });
}

const at = (now: number) => ({ now, podsResourceVersion: "42" });

describe("a simulated node", () => {
  it("says what an agent says", () => {
    const story = begun();

    const messages = [story.report(at(2_000)), story.heartbeat(at(2_000))].map(decodeNodeMessage);

    expect(messages.map(({ ok }) => ok)).toEqual([true, true]);
  });

  it("no longer shows what was unmounted, and keeps the unmount record until it may be forgotten", () => {
    const story = begun();

    story.unmount(use, 3_000);
    const { mountedVolumes, unmountRecords, generation } = story.report(at(3_001));

    expect(mountedVolumes.map(({ kind }) => kind)).toEqual(["staging"]);
    expect(unmountRecords).toEqual([
      { id: "boot-1/3000000/pod-1/name/pvc-1", volume, podUid: "pod-1", pod: "shop/orders-0", after: 3_000, by: 3_000 },
    ]);
    expect(generation).toBe(1);
    story.forget([unmountRecords[0]?.id ?? ""]);
    expect(story.report(at(3_002))).toMatchObject({ unmountRecords: [], generation: 2 });
  });

  it("has changed nothing when an acknowledgement names an unknown record", () => {
    const story = begun();

    story.forget(["something else"]);

    expect(story.generation).toBe(0);
  });

  it("shows what is mounted again as of now", () => {
    const story = begun();

    story.unmount(use, 3_000);
    story.mount(use, 4_000);

    expect(story.report(at(5_000)).mountedVolumes.find(({ kind }) => kind === "pod")).toEqual({ ...use, since: 4_000 });
    expect(decodeNodeMessage(story.report(at(5_000))).ok).toBe(true);
  });
});
