import { randomUUID } from "node:crypto";
import { scanMountedVolumes } from "../../agent/core/mounted-volumes.ts";
import type { Printer } from "../demo/print.ts";
import { NAMESPACE, type Stage, volumeOf } from "../rig/stand-in/stage.ts";
import { type MeasuredAgent, startPodAgent } from "./agent-process.ts";
import { bundled } from "./pod-process.ts";
import { type Receiver, startReceiver } from "./receiver.ts";
import { percentile, summary } from "./statistics.ts";

const LINES = 10_000;

/** A table of 10,000 lines, one in twenty of them a claim's, the rest the tmpfs of pods, as on a full node. */
function tableText(): string {
  const line = (id: number): string => {
    const plugin = id % 20 === 0 ? "kubernetes.io~csi" : "kubernetes.io~projected";
    const path = `/var/lib/kubelet/pods/${randomUUID()}/volumes/${plugin}/pvc-${id}${id % 20 === 0 ? "/mount" : ""}`;
    return `${id} 30 0:${id} / ${path} rw,relatime shared:${id} - tmpfs tmpfs rw,size=1024k\n`;
  };
  return Array.from({ length: LINES }, (_, id) => line(id + 1)).join("");
}

/** Parsing, beside splitting the same text at its spaces, which is the least that any parser does. */
export function benchParse({ owner }: Stage, printer: Printer): void {
  const text = tableText();
  const time = (work: () => void): number[] =>
    Array.from({ length: 50 }, () => {
      const begunAt = owner.clock.monotonicMs();
      work();
      return owner.clock.monotonicMs() - begunAt;
    });
  const rule = { by: "path", path: "/var/lib/kubelet" } as const;
  const parse = percentile(
    time(() => scanMountedVolumes({ text, beganAt: 0, endedAt: 1 }, rule)),
    0.5,
  );
  const split = percentile(
    time(() => text.split("\n").map((line) => line.split(" "))),
    0.5,
  );
  printer.title(`\nA mount table of ${LINES} lines, median of 50`);
  printer.table([
    ["WHAT", "TIME", "RATIO"],
    ["mounted volumes from the text", `${parse.toFixed(2)} ms`, (parse / split).toFixed(2)],
    ["baseline, split into fields", `${split.toFixed(2)} ms`, "1"],
  ]);
}

/** The agent alone, with a receiver in the aggregator's place. */
export async function benchMounts(stage: Stage, printer: Printer): Promise<void> {
  const receiver = await startReceiver(stage.owner);
  const script = await bundled(stage.owner.folder, "agent");
  const [kubelet] = stage.kubelets;
  const agent = await startPodAgent(stage, { name: "mounts", script, kubelet, aggregatorUrl: receiver.url });
  printer.title("\nFrom the end of umount until the release is reported, 200 times (debounce 100 ms)");
  printer.table([["N", "MIN", "P50", "P99", "MAX"], summary(await unmountLatency(stage, receiver, 200))]);
  printer.title("\nProcessor time of the agent");
  printer.table([
    ["WHAT", "CPU", "OF A CORE"],
    ["a storm of 1,000 mount operations", ...(await cpuOf(stage, agent, () => storm(stage, 1_000)))],
    ["10,000 mounts, ten changes a second for a minute", ...(await largeTable(stage, agent))],
  ]);
  await agent.child.stop();
}

async function unmountLatency(
  { owner, kubelets }: Stage,
  receiver: Receiver,
  count: number,
): Promise<readonly number[]> {
  const samples: number[] = [];
  for (let i = 0; i < count; i += 1) {
    const pod = { namespace: NAMESPACE, name: "bench", uid: randomUUID(), volume: volumeOf("orders") };
    const seen = receiver.reported(({ mountedVolumes }) => mountedVolumes.some(({ podUid }) => podUid === pod.uid));
    await kubelets[0].mount(pod);
    await seen;
    const released = receiver.reported(({ unmountRecords }) => unmountRecords.some(({ podUid }) => podUid === pod.uid));
    await kubelets[0].unmount(pod);
    const endedAt = owner.clock.monotonicMs();
    samples.push((await released) - endedAt);
  }
  return samples;
}

async function cpuOf({ owner }: Stage, agent: MeasuredAgent, work: () => Promise<void>): Promise<readonly string[]> {
  const [before, begunAt] = [agent.cpuMs(), owner.clock.monotonicMs()];
  await work();
  await owner.clock.sleep(1_000, owner.signal);
  const [used, elapsedMs] = [agent.cpuMs() - before, owner.clock.monotonicMs() - begunAt];
  return [`${used} ms`, `${((100 * used) / elapsedMs).toFixed(1)} %`];
}

/** Mounts and unmounts as fast as a shell can. */
async function storm({ kubelets }: Stage, operations: number): Promise<void> {
  const target = `${kubelets[0].root}/pods/storm/volumes/kubernetes.io~empty-dir/scratch`;
  const loop = `mkdir -p ${target}; i=0; while [ $i -lt ${operations / 2} ]; do mount -t tmpfs s ${target}; umount ${target}; i=$((i+1)); done`;
  await kubelets[0].namespace.exec("sh", "-c", loop);
}

async function largeTable(stage: Stage, agent: MeasuredAgent): Promise<readonly string[]> {
  const { owner, kubelets } = stage;
  const { root, namespace } = kubelets[0];
  const folder = `${root}/pods/many/volumes/kubernetes.io~empty-dir`;
  const fill = `mkdir -p ${folder}; cd ${folder}; seq ${LINES} | xargs mkdir; for i in $(seq ${LINES}); do mount -n -t tmpfs m $i; done`;
  await namespace.exec("sh", "-c", fill);
  const change = `${folder}/1`;
  return await cpuOf(stage, agent, async () => {
    const until = owner.clock.monotonicMs() + 60_000;
    while (owner.clock.monotonicMs() < until && !owner.signal.aborted) {
      const nextAt = owner.clock.monotonicMs() + 200;
      await namespace.exec("sh", "-c", `umount ${change}; mount -t tmpfs m ${change}`);
      await owner.clock.sleep(nextAt - owner.clock.monotonicMs(), owner.signal);
    }
  });
}
