import { afterEach, describe, expect, it } from "vitest";
import type { NodeReport } from "../../../common/storage/node-report.ts";
import type { Harness } from "./harness.ts";
import { idle, stopHarnesses, tellMounted } from "./running.ts";
import { podWith } from "./world.ts";

const LEFT = "In use: still mounted on node n1, although every pod that names the claim has ended";
const SILENT = `${LEFT}; no report of the mounts on n1, so this may be out of date`;

afterEach(stopHarnesses);

async function report(harness: Harness, fields: Partial<NodeReport> = {}): Promise<void> {
  await tellMounted(harness, ["pod-1"], fields);
}

/** An aggregator of a node that shows the mount of a running pod, by a read ten seconds after noon. */
async function mounted(): Promise<Harness> {
  const harness = idle();
  harness.cluster.pods.set("pod-1", podWith());
  await harness.start();
  await harness.advance(10_000);
  await report(harness);
  await harness.advance(6_000);
  return harness;
}

function messages({ writes }: Harness): readonly string[] {
  return writes.map(({ message }) => message);
}

describe("a claim that a Stale node has mounted, by the last that was heard of it", () => {
  it("is written once when its pod goes, with the node that is Stale, and not again at rest", async () => {
    const harness = await mounted();
    await harness.advance(100_000);
    const before = messages(harness).length;

    await harness.removePod("pod-1", "300");
    await harness.advance(6_000);
    await harness.enqueueAll();
    await harness.advance(3_600_000);

    expect(messages(harness).slice(before)).toEqual([SILENT]);
    expect(harness.writes.at(-1)).toMatchObject({ unused: false, reason: "Mounted" });
  });

  it("is written once more when the node falls silent after its pod went, whether it had read its mounts since or not", async () => {
    const unread = await mounted();
    await unread.removePod("pod-1", "300");
    await unread.advance(3_600_000);
    const read = await mounted();
    await read.removePod("pod-1", "300");
    await report(read, { podsResourceVersion: "300" });
    await read.advance(3_600_000);

    const [ofUnread, ofRead] = [messages(unread), messages(read)];

    expect(ofUnread.slice(-2)).toEqual([LEFT, SILENT]);
    expect(ofRead.slice(-2)).toEqual([LEFT, SILENT.replace("00:26:50", "00:26:56")]);
    expect([ofUnread.length, ofRead.length]).toEqual([4, 4]);
  });

  it("is told as mounted again when its node is back and shows it, and as unused when it does not", async () => {
    const harness = await mounted();
    await harness.advance(100_000);
    await harness.removePod("pod-1", "300");
    await harness.advance(6_000);
    const before = messages(harness).length;

    await report(harness, { podsResourceVersion: "300" });
    await harness.advance(6_000);
    const back = messages(harness).slice(before);
    await report(harness, { podsResourceVersion: "300", mountedVolumes: [] });

    expect(back).toEqual([LEFT]);
    expect(harness.writes.at(-1)).toMatchObject({ unused: true, reason: "Unmounted" });
  });

  it("is not written by an aggregator that starts while the node is Stale", async () => {
    const harness = await mounted();
    await harness.advance(100_000);
    await harness.removePod("pod-1", "300");
    await harness.advance(6_000);
    const before = messages(harness);

    await harness.restart();
    await harness.advance(3_600_000);

    expect(before.at(-1)).toBe(SILENT);
    expect(messages(harness)).toEqual(before);
  });
});
