import { describe, expect, it } from "vitest";
import { createStory } from "./story.ts";

const END_MS = 120_000;

async function play(seed: number) {
  const lines: string[] = [];
  const story = createStory({ seed, onLog: (process, { message }) => lines.push(`${process}: ${message}`) });
  story.startAggregator("a");
  story.startAggregator("b");
  story.startAgent();
  story.use(20_000);
  await story.engine.scheduler.runUntil(END_MS);
  return { story, lines };
}

describe("the smallest simulated world", () => {
  it("publishes since when a claim is unused: not before the unmount, and within its uncertainty", async () => {
    const { story } = await play(1);

    const { status } = story.claim();
    const unmountedAtMs = story.unmountedAtMs() ?? Number.NaN;
    expect(status).toMatchObject({ unused: true, reason: "Unmounted" });
    expect(status?.sinceMs).toBeGreaterThanOrEqual(unmountedAtMs);
    expect(status?.sinceMs).toBeLessThan(unmountedAtMs + 2_000);
    expect(status?.lastUse?.byMs).toBeGreaterThanOrEqual(unmountedAtMs);
    const uncertaintyMs = status?.lastUse?.widthMs ?? Number.NaN;
    expect((status?.lastUse?.byMs ?? Number.NaN) - uncertaintyMs).toBeLessThanOrEqual(unmountedAtMs);
  });

  it("is the same for the same seed, down to the last write and log line", async () => {
    const [one, again, other] = [await play(7), await play(7), await play(8)];

    expect(again.lines).toEqual(one.lines);
    expect(again.story.engine.trace()).toBe(one.story.engine.trace());
    expect(other.story.engine.trace()).not.toBe(one.story.engine.trace());
  });

  it("recovers the truth after a restore of an older API state", async () => {
    const story = createStory({ seed: 5 });
    const { scheduler, api } = story.engine;
    story.startAggregator("a");
    story.startAggregator("b");
    story.startAgent();
    story.use(20_000);
    await scheduler.runUntil(25_000);
    const inUse = api.snapshot();
    await scheduler.runUntil(60_000);

    api.restore(inUse);
    const restored = story.claim().status;
    await scheduler.runUntil(75_000);
    // What the kubelet finds for a pod that ended long ago.
    api.delete({ resource: "pods", namespace: "default", name: "web" });
    await scheduler.runUntil(100_000);

    const { status } = story.claim();
    expect([restored?.unused, status?.unused]).toEqual([false, true]);
    expect(status?.sinceMs).toBeGreaterThanOrEqual(story.unmountedAtMs() ?? Number.NaN);
  });

  it("does not make a claim unused for longer after a restore of an API state from before its use", async () => {
    const story = createStory({ seed: 5 });
    const { scheduler, api } = story.engine;
    story.startAggregator("a");
    story.startAggregator("b");
    story.startAgent();
    story.use(60_000);
    await scheduler.runUntil(50_000);
    const idle = api.snapshot();
    await scheduler.runUntil(120_000);

    api.restore(idle);
    const restored = story.claim().status;
    await scheduler.runUntil(300_000);

    const { status } = story.claim();
    const unmountedAtMs = story.unmountedAtMs() ?? Number.NaN;
    expect(restored?.sinceMs).toBeLessThan(unmountedAtMs);
    expect([status?.unused, (status?.sinceMs ?? 0) >= unmountedAtMs]).toEqual([true, true]);
  });

  it("leaves no failed process", async () => {
    const { story } = await play(1);

    expect(story.processes.map((process) => process.state())).toEqual(["running", "running", "running"]);
  });
});
