import { readFileSync } from "node:fs";
import { inPod, type RunningPod, type Use } from "./pods.ts";
import type { ProvisionerStage } from "./stage.ts";
import { deviceOf } from "./stories.ts";

/** ext4 lets nobody grow it without CAP_SYS_RESOURCE, which this machine's root may lack: then the device alone is looked at. */
export const MAY_RESIZE_EXT4 =
  (BigInt(`0x${/^CapEff:\s*(\w+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "0"}`) & (1n << 24n)) !==
  0n;

/** A claim's change to this size. */
export function sized(storage: string): object {
  return { spec: { resources: { requests: { storage } } } };
}

/** Where the kernel has the sectors of a volume's device. */
export function sizeFile(use: Use): string {
  return `/sys/block/${deviceOf(use).slice("/dev/".length)}/size`;
}

/** The size of the filesystem at `/data`, KiB. */
export async function kilobytesIn(on: ProvisionerStage, pod: RunningPod): Promise<number> {
  return Number((await inPod(on, pod, "df -k /data | tail -1")).split(/\s+/)[1]);
}
